package records

import (
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// FilterEqual adds column = value if there is a value.
func FilterEqual[T any](filter sq.SelectBuilder, column string, value *T) sq.SelectBuilder {
	if value == nil {
		return filter
	}
	return filter.Where(sq.Eq{column: *value})
}

// FilterText adds column = text if there is a text. The collation finds the rows, using an index if there
// is one, but ignores accents; a second condition ignores only case.
func FilterText(filter sq.SelectBuilder, column string, text *string) sq.SelectBuilder {
	if text == nil {
		return filter
	}
	return filter.Where(sq.Eq{column: *text}).Where(folded(column)+" = "+folded("?"), *text)
}

// folded returns an expression in one letter case, for a comparison by code point.
func folded(expression string) string {
	return "LOWER(CONVERT(" + expression + " USING utf8mb4)) COLLATE utf8mb4_bin"
}

// FilterReference adds column = id if there is an id. The id 0 stands for none, which columns store as 0 or
// NULL.
func FilterReference(filter sq.SelectBuilder, column string, id *int64) sq.SelectBuilder {
	if id != nil && *id == 0 {
		return filter.Where(sq.Or{sq.Eq{column: 0}, sq.Eq{column: nil}})
	}
	return FilterEqual(filter, column, id)
}

// FilterRange adds the inclusive bounds of a column. A nil bound is none.
func FilterRange[T any](filter sq.SelectBuilder, column string, from, to *T) sq.SelectBuilder {
	if from != nil {
		filter = filter.Where(sq.GtOrEq{column: *from})
	}
	if to != nil {
		filter = filter.Where(sq.LtOrEq{column: *to})
	}
	return filter
}

// FilterInstant adds the half-open range of a stored instant.
func FilterInstant(q sq.SelectBuilder, column string, from, before *time.Time) sq.SelectBuilder {
	if from != nil {
		q = q.Where(sq.GtOrEq{column: domain.Stamp(*from)})
	}
	if before != nil {
		q = q.Where(sq.Lt{column: domain.Stamp(*before)})
	}
	return q
}

// TimeSpan is a half-open range of instants.
type TimeSpan struct{ From, Before time.Time }

// FilterSpan filters by a range of instants; nil does not filter.
func FilterSpan(q sq.SelectBuilder, column string, span *TimeSpan) sq.SelectBuilder {
	if span == nil {
		return q
	}
	return FilterInstant(q, column, &span.From, &span.Before)
}

// activeStatus is the only status that the plugin treats as active for locations and coupons.
const activeStatus = "active"

// FilterActive keeps the active or the inactive records.
func FilterActive(q sq.SelectBuilder, column string, want *bool) sq.SelectBuilder {
	switch {
	case want == nil:
		return q
	case *want:
		return q.Where(sq.Eq{column: activeStatus})
	default:
		return q.Where(sq.NotEq{column: activeStatus})
	}
}

// FilterSearch adds a partial match of any of the expressions if there is a text. The collation determines
// how case and accents compare.
func FilterSearch(filter sq.SelectBuilder, text *string, expressions ...string) sq.SelectBuilder {
	if text == nil {
		return filter
	}
	return filter.Where(ContainsAny(*text, expressions...))
}

// FilterPhone adds a partial match of a telephone number, see ContainsPhone.
func FilterPhone(filter sq.SelectBuilder, phone *string, column string) sq.SelectBuilder {
	if condition := ContainsPhone(phone, column); condition != nil {
		return filter.Where(condition)
	}
	return filter
}

// ContainsPhone is the condition of a partial match of a telephone number, ignoring how it is formatted; nil if there is
// nothing to match.
func ContainsPhone(phone *string, column string) sq.Sqlizer {
	if phone == nil {
		return nil
	}
	digits := *phone
	for _, punctuation := range []string{" ", "(", ")", "-"} {
		digits = strings.ReplaceAll(digits, punctuation, "")
		column = "REPLACE(" + column + ", '" + punctuation + "', '')"
	}
	if digits == "" {
		return nil
	}
	return ContainsAny(digits, column)
}

// ContainsAny is the condition that any of some texts contains the given one.
func ContainsAny(text string, expressions ...string) sq.Or {
	pattern := wpdb.Contains(text)
	any := sq.Or{}
	for _, e := range expressions {
		any = append(any, sq.Expr(e+" LIKE ?", pattern))
	}
	return any
}

// Direction returns an ORDER BY term.
func Direction(column string, desc bool) string {
	if desc {
		return column + " DESC"
	}
	return column + " ASC"
}

// SortColumns returns ORDER BY terms that all have one direction.
func SortColumns(columns []string, desc bool) []string {
	terms := make([]string, len(columns))
	for i, column := range columns {
		terms[i] = Direction(column, desc)
	}
	return terms
}

// FullName returns an expression for a person's first and last name, for a search over both.
func FullName(alias string) string {
	return "CONCAT(COALESCE(" + alias + ".first_name, ''), ' ', COALESCE(" + alias + ".last_name, ''))"
}
