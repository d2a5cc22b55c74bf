package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// typedByCustomers are the members of records whose text customers typed, or may have.
var typedByCustomers = []string{
	"first_name", "last_name", "full_name", "email", "phone", "notes", "customer_comment", "custom_fields", "meta", "address", "city", "state", "zipcode",
	"cancellation_reason", "reschedule_reason", "source_url",
}

// Names of objects: customers typed the members of the first, but for its id; staff those of the second.
const (
	byCustomer = "customer"
	byStaff    = "agent"
)

// markTyped moves the texts of customers in an answer of the API into objects named untrusted, beside the rest of
// their records.
func markTyped(answer []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(answer))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("read an answer of the API: %w", err)
	}
	return marked(value, ""), nil
}

// marked returns a value that is a member with a name.
func marked(value any, name string) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = marked(value[i], name)
		}
	case map[string]any:
		untrusted := map[string]any{}
		for member, inner := range value {
			_, text := inner.(string)
			invoice := member == "data" && text // of an invoice, as JSON
			if name != byStaff && (invoice || name == byCustomer && member != "id" || slices.Contains(typedByCustomers, member)) {
				untrusted[member] = inner
				delete(value, member)
				continue
			}
			value[member] = marked(inner, member)
		}
		if len(untrusted) > 0 {
			value["untrusted"] = untrusted
		}
	}
	return value
}
