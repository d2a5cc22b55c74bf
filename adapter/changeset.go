package adapter

import (
	"slices"

	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// changeset are the columns that a patch changes: what was sent and is stored
// already is not written.
type changeset row

func (e *changeset) set(name string, value any) { *e = append(*e, column{name, value}) }

func (e *changeset) text(name string, sent *string, stored string) {
	if sent != nil && *sent != stored {
		e.set(name, *sent)
	}
}

func (e *changeset) number(name string, sent *int64, stored int64) {
	if sent != nil && *sent != stored {
		e.set(name, *sent)
	}
}

func (e *changeset) amount(name string, sent *decimal.Decimal, stored decimal.Decimal) {
	if sent != nil && !sent.Equal(stored) {
		e.set(name, domain.AmountText(*sent))
	}
}

// checkAmount notes an amount that is not to be, or that its column would
// round.
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

// checkWord notes a word that is none of the known ones. What is stored already
// may be sent again, whatever it is.
func checkWord(p *domain.Validation, field string, sent *string, stored string, known ...string) {
	if sent == nil || *sent == stored && stored != "" || slices.Contains(known, *sent) {
		return
	}
	p.Reject(field, "Unknown "+field)
}

// checkNumber notes a number below the least.
func checkNumber(p *domain.Validation, field string, sent *int64, least int64, message string) {
	if sent != nil && *sent < least {
		p.Reject(field, message)
	}
}

// sanitizeField cleans a text where one was sent, and notes one that does not fit
// its column.
func (s *Site) sanitizeField(p *domain.Validation, field string, sent **string, clean func(string) string, table wpdb.Table, name string) {
	if *sent == nil {
		return
	}
	text := clean(**sent)
	*sent = &text
	s.checkText(p, field, table, name, text)
}

// orAmount returns an amount as its column holds it, 0 where none was sent.
func orAmount(sent *decimal.Decimal) string {
	return domain.AmountText(domain.ValueOr(sent, decimal.Zero))
}
