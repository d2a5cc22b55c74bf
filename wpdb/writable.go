package wpdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// toStore are further columns without which written rows would be wrong; those
// that reads use are in required.
var toStore = map[Table][]string{
	Activities:   {"code", "description", "initiated_by", "created_at"},
	ProcessJobs:  {"process_id", "object_id", "object_model_type", "settings", "to_run_after_utc", "status"},
	Transactions: {"token", "notes"},
}

// Unwritable returns why rows of the table cannot be written, or an empty text:
// it does not exist, its engine has no transactions, it lacks a column that we
// store, or it has a required column for which we know no value.
func (s *Schema) Unwritable(t Table) string {
	if !s.Has(t) {
		return "it does not exist"
	}
	if engine := s.Engine(t); engine != "" && !s.InnoDB(t) {
		return "its engine is " + engine
	}
	var columns []string
	for _, name := range slices.Concat(required[t], toStore[t]) {
		if _, ok := s.Column(t, name); !ok {
			columns = append(columns, name)
		}
	}
	if len(columns) > 0 {
		return "it lacks " + strings.Join(columns, ", ")
	}
	if !slices.Contains(t.WritePrivileges(), Insert) {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(s.columns[t])) {
		if c := s.columns[t][name]; !c.HasDefault && c.zero() == nil {
			columns = append(columns, fmt.Sprintf("%s (%s)", name, c.Type))
		}
	}
	if len(columns) > 0 {
		return "it requires a value for " + strings.Join(columns, ", ")
	}
	return ""
}

// UnwritableTable is a table that requests cannot write.
type UnwritableTable struct {
	Table  Table
	Reason string
}

// Unwritables returns all tables that requests cannot write. Optional tables
// are included only if they exist.
func (s *Schema) Unwritables() []UnwritableTable {
	var found []UnwritableTable
	for _, t := range PluginTables() {
		if len(t.WritePrivileges()) == 0 || s.columns[t] == nil && !t.Required() && t != Activities {
			continue
		}
		if reason := s.Unwritable(t); reason != "" {
			found = append(found, UnwritableTable{t, reason})
		}
	}
	return found
}
