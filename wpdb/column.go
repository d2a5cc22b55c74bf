package wpdb

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Zero is a column that an INSERT has to set, and its zero value.
type Zero struct {
	Name  string
	Value any
}

// Zeros returns the columns of a table, other than the given ones, that are NOT
// NULL and have no default: columns of older versions and of add-ons. PHP,
// whose sessions are not strict, stores the zero value of the type in them.
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

// zero returns what PHP stores in a column that it does not set, or nil for a
// type without such a value.
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

// Holds reports whether a text fits the column, in length and in character set.
func (c Column) Holds(text string) bool {
	_, unknown := c.Unknown(text)
	return !unknown && c.Fits(text)
}

// Fits reports whether a text is short enough for the column.
func (c Column) Fits(text string) bool {
	if strings.HasSuffix(c.Type, "text") {
		return int64(len(text)) <= c.MaxLength
	}
	return int64(utf8.RuneCountInString(text)) <= c.MaxLength
}

// windows1252 contains the characters of MySQL's latin1 from 0x80 to 0x9f.
const windows1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

// Unknown returns the first character of a text that the column's character set
// lacks; ok is false if there is none. It knows only the character sets that
// WordPress has used by default; for others only the server can tell.
func (c Column) Unknown(text string) (first rune, ok bool) {
	var known func(rune) bool
	switch c.Charset {
	case "utf8", "utf8mb3":
		known = func(r rune) bool { return r <= 0xffff }
	case "latin1":
		known = func(r rune) bool { return r < 0x80 || 0xa0 <= r && r <= 0xff || strings.ContainsRune(windows1252, r) }
	default:
		return 0, false
	}
	for _, r := range text {
		if !known(r) {
			return r, true
		}
	}
	return 0, false
}
