package records

import (
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestOrderPaymentStatus(t *testing.T) {
	t.Parallel()
	const nothing = "0.0000"
	tests := []struct {
		name     string
		total    string
		payments string // status, kind and amount of each
		refunds  string // rows of their own, of the first payment
		present  string
		want     string
	}{
		{"no payment", "100", "", nothing, OrderFullyPaid, OrderNotPaid},
		{"a part", "100", "succeeded capture 99.9999", nothing, OrderNotPaid, OrderPartiallyPaid},
		{"all", "100", "succeeded capture 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"all in parts", "0.3", "succeeded capture 0.1, succeeded capture 0.2", nothing, OrderNotPaid, OrderFullyPaid},
		{"more than all", "100", "succeeded capture 250", nothing, OrderNotPaid, OrderFullyPaid},
		{"a kind that nobody knows is income", "100", "succeeded sale 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"no kind is income", "100", "succeeded - 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"failed", "100", "failed capture 100", nothing, OrderNotPaid, OrderNotPaid},
		{"refunded by an ability of WordPress", "100", "refunded capture 100", nothing, OrderFullyPaid, OrderNotPaid},
		{"under way", "100", "processing capture 100", nothing, OrderNotPaid, OrderProcessing},
		{"a part, and the rest under way", "100", "succeeded capture 1, processing capture 99", nothing, OrderNotPaid, OrderPartiallyPaid},
		{"all, and more under way", "100", "succeeded capture 100, processing capture 1", nothing, OrderNotPaid, OrderFullyPaid},
		{"authorised", "100", "succeeded authorization 100", nothing, OrderNotPaid, OrderNotPaid},
		{"authorised and captured", "100", "succeeded authorization 100, succeeded capture 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"taken back before it was captured", "100", "succeeded void 100", nothing, OrderNotPaid, OrderNotPaid},
		{"refunded in part", "100", "succeeded capture 100, succeeded refund 0.0001", nothing, OrderFullyPaid, OrderPartiallyPaid},
		{"refunded in part, and still paid in full", "100", "succeeded capture 150, succeeded refund 50", nothing, OrderFullyPaid, OrderFullyPaid},
		{"refunded", "100", "succeeded capture 100, succeeded refund 100", nothing, OrderFullyPaid, OrderNotPaid},
		{"refunded, stored as we do", "100", "succeeded capture 100, succeeded refund -100", nothing, OrderFullyPaid, OrderNotPaid},
		{"refunded in part, stored as we do", "100", "succeeded capture 100, succeeded refund -1", nothing, OrderFullyPaid, OrderPartiallyPaid},
		{"a word that the plugin does not know", "100", "succeeded capture 100", nothing, OrderRefunded, OrderFullyPaid},
		{"refunded more than was paid", "100", "succeeded capture 50, succeeded refund 80", nothing, OrderFullyPaid, OrderNotPaid},
		{"refunded without a payment", "100", "succeeded refund 80", nothing, OrderNotPaid, OrderNotPaid},
		{"a refund that failed", "100", "succeeded capture 100, failed refund 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"a refund under way", "100", "succeeded capture 100, processing refund 100", nothing, OrderNotPaid, OrderFullyPaid},
		{"refunded by the gateway", "100", "succeeded capture 100", "100", OrderFullyPaid, OrderNotPaid},
		{"refunded in part by the gateway", "100", "succeeded capture 100", "0.01", OrderFullyPaid, OrderPartiallyPaid},
		{"refunded in both ways", "100", "succeeded capture 100, succeeded refund 40", "60", OrderFullyPaid, OrderNotPaid},
		{"letter case", "100", "Succeeded Capture 100, SUCCEEDED REFUND 100", nothing, OrderFullyPaid, OrderNotPaid},
		{"free, as it was", "0", "", nothing, OrderNotPaid, OrderNotPaid},
		{"free, as somebody set it", "0", "succeeded capture 100", nothing, "own word", "own word"},
	}
	for _, test := range tests {
		var l Ledger
		for payment := range strings.SplitSeq(test.payments, ", ") {
			if words := strings.Fields(payment); len(words) == 3 {
				l = append(l, LedgerEntry{ID: int64(len(l)), Status: words[0], Kind: strings.Trim(words[1], "-"), Amount: decimal.RequireFromString(words[2])})
			}
		}
		if len(l) > 0 {
			l[0].Refunds = decimal.RequireFromString(test.refunds)
		}
		expect.Equal(t, test.want, l.Totals(decimal.RequireFromString(test.total)).PaymentStatus(test.present), test.name)
	}
}

func TestCapturedPaymentsTookMoney(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, status string
		want         bool
	}{
		"captured":      {"capture", "succeeded", true},
		"letter case":   {"Capture", "Succeeded", true},
		"under way":     {"capture", "processing", false},
		"refund":        {"refund", "succeeded", false},
		"authorisation": {"authorization", "succeeded", false},
		"no kind":       {"", "succeeded", false},
	} {
		expect.Equal(t, c.want, (LedgerEntry{Kind: c.kind, Status: c.status}).Captured(), name)
	}
}

// TestNetIgnoresCase: the columns compare case-insensitively, so lists of
// customers count such payments.
func TestNetIgnoresCase(t *testing.T) {
	t.Parallel()
	payment := func(status, kind, amount string) Payment {
		return Payment{Status: status, Kind: kind, Amount: decimal.RequireFromString(amount)}
	}
	got := LedgerOf([]Payment{
		payment("succeeded", "capture", "100"), payment("Succeeded", "Capture", "50"), payment("SUCCEEDED", "Refund", "30"),
		payment("succeeded", "Authorization", "1000"), payment("succeeded", "VOID", "1000"), payment("failed", "capture", "1000"),
	}).Net()
	if want := decimal.RequireFromString("120"); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
