package payments

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures/expect"
)

// ledger parses payments: id, status, kind, amount, the invoice that each names, and the payment that it
// refunds.
func ledger(t *testing.T, text string) (payments []records.Payment) {
	t.Helper()
	for line := range strings.SplitSeq(text, ", ") {
		var p records.Payment
		var amount string
		var invoice, of int64
		if _, err := fmt.Sscan(line+" 0 0", &p.ID, &p.Status, &p.Kind, &amount, &invoice, &of); err != nil {
			t.Fatal(err)
		}
		p.Amount, p.InvoiceID = decimal.RequireFromString(amount), &invoice
		if of != 0 {
			p.Token = new(records.RefundToken + domain.IDText(of))
		}
		payments = append(payments, p)
	}
	return payments
}

// TestRefund: what a patch of payment 1 gives back, what is left of the patch, and what is refused.
func TestRefund(t *testing.T) {
	t.Parallel()
	const capture, refunded = "1 succeeded capture 100", "1 refunded capture 100"
	status := func(status string) Patch { return Patch{Status: &status} }
	kind := func(kind string) Patch { return Patch{Kind: &kind} }
	of := func(p Patch, amount string) Patch {
		p.Amount = new(decimal.RequireFromString(amount))
		return p
	}
	forced := of(status("refunded"), "130")
	forced.Force = true
	both := kind("authorization")
	both.Status = new("refunded")
	for name, c := range map[string]struct {
		payments string
		patch    Patch
		want     string // amount, and the rest of the patch: kind, status, amount
	}{
		"nothing of it":                     {capture, Patch{}, "0 - - -"},
		"failed":                            {capture, status("failed"), "0 - failed -"},
		"all":                               {capture, status("refunded"), "100 - succeeded -"},
		"in capitals":                       {capture, status("Refunded"), "100 - succeeded -"},
		"all that is left":                  {capture + ", 2 succeeded refund -40 0 1", status("refunded"), "60 - succeeded -"},
		"a part":                            {capture, of(status("refunded"), "30"), "30 - succeeded -"},
		"the same part again":               {capture + ", 2 succeeded refund -30 0 1", of(status("refunded"), "30"), "0 - succeeded -"},
		"up to a part":                      {capture + ", 2 succeeded refund -30 0 1", of(status("refunded"), "40"), "10 - succeeded -"},
		"less than before":                  {capture + ", 2 succeeded refund -30 0 1", of(status("refunded"), "20"), "0 - succeeded -"},
		"more than it took":                 {capture, of(status("refunded"), "100.0001"), "refund_too_large"},
		"more than it took, by force":       {capture, forced, "130 - succeeded -"},
		"by kind":                           {capture, kind("refund"), "100 - - -"},
		"by kind, of a payment that failed": {"1 failed capture 100", kind("refund"), "payment_refused kind"},
		"of a payment that failed":          {"1 failed capture 100", status("refunded"), "payment_refused status"},
		"of an authorisation":               {"1 succeeded authorization 100", status("refunded"), "payment_refused status"},
		"of what becomes an authorisation":  {capture, both, "payment_refused kind"},
		"a refund becomes a payment":        {"1 succeeded refund -100", kind("capture"), "payment_refused kind"},
		"a refund stays one":                {"1 succeeded refund -100", kind("Refund"), "0 Refund - -"},
		"a refund is refunded":              {"1 failed refund -100", status("refunded"), "0 - succeeded -"},
		"a refund by the ability's word":    {"1 refunded refund -100", status("refunded"), "0 - refunded -"},
		"refunded already":                  {refunded, status("refunded"), "0 - refunded -"},
		"refunded already, something else":  {refunded, of(Patch{}, "90"), "0 - - 90"},
		"refunded already, the same amount": {refunded, of(status("refunded"), "100"), "0 - refunded -"},
		"refunded already, more":            {refunded, of(status("refunded"), "101"), "refund_too_large"},
		"refunded already, by kind":         {refunded, of(kind("refund"), "101"), "refund_too_large"},
		"refunded, now with its refund":     {refunded, status("succeeded"), "100 - succeeded -"},
		"refunded, of less":                 {refunded, of(status("succeeded"), "60"), "60 - succeeded 60"},
		"refunded, with a refund":           {refunded + ", 2 succeeded refund -100 0 1", status("succeeded"), "0 - succeeded -"},
		"refunded, but failed":              {refunded, status("failed"), "payment_refused status"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			payments := ledger(t, c.payments)
			patch, amount, err := refund(records.LedgerOf(payments), c.patch, payments[0])
			var got string
			if known, ok := errors.AsType[*domain.Error](err); ok {
				got = string(known.Code)
				for field := range known.Fields {
					got += " " + field
				}
			} else {
				left := "-"
				if patch.Amount != nil {
					left = patch.Amount.String()
				}
				got = fmt.Sprint(amount, " ", domain.ValueOr(patch.Kind, "-"), " ", domain.ValueOr(patch.Status, "-"), " ", left)
			}
			expect.Equal(t, c.want, got)
		})
	}
}

// TestInvoicesAfter: which invoices a write of an order's payments pays or opens, see adjustInvoices; 10
// and 11 are for 100 each.
func TestInvoicesAfter(t *testing.T) {
	t.Parallel()
	const none = "9 failed capture 1"
	for name, c := range map[string]struct {
		paid        string // invoices
		before, now string
		want        string // invoices that are paid
		named       string // invoices that payments come to name
	}{
		"a payment of exactly the amount":         {"", none, none + ", 1 succeeded capture 100", "10", "1:10"},
		"the older one is paid":                   {"10", none, none + ", 1 succeeded capture 100", "10 11", "1:11"},
		"of less":                                 {"", none, none + ", 1 succeeded capture 99", "", ""},
		"under way":                               {"", none, none + ", 1 processing capture 100", "", ""},
		"authorised":                              {"", none, none + ", 1 succeeded authorization 100", "", ""},
		"of a kind that is no capture":            {"", none, none + ", 1 succeeded sale 100", "", ""},
		"under way, and arrived":                  {"", "1 processing capture 100", "1 succeeded capture 100", "10", "1:10"},
		"two parts that name it":                  {"", "1 succeeded capture 60 10", "1 succeeded capture 60 10, 2 succeeded capture 40 10", "10", ""},
		"two parts, one too small":                {"", "1 succeeded capture 60 10", "1 succeeded capture 60 10, 2 succeeded capture 39 10", "", ""},
		"was whole before, and is none's":         {"", "1 succeeded capture 100", "1 succeeded capture 100, 2 succeeded capture 5", "", ""},
		"two payments pay both":                   {"", none, none + ", 1 succeeded capture 100, 2 succeeded capture 100", "10 11", "1:10 2:11"},
		"refunded":                                {"10", "1 succeeded capture 100 10", "1 succeeded capture 100 10, 2 succeeded refund -100 0 1", "", ""},
		"refunded in part":                        {"10", "1 succeeded capture 100 10", "1 succeeded capture 100 10, 2 succeeded refund -1 0 1", "", ""},
		"its refund fails":                        {"", "1 succeeded capture 100 10, 2 succeeded refund -20 0 1", "1 succeeded capture 100 10, 2 failed refund -20 0 1", "10", ""},
		"refunded, with other money":              {"10", "1 succeeded capture 100 10, 2 succeeded capture 100", "1 succeeded capture 100 10, 2 succeeded capture 100, 3 succeeded refund -100 0 1", "", ""},
		"marked by force":                         {"10", none, none + ", 1 succeeded capture 50", "10", ""},
		"named by less, covered by other money":   {"10", "1 succeeded capture 60 10, 2 succeeded capture 40", "1 succeeded capture 60 10, 2 succeeded capture 40, 3 succeeded capture 1", "10", ""},
		"covered by money that is refunded":       {"10", "1 succeeded capture 100", "1 succeeded capture 100, 2 succeeded refund -100 0 1", "", ""},
		"covered by money that is refunded twice": {"10 11", "1 succeeded capture 200", "1 succeeded capture 200, 2 succeeded refund -100 0 1", "10", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var invoices PayableInvoices
			for _, id := range []int64{10, 11} {
				invoices = append(invoices, payableInvoice{ID: id, Amount: decimal.NewFromInt(100), paid: slices.Contains(strings.Fields(c.paid), domain.IDText(id))})
			}
			after, named := invoices.after(records.LedgerOf(ledger(t, c.before)), records.LedgerOf(ledger(t, c.now)))
			var paid, names []string
			for _, invoice := range after {
				if invoice.paid {
					paid = append(paid, domain.IDText(invoice.ID))
				}
			}
			for payment, invoice := range named {
				names = append(names, fmt.Sprintf("%d:%d", payment, invoice))
			}
			slices.Sort(names)
			expect.Equal(t, c.want, strings.Join(paid, " "), "paid are")
			expect.Equal(t, c.named, strings.Join(names, " "), "named are")
		})
	}
}
