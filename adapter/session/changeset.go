package session

import (
	"slices"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Changeset has the columns that a patch changes. A value equal to the stored one is not written.
type Changeset Row

// Set changes a column unconditionally.
func (e *Changeset) Set(name string, value any) { *e = append(*e, Column{name, value}) }

// Text changes a column if a text was sent that differs from the stored one.
func (e *Changeset) Text(name string, sent *string, stored string) {
	if sent != nil && *sent != stored {
		e.Set(name, *sent)
	}
}

// Nullable changes a text column, or clears it if it is among nulls and no text was sent.
func (e *Changeset) Nullable(name string, sent, stored *string, nulls []string) {
	if sent != nil || !slices.Contains(nulls, name) {
		e.Text(name, sent, domain.ValueOr(stored, ""))
	} else if stored != nil {
		e.Set(name, nil)
	}
}

// Number changes a column if a number was sent that differs from the stored one.
func (e *Changeset) Number(name string, sent *int64, stored int64) {
	if sent != nil && *sent != stored {
		e.Set(name, *sent)
	}
}

// Amount changes a column if an amount was sent that differs from the stored one.
func (e *Changeset) Amount(name string, sent *decimal.Decimal, stored decimal.Decimal) {
	if sent != nil && !sent.Equal(stored) {
		e.Set(name, domain.AmountText(*sent))
	}
}

// CheckAmount rejects an amount that is negative, too large, or would be rounded by its
// column.
func CheckAmount(p *domain.Validation, field string, amount *decimal.Decimal) {
	switch {
	case amount == nil:
	case amount.IsNegative():
		p.Reject(field, NotNegative)
	case amount.GreaterThan(domain.MaxAmount):
		p.Reject(field, "Too large")
	case !amount.Equal(amount.Truncate(4)):
		p.Reject(field, "May have at most 4 decimals")
	}
}

// CheckWord rejects unknown words.
func CheckWord(p *domain.Validation, field string, sent *string, known ...string) {
	if sent != nil && !slices.Contains(known, *sent) {
		p.Reject(field, "Unknown "+field)
	}
}

// CheckNumber rejects a number below a minimum.
func CheckNumber(p *domain.Validation, field string, sent *int64, least int64, message string) {
	if sent != nil && *sent < least {
		p.Reject(field, message)
	}
}

// SanitizeField sanitizes a text if one was sent, and rejects it if its column cannot hold it.
func SanitizeField(s *Session, p *domain.Validation, field string, sent **string, clean func(string) string, table wpdb.Table, name string) {
	if *sent == nil {
		return
	}
	text := clean(**sent)
	*sent = &text
	s.CheckText(p, field, table, name, text)
}

// OrAmount returns an amount as its column holds it, or 0 if none was sent.
func OrAmount(sent *decimal.Decimal) string {
	return domain.AmountText(domain.ValueOr(sent, decimal.Zero))
}

// NotNegative is the message for a number below 0.
const NotNegative = "May not be negative"
