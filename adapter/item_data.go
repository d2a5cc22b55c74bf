package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"bookside/adapter/process"
)

// itemKeys are the keys of an order item's data that repeat a column of its
// booking.
var itemKeys = map[string]bool{
	"customer_id": true, "agent_id": true, "location_id": true, "service_id": true, "start_date": true, "start_time": true,
	"end_date": true, "end_time": true, "status": true, "buffer_before": true, "buffer_after": true, "duration": true,
}

// withItemData is an order item's data with changed columns of its booking. Its
// other keys, those of add-ons too, their order and the types of its values
// stay. What is no object stays altogether.
func withItemData(stored string, columns row) (string, error) {
	changed := map[string]any{}
	for _, c := range columns {
		if itemKeys[c.name] {
			changed[c.name] = c.value
		}
	}
	members, err := objectMembers(stored)
	if err != nil || len(changed) == 0 {
		return stored, nil //nolint:nilerr // what is no object cannot be kept in step, and PHP does not read it either
	}
	differs := false
	for i, m := range members {
		replacement, ok := changed[m.key]
		if !ok {
			continue
		}
		if members[i].value, err = sameType(m.value, replacement); err != nil {
			return "", err
		}
		differs = differs || !bytes.Equal(members[i].value, m.value)
	}
	if !differs {
		return stored, nil // however it is written
	}
	return encodeMembers(members)
}

// sameType writes a value as a text where the old one is a text.
func sameType(old json.RawMessage, value any) (json.RawMessage, error) {
	if bytes.HasPrefix(old, []byte(`"`)) {
		value = fmt.Sprint(value)
	}
	text, err := process.EncodePHP(value)
	return json.RawMessage(text), err
}

// member is a key of a JSON object and its value as written.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// objectMembers are the members of a JSON object in their order.
func objectMembers(text string) ([]member, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errNoObject
	}
	var members []member
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, errNoObject
		}
		name, _ := key.(string)
		m := member{key: name}
		if err := decoder.Decode(&m.value); err != nil {
			return nil, errNoObject
		}
		members = append(members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errNoObject
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNoObject
	}
	return members, nil
}

// encodeMembers is the JSON object of members.
func encodeMembers(members []member) (string, error) {
	texts := make([]string, len(members))
	for i, m := range members {
		key, err := process.EncodePHP(m.key)
		if err != nil {
			return "", err
		}
		texts[i] = key + ":" + string(m.value)
	}
	return "{" + strings.Join(texts, ",") + "}", nil
}

// rawObject is stored JSON as it is, or an empty list where it is none.
func rawObject(text string) any {
	if _, err := objectMembers(text); err != nil {
		return []string{}
	}
	return json.RawMessage(text)
}
