package notify

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
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

// Decoded JSON is nil, bool, string, json.Number, []any or object. Unlike a map,
// object keeps the order of its members, which is the order of the actions if
// PHP wrote a list with gaps as an object.
type (
	object []member
	member struct {
		key   string
		value any
	}
)

// get returns the value of a member, nil if there is none.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// set changes or adds a member. As in a PHP array, a changed member keeps its place.
func (o object) set(key string, value any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// members returns the objects in a list or object, in the order of PHP's foreach.
func members(value any) []object {
	var found []object
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			if o, ok := item.(object); ok {
				found = append(found, o)
			}
		}
	case object:
		for _, m := range v {
			if o, ok := m.value.(object); ok {
				found = append(found, o)
			}
		}
	}
	return found
}

// first returns element 0 of a list or object.
func first(value any) object {
	var found any
	switch v := value.(type) {
	case []any:
		if len(v) > 0 {
			found = v[0]
		}
	case object:
		found = v.get("0")
	}
	o, _ := found.(object)
	return o
}

// scalarText returns a scalar as PHP converts it to a string, and "" for anything else.
func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "1"
		}
	}
	return ""
}

// commaList returns a scalar, or the scalars of a list, separated by commas.
func commaList(value any) string {
	list, ok := value.([]any)
	if !ok {
		return scalarText(value)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = scalarText(item)
	}
	return strings.Join(texts, ",")
}

// maxDepth is the nesting that PHP's json_decode accepts.
const maxDepth = 512

var (
	errTooDeep  = errors.New("JSON is nested too deeply")
	errTrailing = errors.New("text after JSON")
	errEncoding = errors.New("JSON is not UTF-8")
)

// decodeTree decodes JSON within the limits of PHP's json_decode.
func decodeTree(source string) (any, error) {
	if !utf8.ValidString(source) {
		return nil, errEncoding
	}
	decoder := json.NewDecoder(strings.NewReader(source))
	decoder.UseNumber()
	value, err := decodeValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return value, nil
}

func decodeValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	opening, nested := token.(json.Delim)
	if !nested {
		return token, nil
	}
	if depth == maxDepth {
		return nil, errTooDeep
	}
	if opening == '[' {
		return decodeList(decoder, depth+1)
	}
	return decodeObject(decoder, depth+1)
}

func decodeList(decoder *json.Decoder, depth int) (any, error) {
	list := []any{}
	for decoder.More() {
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := decoder.Token()
	return list, err
}

func decodeObject(decoder *json.Decoder, depth int) (any, error) {
	o := object{}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		value, err := decodeValue(decoder, depth)
		if err != nil {
			return nil, err
		}
		name, _ := key.(string) // the decoder accepts nothing else
		o = o.set(name, value)
	}
	_, err := decoder.Token()
	return o, err
}
