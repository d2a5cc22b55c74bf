package table

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestCSV: a value in a nested record has its own column, values of a list share a cell, and fields that
// the first record lacks have no column.
func TestCSV(t *testing.T) {
	t.Parallel()
	columns := []Column{{Path: []string{"id"}}, {Path: []string{"customer", "email"}}, {Path: []string{"service", "name"}}, {Path: []string{"meta"}, Optional: 1}, {Path: []string{"custom_fields"}}}
	const header = "id,customer.email,service.name,custom_fields\r\n"
	for name, c := range map[string]struct {
		records string
		want    string
	}{
		"no records":   {`[]`, header},
		"records":      {`[{"id":1,"customer":{"email":"a@x"},"service":[{"name":"Cut"},{"name":"Shave"}],"custom_fields":{"size":"<b>"}}]`, header + "1,a@x,Cut; Shave,\"{\"\"size\"\":\"\"<b>\"\"}\"\r\n"},
		"nothing":      {`[{"id":1,"customer":{"email":null},"service":[],"custom_fields":{}}]`, header + "1,,,\r\n"},
		"no column":    {`[{"id":true},{"id":12345678901234567890,"meta":{"a":1}}]`, header + "true,,,\r\n12345678901234567890,,,\r\n"},
		"its column":   {`[{"id":1,"meta":{"a":"1"}}]`, "id,customer.email,service.name,meta,custom_fields\r\n1,,,\"{\"\"a\"\":\"\"1\"\"}\",\r\n"},
		"a formula":    {`[{"id":"=1+1"},{"id":"-1"},{"id":"-1+1"},{"id":"a;=1"}]`, header + "'=1+1,,,\r\n-1,,,\r\n'-1+1,,,\r\na;'=1,,,\r\n"},
		"wide signs":   {`[{"id":"＝1+1"},{"id":"＋1"},{"id":"－1"},{"id":"＠SUM(1)"},{"id":"a;＝1"},{"id":"1＝1"}]`, header + "'＝1+1,,,\r\n'＋1,,,\r\n'－1,,,\r\n'＠SUM(1),,,\r\na;'＝1,,,\r\n1＝1,,,\r\n"},
		"before signs": {`[{"id":" =1"},{"id":"\t1"},{"id":"\r1"},{"id":"\u200b\u3000＝1"},{"id":"\ufeff=1"},{"id":" 1"}]`, header + "' =1,,,\r\n'\t1,,,\r\n\"'1\",,,\r\n'\u200b\u3000＝1,,,\r\n'\ufeff=1,,,\r\n\" 1\",,,\r\n"},
		"a wrong type": {`[{"id":[1,2]}]`, header + "\"[1,2]\",,,\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var records []json.RawMessage
			if err := json.Unmarshal([]byte(c.records), &records); err != nil {
				t.Fatal(err)
			}
			var to strings.Builder
			rows := NewCSV(&to, append([]Column{}, columns...))
			if err := rows.Add(records); err != nil {
				t.Fatal(err)
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			if to.String() != c.want {
				t.Errorf("rows %q, want %q", to.String(), c.want)
			}
		})
	}
}
