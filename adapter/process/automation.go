package process

import (
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// automation is what actions_json says: what is done if all conditions hold.
type automation struct {
	conditions []condition
	actions    []action
	offset     offset
}

// action is an active action before its templates are filled in.
type action struct {
	id, kind string
	settings object
}

// parseAutomation reads actions_json as OsProcessModel::build_from_json does: the
// tree of groups is flattened, so that every condition guards every action. ok is
// false for what is no JSON.
func parseAutomation(actionsJSON string) (a automation, ok bool) {
	root, err := decodeTree(actionsJSON)
	if err != nil {
		return automation{}, false
	}
	return automation{conditions: conditionsOf(root, nil), actions: actionsOf(root, nil), offset: offsetOf(first(root))}, true
}

// conditionsOf adds the conditions of groups to found. The plugin looks for them
// in groups with a condition and their branches only.
func conditionsOf(groups any, found []condition) []condition {
	for _, group := range members(groups) {
		guard, guarded := group.get("trigger_condition").(object)
		if text(group.get("type")) != "group" || !guarded {
			continue
		}
		property := text(guard.get("property"))
		for _, branch := range members(group.get("items")) {
			if text(branch.get("type")) == "trigger_condition_branch" {
				settings, _ := branch.get("settings").(object)
				found = append(found, conditionOn(property, text(settings.get("operator")), commaList(settings.get("value"))))
			}
			found = conditionsOf(branch.get("items"), found)
		}
	}
	return found
}

// actionsOf adds the active actions of groups to found, however deep they are.
// One without a status is active.
func actionsOf(groups any, found []action) []action {
	for _, node := range members(groups) {
		if text(node.get("type")) == "action" {
			outer, _ := node.get("settings").(object)
			settings, _ := outer.get("settings").(object)
			if status := outer.get("status"); status == nil || text(status) == "active" {
				found = append(found, action{id: text(node.get("id")), kind: text(outer.get("type")), settings: settings})
			}
		}
		found = actionsOf(node.get("items"), found)
	}
	return found
}

// offset is when a job is done, before or after its event.
type offset struct {
	value int // negative is before
	unit  string
}

// maxOffset bounds offsets, far beyond any that makes sense.
const maxOffset = 1_000_000

// offsetOf reads a group's time_offset; there is none where PHP could not make
// sense of it either. All but "after" is before.
func offsetOf(group object) offset {
	settings, ok := group.get("time_offset").(object)
	if !ok {
		return offset{}
	}
	value, err := strconv.Atoi(strings.TrimSpace(text(settings.get("value"))))
	if err != nil || value < -maxOffset || value > maxOffset {
		return offset{}
	}
	if text(settings.get("before_after")) != "after" {
		value = -value
	}
	return offset{value, strings.TrimSuffix(strings.ToLower(text(settings.get("unit"))), "s")}
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

// A decoded JSON text is nil, bool, string, json.Number, []any or object. Unlike
// a map, object keeps the order of its members, which is that of the actions
// where PHP wrote a list with gaps as an object.
type (
	object []member
	member struct {
		key   string
		value any
	}
)

// get returns a member's value, nil where there is none.
func (o object) get(key string) any {
	for _, m := range o {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// set changes or adds a member, as PHP does with an array: a changed one keeps
// its place.
func (o object) set(key string, value any) object {
	for i := range o {
		if o[i].key == key {
			o[i].value = value
			return o
		}
	}
	return append(o, member{key, value})
}

// members returns the objects in a list or object, as foreach visits them.
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

// first returns the element 0 of a list or object.
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

// text returns a scalar as PHP writes it, and "" for all else.
func text(value any) string {
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

// commaList returns a scalar, or the scalars of a list parted by commas.
func commaList(value any) string {
	list, ok := value.([]any)
	if !ok {
		return text(value)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		texts[i] = text(item)
	}
	return strings.Join(texts, ",")
}

// maxDepth is how deep PHP's json_decode reads.
const maxDepth = 512

var (
	errTooDeep  = errors.New("JSON nested too deep")
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
		name, _ := key.(string) // the decoder lets nothing else pass
		o = o.set(name, value)
	}
	_, err := decoder.Token()
	return o, err
}
