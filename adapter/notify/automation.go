package notify

import (
	"strconv"
	"strings"
	"time"
)

// automation is the content of actions_json: the actions to run if all conditions hold.
type automation struct {
	conditions []condition
	actions    []action
	offset     offset
}

// action is an active action with its templates.
type action struct {
	id, kind string
	settings object
}

// parseAutomation parses actions_json as OsProcessModel::build_from_json does: the tree
// of groups is flattened, so that every condition guards every action. ok is false if it
// is not JSON.
func parseAutomation(actionsJSON string) (a automation, ok bool) {
	root, err := decodeTree(actionsJSON)
	if err != nil {
		return automation{}, false
	}
	return automation{conditions: conditionsOf(root, nil), actions: actionsOf(root, nil), offset: offsetOf(first(root))}, true
}

// conditionsOf adds the conditions of groups to found. Like the plugin, it searches only groups that have a
// condition, and their branches.
func conditionsOf(groups any, found []condition) []condition {
	for _, group := range members(groups) {
		guard, guarded := group.get("trigger_condition").(object)
		if scalarText(group.get("type")) != "group" || !guarded {
			continue
		}
		property := scalarText(guard.get("property"))
		for _, branch := range members(group.get("items")) {
			if scalarText(branch.get("type")) == "trigger_condition_branch" {
				settings, _ := branch.get("settings").(object)
				found = append(found, conditionOn(property, scalarText(settings.get("operator")), commaList(settings.get("value"))))
			}
			found = conditionsOf(branch.get("items"), found)
		}
	}
	return found
}

// actionsOf adds the active actions of groups at any depth to found. An action without a
// status is active.
func actionsOf(groups any, found []action) []action {
	for _, node := range members(groups) {
		if scalarText(node.get("type")) == "action" {
			outer, _ := node.get("settings").(object)
			settings, _ := outer.get("settings").(object)
			if status := outer.get("status"); status == nil || scalarText(status) == "active" {
				found = append(found, action{id: scalarText(node.get("id")), kind: scalarText(outer.get("type")), settings: settings})
			}
		}
		found = actionsOf(node.get("items"), found)
	}
	return found
}

// offset says how long before or after its event a job runs.
type offset struct {
	value int // negative means before
	unit  string
}

// maxOffset bounds offsets; it is far beyond any that makes sense.
const maxOffset = 1_000_000

// offsetOf parses a group's time_offset. An offset that PHP could not parse either counts as none. Anything
// but "after" means before.
func offsetOf(group object) offset {
	settings, ok := group.get("time_offset").(object)
	if !ok {
		return offset{}
	}
	value, err := strconv.Atoi(strings.TrimSpace(scalarText(settings.get("value"))))
	if err != nil || value < -maxOffset || value > maxOffset {
		return offset{}
	}
	if scalarText(settings.get("before_after")) != "after" {
		value = -value
	}
	return offset{value, strings.TrimSuffix(strings.ToLower(scalarText(settings.get("unit"))), "s")}
}

// apply moves an instant as DateTime::modify does in UTC.
func (o offset) apply(at time.Time) time.Time {
	switch o.unit {
	case "minute":
		return at.Add(time.Duration(o.value) * time.Minute)
	case "hour":
		return at.Add(time.Duration(o.value) * time.Hour)
	case "day":
		return at.AddDate(0, 0, o.value)
	case "week":
		return at.AddDate(0, 0, 7*o.value)
	case "month":
		return at.AddDate(0, o.value, 0)
	case "year":
		return at.AddDate(o.value, 0, 0)
	default:
		return at
	}
}
