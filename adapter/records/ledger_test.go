package records

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures/expect"
)

// ledger parses entries: id, status, kind, amount, sum of its refund rows, and the payment that it refunds.
func ledger(t *testing.T, text string) (l Ledger) {
	t.Helper()
	for line := range strings.SplitSeq(text, ", ") {
		var e LedgerEntry
		var amount, refunds string
		var of int64
		_, err := fmt.Sscan(line+" 0 0", &e.ID, &e.Status, &e.Kind, &amount, &refunds, &of)
		expect.NoError(t, err)
		e.Amount, e.Refunds = decimal.RequireFromString(amount), decimal.RequireFromString(refunds)
		if of != 0 {
			e.token = RefundToken + domain.IDText(of)
		}
		l = append(l, e)
	}
	return l
}

// TestLedger: what each payment has left, which refunds gave it back in full, and what is missing. An entry
// is id, status, kind, amount, sum of its refund rows, and the payment that it refunds.
func TestLedger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		entries string
		left    string // amounts by payment
		full    string // refunds of payment 1, "no" if they do not cover all of it, or are shared
		missing string // of payment 1
	}{
		"a payment":                           {"1 succeeded capture 100", "1:100", "no", "0"},
		"no money":                            {"1 failed capture 100, 2 succeeded authorization 50", "", "no", "0"},
		"refunded by a row":                   {"1 succeeded capture 100 30", "1:70", "no", "0"},
		"refunded in full by a row":           {"1 succeeded capture 100 100", "1:0", "", "0"},
		"refunded more than it took":          {"1 succeeded capture 100 130", "1:0", "", "30"},
		"the ability's word":                  {"1 refunded capture 100", "1:0", "", "0"},
		"a refund that names it":              {"1 succeeded capture 100, 2 succeeded refund -40 0 1", "1:60", "no", "0"},
		"all of it, in two refunds":           {"1 succeeded capture 100, 2 succeeded refund -40 0 1, 3 succeeded refund -60 0 1", "1:0", "2 3", "0"},
		"a refund that names another":         {"1 succeeded capture 100, 2 succeeded capture 100, 3 succeeded refund -100 0 2", "1:100 2:0", "no", "0"},
		"of exactly its amount":               {"1 succeeded capture 30, 2 succeeded capture 100, 3 succeeded refund -30", "1:0 2:100", "3", "0"},
		"else of the newest":                  {"1 succeeded capture 100, 2 succeeded capture 100, 3 succeeded refund -30", "1:100 2:70", "no", "0"},
		"of those made before":                {"1 succeeded capture 100, 2 succeeded refund -30, 3 succeeded capture 100", "1:70 3:100", "no", "0"},
		"of exactly the amount, but later":    {"1 succeeded capture 100, 2 succeeded refund -30, 3 succeeded capture 30", "1:70 3:30", "no", "0"},
		"of later ones if those do not do":    {"1 succeeded capture 20, 2 succeeded refund -30, 3 succeeded capture 100", "1:0 3:90", "no", "0"},
		"a refund of two payments":            {"1 succeeded capture 50, 2 succeeded capture 50, 3 succeeded refund -100", "1:0 2:0", "no", "0"},
		"a negative payment":                  {"1 succeeded capture 100, 2 succeeded capture -100", "1:0", "no", "0"},
		"more refunds than payments":          {"1 succeeded capture 100, 2 succeeded refund -130", "1:0", "no", "30"},
		"a refund that names it, and is more": {"1 succeeded capture 100, 2 succeeded capture 100, 3 succeeded refund -130 0 1", "1:0 2:70", "no", "30"},
		"a refund that failed":                {"1 succeeded capture 100, 2 failed refund -100 0 1", "1:100", "no", "0"},
	} {
		l := ledger(t, c.entries)
		var left []string
		for id, amount := range l.Left() {
			left = append(left, fmt.Sprintf("%d:%s", id, amount))
		}
		slices.Sort(left)
		expect.Equal(t, c.left, strings.Join(left, " "), name, ": left")
		full := "no"
		if ids, err := l.RefundsInFull(Payment{ID: 1, Amount: l[0].Amount}); err == nil {
			full = strings.Trim(fmt.Sprint(ids), "[]")
		}
		expect.Equal(t, c.full, full, name, ": refunds in full")
		expect.Equal(t, c.missing, l.Missing(1).String(), name, ": missing")
	}
}

// TestSentBack: what was sent back for a payment, by refunds that name it and by others.
func TestSentBack(t *testing.T) {
	t.Parallel()
	for entries, want := range map[string]string{
		"1 succeeded capture 100":                                                       "0",
		"1 succeeded capture 100 30":                                                    "30",
		"1 succeeded capture 100, 2 succeeded refund -40 0 1":                           "40",
		"1 succeeded capture 100, 2 succeeded refund -40":                               "40",
		"1 succeeded capture 100, 2 succeeded refund -130 0 1":                          "130",
		"1 succeeded capture 100 5, 2 succeeded refund -40 0 1, 3 succeeded refund -10": "55",
	} {
		expect.Equal(t, want, ledger(t, entries).Given()[1].Sent.String(), entries)
	}
}

// TestLedgerChanges: an entry replaces the one with its id, or is appended.
func TestLedgerChanges(t *testing.T) {
	t.Parallel()
	l := ledger(t, "1 succeeded capture 100 30, 2 succeeded capture 50")
	net := func(l Ledger) string { return l.Net().String() }
	payment := func(id int64) Payment {
		return Payment{ID: id, Status: PaymentSucceeded, Kind: KindCapture, Amount: decimal.NewFromInt(80)}
	}
	for name, c := range map[string]struct{ got, want string }{
		"as it is":                       {net(l), "120"},
		"another amount, the refund too": {net(l.With(l.Entry(payment(1)))), "100"},
		"another payment":                {net(l.With(l.Entry(payment(3)))), "200"},
		"one is deleted":                 {net(l.Without([]int64{1})), "50"},
		"before refunds":                 {net(l.BeforeRefunds()), "150"},
	} {
		expect.Equal(t, c.want, c.got, name)
	}
}

func TestAmountsOfRefunds(t *testing.T) {
	t.Parallel()
	five := decimal.NewFromInt(5)
	for _, c := range []struct {
		kind                   string
		amount, stored, stands decimal.Decimal
	}{{KindRefund, five, five.Neg(), five}, {"Refund", five.Neg(), five.Neg(), five}, {KindCapture, five, five, five}, {KindCapture, five.Neg(), five.Neg(), five.Neg()}} {
		if got := StoredAmount(c.kind, c.amount); !got.Equal(c.stored) {
			t.Errorf("%s of %s is stored as %s", c.kind, c.amount, got)
		}
		if got := (Payment{Kind: c.kind, Amount: c.amount}).DisplayAmount(); !got.Equal(c.stands) {
			t.Errorf("%s of %s is shown as %s", c.kind, c.amount, got)
		}
	}
}

// TestRefundOf: the token of a refund names its payment.
func TestRefundOf(t *testing.T) {
	t.Parallel()
	for token, want := range map[string]int64{"": 0, "refund-of-17": 17, "refund-of-": 0, "refund-of-x": 0, "pi_17": 0} {
		expect.Equal(t, want, refundOf(token), token, " is of")
	}
}
