package adapter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bookside/adapter/journal"
	"bookside/adapter/process"
)

// itemKeys are the keys of an order item's data that repeat columns of its booking.
var itemKeys = map[string]bool{
	"customer_id": true, "agent_id": true, "location_id": true, "service_id": true, "start_date": true, "start_time": true,
	"end_date": true, "end_time": true, "status": true, "buffer_before": true, "buffer_after": true, "duration": true,
	"total_attendees": true, // of the Pro add-on
}

// withItemData returns an order item's data with changed columns of its booking. Its
// other keys, including those of add-ons, their order and the types of its values stay.
// Data that is not an object stays as it is.
func withItemData(stored string, columns row) (string, error) {
	changed := map[string]any{}
	for _, c := range columns {
		if itemKeys[c.name] {
			changed[c.name] = c.value
		}
	}
	members, err := objectMembers(stored)
	if err != nil || len(changed) == 0 {
		return stored, nil //nolint:nilerr // anything else cannot be kept in step, and PHP cannot read it either
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
		return stored, nil // nothing changed, whatever its formatting
	}
	return encodeMembers(members)
}

// sameType encodes a value as a text if the old value is a text.
func sameType(old json.RawMessage, value any) (json.RawMessage, error) {
	if bytes.HasPrefix(old, []byte(`"`)) {
		value = fmt.Sprint(value)
	}
	text, err := process.EncodePHP(value)
	return json.RawMessage(text), err
}

// itemBooking returns the booking id in an order item's JSON, a number or a string;
// 0 where there is none.
func itemBooking(data string) int64 {
	var item struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal([]byte(data), &item) != nil {
		return 0
	}
	return jsonID(item.ID)
}

// itemAssignment returns to what the booking of an order item belongs, as its JSON says: as numbers or
// texts; zero where there is none.
func itemAssignment(data string) journal.Assignment {
	var item struct {
		Agent    json.RawMessage `json:"agent_id"`
		Service  json.RawMessage `json:"service_id"`
		Location json.RawMessage `json:"location_id"`
	}
	if json.Unmarshal([]byte(data), &item) != nil {
		return journal.Assignment{}
	}
	return journal.Assignment{AgentID: jsonID(item.Agent), ServiceID: jsonID(item.Service), LocationID: jsonID(item.Location)}
}

// jsonID returns an id in JSON, a number or a text; 0 for anything else.
func jsonID(value json.RawMessage) int64 {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// member is a key of a JSON object and its value, unparsed.
type member struct {
	key   string
	value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// objectMembers returns the members of a JSON object in their order.
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

// encodeMembers returns the JSON object of members.
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

// withMembers returns a JSON object with some members set: in place if they exist,
// otherwise at the end. Text that is not an object is replaced.
func withMembers(text string, changes []member) (string, error) {
	members, err := objectMembers(text)
	if err != nil {
		members = nil // nobody could read its members either
	}
	for _, c := range changes {
		same := func(m member) bool { return m.key == c.key }
		at := slices.IndexFunc(members, same)
		members = slices.DeleteFunc(members, same)
		if at < 0 {
			at = len(members)
		}
		members = slices.Insert(members, at, c)
	}
	return encodeMembers(members)
}

// rawObject returns stored JSON unchanged, or an empty list if it is not valid.
func rawObject(text string) any {
	if _, err := objectMembers(text); err != nil {
		return []string{}
	}
	return json.RawMessage(text)
}
