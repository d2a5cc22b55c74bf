package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// WithItemData returns an order item's data with changed columns of its booking. Its other keys, including
// those of add-ons, keep their order and the types of their values. Data that is not an object is returned
// unchanged.
func WithItemData(stored string, columns session.Row) (string, error) {
	changed := map[string]any{}
	for _, c := range columns {
		if session.ItemKeys[c.Name] {
			changed[c.Name] = c.Value
		}
	}
	members, err := ObjectMembers(stored)
	if err != nil || len(changed) == 0 {
		return stored, nil //nolint:nilerr // anything else cannot be kept in step, and PHP cannot read it either
	}
	differs := false
	for i, m := range members {
		replacement, ok := changed[m.Key]
		if !ok {
			continue
		}
		if members[i].Value, err = sameType(m.Value, replacement); err != nil {
			return "", err
		}
		differs = differs || !bytes.Equal(members[i].Value, m.Value)
	}
	if !differs {
		return stored, nil // unchanged, so it keeps its formatting
	}
	return encodeMembers(members)
}

// extraIDs is the key, of Pro Features, of an order item's data for the extras of its booking.
const extraIDs = "service_extras_ids"

// WithExtras returns an order item's data with the extras of its booking, as ids and quantities such as
// 4:2,7:1, or without the key if there are none. Data that is not an object is returned unchanged.
func WithExtras(stored, extras string) (string, error) {
	members, err := ObjectMembers(stored)
	isKey := func(m Member) bool { return m.Key == extraIDs }
	switch {
	case err != nil, extras == "" && !slices.ContainsFunc(members, isKey):
		return stored, nil //nolint:nilerr // as in WithItemData
	case extras == "":
		return encodeMembers(slices.DeleteFunc(members, isKey))
	default:
		return WithMembers(stored, []Member{{extraIDs, json.RawMessage(`"` + extras + `"`)}})
	}
}

// WithCustomFields returns an order item's data with some custom fields of its booking set, each value
// encoded. Data that is not an object stays unchanged.
func WithCustomFields(stored string, changes []Member) (string, error) {
	const key = "custom_fields" // of Pro Features
	members, err := ObjectMembers(stored)
	if err != nil || len(changes) == 0 {
		return stored, nil //nolint:nilerr // as in WithItemData
	}
	var present string
	if at := slices.IndexFunc(members, func(m Member) bool { return m.Key == key }); at >= 0 {
		present = string(members[at].Value)
	}
	fields, err := WithMembers(present, changes)
	if err != nil {
		return "", err
	}
	return WithMembers(stored, []Member{{key, json.RawMessage(fields)}})
}

// sameType encodes a value as a text if the old value was a text.
func sameType(old json.RawMessage, value any) (json.RawMessage, error) {
	if bytes.HasPrefix(old, []byte(`"`)) {
		value = fmt.Sprint(value)
	}
	text, err := text.EncodePHP(value)
	return json.RawMessage(text), err
}

// Member is a key of a JSON object and its value, unparsed.
type Member struct {
	Key   string
	Value json.RawMessage
}

var errNoObject = errors.New("not a JSON object")

// ObjectMembers returns the members of a JSON object in their order.
func ObjectMembers(text string) ([]Member, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errNoObject
	}
	var members []Member
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, errNoObject
		}
		name, _ := key.(string)
		m := Member{Key: name}
		if err := decoder.Decode(&m.Value); err != nil {
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
func encodeMembers(members []Member) (string, error) {
	texts := make([]string, len(members))
	for i, m := range members {
		key, err := text.EncodePHP(m.Key)
		if err != nil {
			return "", err
		}
		texts[i] = key + ":" + string(m.Value)
	}
	return "{" + strings.Join(texts, ",") + "}", nil
}

// WithMembers returns a JSON object with some members set: in place if they exist, otherwise at the end. It
// replaces a text that is not an object.
func WithMembers(text string, changes []Member) (string, error) {
	members, err := ObjectMembers(text)
	if err != nil {
		members = nil // such a text has no members to keep
	}
	for _, c := range changes {
		same := func(m Member) bool { return m.Key == c.Key }
		at := slices.IndexFunc(members, same)
		members = slices.DeleteFunc(members, same)
		if at < 0 {
			at = len(members)
		}
		members = slices.Insert(members, at, c)
	}
	return encodeMembers(members)
}

// RawObject returns stored JSON unchanged, or an empty list if it is invalid.
func RawObject(text string) any {
	if _, err := ObjectMembers(text); err != nil {
		return []string{}
	}
	return json.RawMessage(text)
}
