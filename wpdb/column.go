package wpdb

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Zero is a column that an INSERT must fill though nobody knows it, and what
// with.
type Zero struct {
	Name  string
	Value any
}

// Zeros are the columns of a table that take no NULL, have no default and are
// not among the given ones: rows of older versions and of add-ons. PHP, whose
// sessions are not strict, stores the zero of the type in them.
func (s *Schema) Zeros(t Table, given []string) []Zero {
	var zeros []Zero
	for name, c := range s.columns[t] {
		if c.HasDefault || slices.Contains(given, name) {
			continue
		}
		if value := c.zero(); value != nil {
			zeros = append(zeros, Zero{Name: name, Value: value})
		}
	}
	slices.SortFunc(zeros, func(a, b Zero) int { return cmp.Compare(a.Name, b.Name) })
	return zeros
}

// zero is what PHP would store in a column that it does not know; nil for a type
// that has no such value.
func (c Column) zero() any {
	switch c.Type {
	case "date":
		return "0000-00-00"
	case "datetime", "timestamp":
		return "0000-00-00 00:00:00"
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "float", "double", "bit", "year", "time":
		return 0
	case "char", "varchar", "binary", "varbinary", "tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob":
		return ""
	default: // such as enum, json, uuid or point
		return nil
	}
}

// Holds tells whether a text fits the column: in length, and in its character
// set where that is MySQL's older utf8, which has no emoji.
func (c Column) Holds(text string) bool {
	if strings.HasPrefix(c.Charset, "utf8") && c.Charset != "utf8mb4" && strings.ContainsFunc(text, func(r rune) bool { return r > 0xffff }) {
		return false
	}
	if strings.HasSuffix(c.Type, "text") {
		return int64(len(text)) <= c.MaxLength
	}
	return int64(utf8.RuneCountInString(text)) <= c.MaxLength
}
