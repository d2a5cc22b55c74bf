package adapter

import (
	"testing"

	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"bookside/adapter/domain"
	"bookside/fixtures"
	"bookside/fixtures/wpdbtest"
)

// TestRandomPaymentsAgree makes, changes, refunds and deletes payments of an order at
// random. At each step nothing was given back that was not taken, and the order's status, the
// customer's sum and the invoices say what the rows say.
func TestRandomPaymentsAgree(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{"with refunds of their own": nil, "without": {"DROP TABLE wp_latepoint_transaction_refunds"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			for _, statement := range change {
				if _, err := database.SQL.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			site, err := NewPlatform(wpdbtest.Open(t, database, 2), recordedNow).Site(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(rt *rapid.T) {
				m := newPaymentModel(rt, site, database)
				rt.Repeat(map[string]func(*rapid.T){"create": m.create, "update": m.update, "refund": m.refund, "delete": m.delete, "": m.check})
			})
		})
	}
}

type paymentModel struct {
	site            *Site
	database        *fixtures.Database
	customer, order int64
	payments        []int64
}

// newPaymentModel makes an order of 100 with invoices over 100 and 40.
func newPaymentModel(t *rapid.T, site *Site, database *fixtures.Database) *paymentModel {
	customer, err := txCreate(t.Context(), site, (*Tx).CreateCustomer, CustomerPatch{CustomerFields: CustomerFields{FirstName: new("A"), LastName: new("B")}})
	if err != nil {
		t.Fatal(err)
	}
	order, err := txCreate(t.Context(), site, (*Tx).CreateOrder, NewOrder{OrderPatch: OrderPatch{CustomerID: &customer.ID, Subtotal: euros("100"), Total: euros("100")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_order_invoices (order_id, status, charge_amount) VALUES (?, 'open', 40)", order.ID); err != nil {
		t.Fatal(err)
	}
	return &paymentModel{site: site, database: database, customer: customer.ID, order: order.ID}
}

// amount draws one of few amounts, so that they often fit.
func (m *paymentModel) amount(t *rapid.T) *decimal.Decimal {
	return euros(rapid.SampledFrom([]string{"0.0001", "40", "60", "100", "150"}).Draw(t, "amount"))
}

// word draws a word, or none.
func (m *paymentModel) word(t *rapid.T, name string, words ...string) *string {
	word := rapid.SampledFrom(append(words, "")).Draw(t, name)
	if word == "" {
		return nil
	}
	return &word
}

func (m *paymentModel) status(t *rapid.T) *string {
	return m.word(t, "status", paymentSucceeded, paymentProcessing, "failed", statusRefunded)
}

func (m *paymentModel) kind(t *rapid.T) *string {
	return m.word(t, "kind", kindCapture, kindRefund, kindAuthorization, "sale")
}

func (m *paymentModel) any(t *rapid.T) int64 {
	if len(m.payments) == 0 {
		t.Skip("no payments yet: another step is drawn instead of this one")
	}
	return rapid.SampledFrom(m.payments).Draw(t, "payment")
}

// wantKnown fails the test unless an error is one that a client is told.
func wantKnown(t *rapid.T, err error) {
	t.Helper()
	switch domain.CodeOf(err) {
	case domain.CodeRefundTooLarge, domain.CodePaymentCompleted, domain.CodeValidationFailed, domain.CodeNotFound:
	default:
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (m *paymentModel) create(t *rapid.T) {
	created, err := txCreate(t.Context(), m.site, (*Tx).CreatePayment,
		NewPayment{OrderID: &m.order, PaymentPatch: PaymentPatch{Amount: m.amount(t), Status: m.status(t), Kind: m.kind(t)}})
	wantKnown(t, err)
	if err == nil {
		m.payments = append(m.payments, created.ID)
	}
}

func (m *paymentModel) update(t *rapid.T) {
	patch := PaymentPatch{Status: m.status(t), Kind: m.kind(t)}
	if rapid.Bool().Draw(t, "with an amount") {
		patch.Amount = m.amount(t)
	}
	id := m.any(t)
	_, err := txUpdate(t.Context(), m.site, (*Tx).UpdatePayment, id, patch)
	wantKnown(t, err)
}

// refund refunds a payment, which a second time changes nothing.
func (m *paymentModel) refund(t *rapid.T) {
	id, patch := m.any(t), PaymentPatch{Status: new(statusRefunded)}
	_, err := txUpdate(t.Context(), m.site, (*Tx).UpdatePayment, id, patch)
	wantKnown(t, err)
	if err != nil {
		return
	}
	net := m.net(t)
	for _, status := range []string{statusRefunded, paymentSucceeded} {
		if _, err := txUpdate(t.Context(), m.site, (*Tx).UpdatePayment, id, PaymentPatch{Status: &status}); err != nil {
			t.Fatal(err)
		}
		if again := m.net(t); !again.Equal(net) {
			t.Fatalf("%s again: net %s, before %s", status, again, net)
		}
	}
}

func (m *paymentModel) delete(t *rapid.T) {
	wantKnown(t, txDelete(t.Context(), m.site, (*Tx).DeletePayment, m.any(t)))
}

// net returns what the rows say.
func (m *paymentModel) net(t *rapid.T) (net decimal.Decimal) {
	t.Helper()
	query := `SELECT COALESCE(SUM(CASE WHEN status <> 'succeeded' OR kind = 'authorization' THEN 0 WHEN kind = 'refund' THEN -ABS(amount) ELSE amount END), 0)
		FROM wp_latepoint_transactions WHERE order_id = ?`
	if err := m.database.SQL.QueryRowContext(t.Context(), query, m.order).Scan(&net); err != nil {
		t.Fatal(err)
	}
	if !m.site.schema.Has("latepoint_transaction_refunds") {
		return net
	}
	var rows decimal.Decimal
	query = `SELECT COALESCE(SUM(r.amount), 0) FROM wp_latepoint_transaction_refunds r JOIN wp_latepoint_transactions t ON t.id = r.transaction_id WHERE t.order_id = ?`
	if err := m.database.SQL.QueryRowContext(t.Context(), query, m.order).Scan(&rows); err != nil {
		t.Fatal(err)
	}
	return net.Sub(rows)
}

func (m *paymentModel) check(t *rapid.T) {
	net := m.net(t)
	if net.IsNegative() {
		t.Fatalf("net %s", net)
	}
	var status string
	var processing bool
	var invoiced decimal.Decimal
	row := m.database.SQL.QueryRowContext(t.Context(), `SELECT payment_status,
		EXISTS (SELECT 1 FROM wp_latepoint_transactions WHERE order_id = o.id AND status = 'processing'),
		(SELECT COALESCE(SUM(charge_amount), 0) FROM wp_latepoint_order_invoices WHERE order_id = o.id AND status = 'paid')
		FROM wp_latepoint_orders o WHERE id = ?`, m.order)
	if err := row.Scan(&status, &processing, &invoiced); err != nil {
		t.Fatal(err)
	}
	want := orderNotPaid
	switch {
	case net.GreaterThanOrEqual(decimal.NewFromInt(100)):
		want = orderFullyPaid
	case net.IsPositive():
		want = orderPartiallyPaid
	case processing:
		want = orderProcessing
	}
	if status != want {
		t.Errorf("the order is %s with a net of %s, want %s", status, net, want)
	}
	if invoiced.GreaterThan(net) {
		t.Errorf("invoices over %s are paid with a net of %s", invoiced, net)
	}
	stats, err := m.site.customerStats(t.Context(), []int64{m.customer}, new(total))
	if err != nil {
		t.Fatal(err)
	}
	if spent := stats[m.customer].Spent; !spent.Equal(net) {
		t.Errorf("the customer spent %s, the rows say %s", spent, net)
	}
}
