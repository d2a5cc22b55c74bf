package wpdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// toStore are the columns beyond those that reads name without which a row that
// is written would be wrong.
var toStore = map[Table][]string{
	Activities:   {"code", "description", "initiated_by", "created_at"},
	ProcessJobs:  {"process_id", "object_id", "object_model_type", "settings", "to_run_after_utc", "status"},
	Transactions: {"token", "notes"},
}

// Unwritable is why rows of the table cannot be written, or "": it is not there,
// its engine cannot take a write back, it lacks a column that is stored, or it
// has one of which we know neither the meaning nor a value it would take.
func (s *Schema) Unwritable(t Table) string {
	if !s.Has(t) {
		return "there is no such table"
	}
	if engine := s.Engine(t); engine != "" && !strings.EqualFold(engine, "InnoDB") {
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
		return "it demands a value for " + strings.Join(columns, ", ")
	}
	return ""
}

// UnwritableTable is a table that requests cannot write.
type UnwritableTable struct {
	Table  Table
	Reason string
}

// Unwritables are all tables that requests cannot write; those that a site may
// lack only where they are there.
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
