package adapter

import (
	"slices"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// changeset has the columns that a patch changes. A value that equals the stored one is
// not written.
type changeset row

// set changes a column in any case.
func (e *changeset) set(name string, value any) { *e = append(*e, column{name, value}) }

// text changes a column if a text was sent that differs from the stored one.
func (e *changeset) text(name string, sent *string, stored string) {
	if sent != nil && *sent != stored {
		e.set(name, *sent)
	}
}

// nullable changes a text column, or clears it if it is among nulls and no text was sent.
func (e *changeset) nullable(name string, sent, stored *string, nulls []string) {
	if sent != nil || !slices.Contains(nulls, name) {
		e.text(name, sent, domain.ValueOr(stored, ""))
	} else if stored != nil {
		e.set(name, nil)
	}
}

// number changes a column if a number was sent that differs from the stored one.
func (e *changeset) number(name string, sent *int64, stored int64) {
	if sent != nil && *sent != stored {
		e.set(name, *sent)
	}
}

// amount changes a column if an amount was sent that differs from the stored one.
func (e *changeset) amount(name string, sent *decimal.Decimal, stored decimal.Decimal) {
	if sent != nil && !sent.Equal(stored) {
		e.set(name, domain.AmountText(*sent))
	}
}

// checkAmount rejects an amount that is negative, too large, or would be rounded by its
// column.
func checkAmount(p *domain.Validation, field string, amount *decimal.Decimal) {
	switch {
	case amount == nil:
	case amount.IsNegative():
		p.Reject(field, notNegative)
	case amount.GreaterThan(domain.MaxAmount):
		p.Reject(field, "Too large")
	case !amount.Equal(amount.Truncate(4)):
		p.Reject(field, "May have at most 4 decimals")
	}
}

// checkWord rejects a word that is not one of the known ones. The stored word may be sent
// again, whatever it is.
func checkWord(p *domain.Validation, field string, sent *string, stored string, known ...string) {
	if sent == nil || *sent == stored && stored != "" || slices.Contains(known, *sent) {
		return
	}
	p.Reject(field, "Unknown "+field)
}

// checkNumber rejects a number below a minimum.
func checkNumber(p *domain.Validation, field string, sent *int64, least int64, message string) {
	if sent != nil && *sent < least {
		p.Reject(field, message)
	}
}

// sanitizeField sanitizes a text if it was sent, and rejects one that its column cannot
// hold.
func (s *Site) sanitizeField(p *domain.Validation, field string, sent **string, clean func(string) string, table wpdb.Table, name string) {
	if *sent == nil {
		return
	}
	text := clean(**sent)
	*sent = &text
	s.checkText(p, field, table, name, text)
}

// orAmount returns an amount as its column holds it, 0 if none was sent.
func orAmount(sent *decimal.Decimal) string {
	return domain.AmountText(domain.ValueOr(sent, decimal.Zero))
}

// notNegative is told to a client that sent a number below 0.
const notNegative = "May not be negative"
