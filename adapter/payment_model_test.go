package adapter

import (
	"fmt"
	"testing"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestRandomPaymentsAgree creates, changes, refunds and deletes payments of an order at random, marks
// invoices as paid, and lets wp-admin and gateways change rows in between. After each step no more was
// given back than was taken, and the order's status, the customer's sum and the invoices agree with the
// rows.
func TestRandomPaymentsAgree(t *testing.T) {
	t.Parallel()
	for name, change := range map[string][]string{"with refunds of their own": nil, "without": {"DROP TABLE wp_latepoint_transaction_refunds"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			for _, statement := range change {
				database.Execute(t, statement)
			}
			site, err := session.NewPlatform(wpdbtest.Open(t, database, 2), fixtures.RecordedNow).Session(t.Context())
			expect.NoError(t, err)
			rapid.Check(t, func(rt *rapid.T) {
				m := newPaymentModel(rt, site, database)
				rt.Repeat(map[string]func(*rapid.T){"create": m.create, "update": m.update, "refund": m.refund, "delete": m.delete, "mark": m.mark, "others": m.others, "": m.check})
			})
		})
	}
}

type paymentModel struct {
	site            *session.Session
	database        *fixtures.Database
	customer, order int64
	invoices        []int64
	amounts         map[int64]decimal.Decimal // of the invoices
	notes           int                       // makes each note new
}

// newPaymentModel makes an order of 100 with invoices over 100 and 40.
func newPaymentModel(t *rapid.T, site *session.Session, database *fixtures.Database) *paymentModel {
	customer, err := txCreate(t.Context(), site, customers.Create, customers.Patch{CustomerFields: records.CustomerFields{FirstName: new("A"), LastName: new("B")}})
	expect.NoError(t, err)
	order, err := txCreate(t.Context(), site, orders.Create, orders.New{Patch: orders.Patch{CustomerID: &customer.ID, Subtotal: euros("100"), Total: euros("100")}})
	expect.NoError(t, err)
	_, err = database.SQL.ExecContext(t.Context(), "INSERT INTO wp_latepoint_order_invoices (order_id, status, charge_amount) VALUES (?, 'open', 40)", order.ID)
	expect.NoError(t, err)
	m := &paymentModel{site: site, database: database, customer: customer.ID, order: order.ID, amounts: map[int64]decimal.Decimal{}}
	invoices, err := payments.LoadPayableInvoices(t.Context(), site, order.ID)
	if err != nil || len(invoices) != 2 {
		t.Fatal(invoices, err)
	}
	for _, invoice := range invoices {
		m.invoices, m.amounts[invoice.ID] = append(m.invoices, invoice.ID), invoice.Amount
	}
	return m
}

// amount draws one of a few amounts, so that they often match.
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
	return m.word(t, "status", records.PaymentSucceeded, records.PaymentProcessing, "failed", records.StatusRefunded)
}

func (m *paymentModel) kind(t *rapid.T) *string {
	return m.word(t, "kind", records.KindCapture, records.KindRefund, records.KindAuthorization, records.KindVoid, "sale", "deposit")
}

// any draws one of the order's payments.
func (m *paymentModel) any(t *rapid.T) int64 {
	t.Helper()
	payments, err := records.LoadLedger(t.Context(), m.site, sq.Eq{"t.order_id": m.order})
	expect.NoError(t, err)
	if len(payments) == 0 {
		t.Skip("no payments yet: another step is drawn instead of this one")
	}
	return rapid.SampledFrom(payments).Draw(t, "payment").ID
}

// wantKnown fails the test unless an error is one that clients may see.
func wantKnown(t *rapid.T, err error) {
	t.Helper()
	switch domain.CodeOf(err) {
	case domain.CodeRefundTooLarge, domain.CodePaymentCompleted, domain.CodePaymentRefused, domain.CodeValidationFailed, domain.CodeNotFound:
	default:
		expect.NoError(t, err)
	}
}

func (m *paymentModel) create(t *rapid.T) {
	_, err := txCreate(t.Context(), m.site, payments.Create,
		payments.New{OrderID: &m.order, Patch: payments.Patch{Amount: m.amount(t), Status: m.status(t), Kind: m.kind(t)}})
	wantKnown(t, err)
}

func (m *paymentModel) update(t *rapid.T) {
	patch := payments.Patch{Status: m.status(t), Kind: m.kind(t)}
	if rapid.Bool().Draw(t, "with an amount") {
		patch.Amount = m.amount(t)
	}
	id := m.any(t)
	_, err := txUpdate(t.Context(), m.site, payments.Update, id, patch)
	wantKnown(t, err)
}

// refund refunds a payment, and then again, which changes nothing.
func (m *paymentModel) refund(t *rapid.T) {
	id, patch := m.any(t), payments.Patch{Status: new(records.StatusRefunded)}
	_, err := txUpdate(t.Context(), m.site, payments.Update, id, patch)
	wantKnown(t, err)
	if err != nil {
		return
	}
	net := m.state(t).net
	for _, status := range []string{records.StatusRefunded, records.PaymentSucceeded} {
		_, err := txUpdate(t.Context(), m.site, payments.Update, id, payments.Patch{Status: &status})
		expect.NoError(t, err)
		if again := m.state(t).net; !again.Equal(net) {
			t.Fatalf("%s again: net %s, before %s", status, again, net)
		}
	}
}

func (m *paymentModel) delete(t *rapid.T) {
	wantKnown(t, txDelete(t.Context(), m.site, payments.Delete, m.any(t)))
}

// mark marks an invoice as paid, as staff do, if the order has money that no other paid invoice needs.
func (m *paymentModel) mark(t *rapid.T) {
	invoice := rapid.SampledFrom(m.invoices).Draw(t, "invoice")
	state := m.state(t)
	if state.invoiced[invoice].IsPositive() {
		t.Skip("the invoice is paid already: another step is drawn instead of this one")
	}
	amount := m.amounts[invoice]
	for _, other := range state.invoiced {
		amount = amount.Add(other)
	}
	if amount.GreaterThan(state.net) {
		t.Skip("nobody marks an invoice that the money does not cover: another step is drawn instead of this one")
	}
	_, err := updateInvoice(t.Context(), m.site, m.order, invoice, payments.InvoicePatch{Status: new(payments.InvoicePaid)})
	expect.NoError(t, err)
}

// others writes what wp-admin, the plugin's abilities and gateways write, none of which update anything
// else, and lets our next change see it.
func (m *paymentModel) others(t *rapid.T) {
	id, state := m.any(t), m.state(t)
	ways := []string{"form", "gateway", "ability"}
	if !m.site.Schema.Has(wpdb.TransactionRefunds) {
		ways = ways[:1] // an earlier version of the plugin
	}
	var statement string
	var args []any
	switch rapid.SampledFrom(ways).Draw(t, "by") {
	case "gateway":
		statement, args = "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) VALUES (?, ?)", []any{id, m.amount(t)}
	case "ability":
		statement, args = "UPDATE wp_latepoint_transactions SET status = 'refunded' WHERE id = ?", []any{id}
	case "form":
		status, kind := m.word(t, "status", records.PaymentSucceeded, records.PaymentProcessing, "failed"), m.kind(t)
		if state.marked || len(state.invoiced) > 0 && domain.ValueOr(kind, "") == records.KindAuthorization {
			t.Skip("what took money away from an invoice that no payment names, or only authorised it, cannot be told from what never was paid: another step is drawn instead of this one")
		}
		statement, args = "UPDATE wp_latepoint_transactions SET status = ?, kind = ?, amount = ? WHERE id = ?", []any{domain.ValueOr(status, "odd"), kind, m.amount(t), id}
	}
	_, err := m.database.SQL.ExecContext(t.Context(), statement, args...)
	expect.NoError(t, err)
	m.notes++
	_, err = txUpdate(t.Context(), m.site, payments.Update, m.any(t), payments.Patch{Notes: new(fmt.Sprint(m.notes))})
	expect.NoError(t, err)
}

// paymentState is what the rows of the order say.
type paymentState struct {
	net        decimal.Decimal
	processing bool
	invoiced   map[int64]decimal.Decimal // paid invoices
	marked     bool                      // no payment that moved money names any of these
}

func (m *paymentModel) state(t *rapid.T) (state paymentState) {
	t.Helper()
	refunds := "0"
	if m.site.Schema.Has(wpdb.TransactionRefunds) {
		refunds = "(SELECT COALESCE(SUM(amount), 0) FROM wp_latepoint_transaction_refunds WHERE transaction_id = t.id)"
	}
	rows, err := m.database.SQL.QueryContext(t.Context(), "SELECT status, COALESCE(kind, ''), amount, "+refunds+" FROM wp_latepoint_transactions t WHERE order_id = ?", m.order)
	expect.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var status, kind string
		var amount, back decimal.Decimal
		expect.NoError(t, rows.Scan(&status, &kind, &amount, &back))
		state.processing = state.processing || status == records.PaymentProcessing
		switch {
		case kind == records.KindAuthorization, kind == records.KindVoid:
		case kind == records.KindRefund && (status == records.PaymentSucceeded || status == records.StatusRefunded), amount.IsNegative() && status == records.PaymentSucceeded:
			state.net = state.net.Sub(amount.Abs())
		case kind != records.KindRefund && status == records.PaymentSucceeded && amount.GreaterThan(back):
			state.net = state.net.Add(amount).Sub(back)
		}
	}
	expect.NoError(t, rows.Err())
	state.net = decimal.Max(state.net, decimal.Zero)
	state.invoiced = map[int64]decimal.Decimal{}
	for _, invoice := range m.invoices {
		var paid, named bool
		row := m.database.SQL.QueryRowContext(t.Context(), `SELECT status = 'paid', EXISTS (SELECT 1 FROM wp_latepoint_transactions WHERE invoice_id = i.id AND COALESCE(kind, '') <> 'authorization')
			FROM wp_latepoint_order_invoices i WHERE id = ?`, invoice)
		expect.NoError(t, row.Scan(&paid, &named))
		if paid {
			state.invoiced[invoice], state.marked = m.amounts[invoice], state.marked || !named
		}
	}
	return state
}

func (m *paymentModel) check(t *rapid.T) {
	state := m.state(t)
	want := records.OrderNotPaid
	switch {
	case state.net.GreaterThanOrEqual(decimal.NewFromInt(100)):
		want = records.OrderFullyPaid
	case state.net.IsPositive():
		want = records.OrderPartiallyPaid
	case state.processing:
		want = records.OrderProcessing
	}
	var status string
	expect.NoError(t, m.database.SQL.QueryRowContext(t.Context(), "SELECT payment_status FROM wp_latepoint_orders WHERE id = ?", m.order).Scan(&status))
	if status != want {
		t.Errorf("the order is %s with a net of %s, want %s", status, state.net, want)
	}
	invoiced := decimal.Zero
	for _, amount := range state.invoiced {
		invoiced = invoiced.Add(amount)
	}
	if invoiced.GreaterThan(state.net) {
		t.Errorf("invoices over %s are paid with a net of %s", invoiced, state.net)
	}
	customer, err := records.LoadCustomer(t.Context(), m.site, m.customer)
	expect.NoError(t, err)
	if spent := customer.Stats.Spent; !spent.Equal(state.net) {
		t.Errorf("the customer spent %s, the rows say %s", spent, state.net)
	}
	// Both ways of computing the displayed status agree: that of a list and that of a single order.
	listed, err := records.LoadOrders(t.Context(), m.site, []int64{m.order})
	if err != nil || len(listed) != 1 {
		t.Fatal(listed, err)
	}
	alone := listed[0]
	_, err = records.AddPayments(t.Context(), m.site, &alone)
	expect.NoError(t, err)
	expect.Equal(t, alone.DisplayPaymentStatus, listed[0].DisplayPaymentStatus, "the order is shown as")
}
