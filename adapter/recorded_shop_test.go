package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/orders"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestRecordedShopWrites repeats the recorded writes of services, payments, orders and invoices, as
// TestRecordedWrites does for bookings.
func TestRecordedShopWrites(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	differences := map[string]int{}
	r := newReplayer(t, fixtures.SiteA(), differences)
	seen := map[string]bool{}
	for _, w := range fixtures.RecordedWrites(t) {
		if play, ok := shopReplays[w.Name]; ok {
			seen[w.Name] = true
			r.replay(w, play)
		}
	}
	for name := range shopReplays {
		if !seen[name] {
			t.Errorf("%s: not recorded", name)
		}
	}
	for _, d := range differencesOfAll {
		delete(differences, d.name)
	}
	delete(differences, equalAnswer)
	want := map[string]int{
		"a completed payment is not deleted":                      1,
		"a payment settles the invoice of its amount":             1,
		"a payment that fails opens the invoice it had settled":   1,
		"a payment goes to another customer with its order":       1,
		"a refund is stored with a negative amount":               1,
		"a refund opens the invoice that its payment had settled": 1,
		"the activity log has an empty source as an empty text":   3,
		"an empty text does not replace NULL":                     1,
		"an invoice keeps its due date":                           1,
		"an order's payment status follows its payments":          7,
		"a new service has no agents":                             1,
		"the activity log has every change":                       1,
		"the order item's data follows its booking":               1,
		"unsupported fields of a service stay unchanged":          2,
		"unchanged records are not written":                       7,
		"working hours and metadata of a service stay":            1,
	}
	expect.Equal(t, want, differences, "writes by difference")
}

// shopReplays are the recorded writes of services, payments, orders and
// invoices.
var shopReplays = map[string]replay{
	"service_create_form":        {do: saveService, differ: []difference{unsupportedServiceFields}},
	"service_create_form_agents": {do: saveService, differ: []difference{newServiceWithoutAgents}},
	"service_create_no_name":     {do: saveService, code: domain.CodeValidationFailed},
	"service_update_form":        {do: saveService, differ: []difference{unsupportedServiceFields, hoursAndMetaKept}},
	"service_update_model":       {do: saveService, differ: []difference{serviceActivity}},

	"transaction_create":                {do: pay, differ: []difference{orderPaymentStatus(1403, records.OrderPartiallyPaid)}},
	"transaction_create_full_intent":    {do: pay},
	"transaction_create_partial_intent": {do: pay, differ: []difference{orderPaymentStatus(1403, records.OrderPartiallyPaid)}},
	"transaction_create_processing":     {do: pay, differ: []difference{orderPaymentStatus(1403, records.OrderProcessing)}},
	"transaction_create_failed":         {do: pay},
	"transaction_create_refund_kind":    {do: pay, differ: []difference{refundNegative, refundReopensInvoice, orderPaymentStatus(10, records.OrderPartiallyPaid)}},
	"transaction_in_order_form_new":     {do: payInForm, differ: []difference{unchangedOrderRows, orderPaymentStatus(1403, records.OrderPartiallyPaid)}},
	"transaction_update_order_form":     {do: payInForm, differ: []difference{unchangedOrderRows}},
	"transaction_update_failed_in_form": {do: payInForm, differ: []difference{unchangedOrderRows, emptyNoteIsNULL, paymentSettlesInvoice, orderPaymentStatus(249, records.OrderFullyPaid)}},
	"transaction_update_model":          {do: changePayment, differ: []difference{paymentReopensInvoice, orderPaymentStatus(10, records.OrderNotPaid)}},
	"transaction_delete":                {do: deletePayment, code: domain.CodePaymentCompleted, differ: []difference{completedPayment}},

	"order_totals_form":          {do: changeOrder, differ: []difference{unchangedOrderRows}},
	"order_totals_model":         {do: changeOrder, differ: []difference{emptySource}},
	"order_status_completed":     {do: changeOrder, differ: []difference{unchangedOrderRows}},
	"order_status_cancelled":     {do: changeOrder, differ: []difference{unchangedOrderRows}},
	"order_payment_status":       {do: changeOrder, differ: []difference{emptySource}},
	"order_status_model":         {do: changeOrder, differ: []difference{emptySource}},
	"change_customer_order_form": {do: changeOrder, differ: []difference{unchangedTransferRows, itemDataFollows, paymentFollows}},

	"invoice_status_paid":           {do: changeInvoice},
	"invoice_status_void":           {do: changeInvoice},
	"invoice_status_uncollectible":  {do: changeInvoice},
	"invoice_status_draft":          {do: changeInvoice},
	"invoice_status_partially_paid": {do: changeInvoice},
	"invoice_status_paid_to_open":   {do: changeInvoice},
	"invoice_status_same":           {do: changeInvoice},
	"invoice_data":                  {do: changeInvoice, differ: []difference{invoiceDate}},
}

// The differences of individual writes.
var (
	unsupportedServiceFields = difference{"unsupported fields of a service stay unchanged", func(e *expectation) {
		for _, row := range e.rows("latepoint_services") {
			delete(row.Changed, "buffer_after")
			if row.Op == fixtures.Insert {
				row.Values["buffer_before"], row.Values["timeblock_interval"] = "0", nil
			}
		}
	}}
	// The plugin adds up all transactions of an order, and none of them is a refund.
	refundNegative = difference{"a refund is stored with a negative amount", func(e *expectation) {
		for _, row := range e.rows("latepoint_transactions") {
			row.Values["amount"] = "-" + row.Values["amount"].(string)
		}
	}}
	newServiceWithoutAgents = difference{"a new service has no agents", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool { return row.Table == "latepoint_agents_services" })
	}}
	hoursAndMetaKept = difference{"working hours and metadata of a service stay", func(e *expectation) {
		e.drop(func(row fixtures.Change) bool {
			return row.Table == "latepoint_work_periods" || row.Table == "latepoint_service_meta"
		})
	}}
	serviceActivity = difference{"the activity log has every change", func(e *expectation) {
		e.expectActivity("service_updated", "service_id", "4", nil)
	}}
	emptyNoteIsNULL = difference{"an empty text does not replace NULL", func(e *expectation) {
		delete(e.rows("latepoint_transactions")[0].Changed, "notes")
	}}
	// The recorded payment is exactly the amount of invoice 224.
	paymentSettlesInvoice = difference{"a payment settles the invoice of its amount", func(e *expectation) {
		e.rows("latepoint_transactions")[0].Changed["invoice_id"] = [2]any{nil, "224"}
		e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_order_invoices", Op: fixtures.Update, Key: "224", Changed: map[string][2]any{
			"status": {payments.InvoiceOpen, payments.InvoicePaid}, "updated_at": {e.before.Row("latepoint_order_invoices", "224")["updated_at"], "<now_utc>"},
		}})
	}}
	paymentReopensInvoice = difference{"a payment that fails opens the invoice it had settled", (*expectation).reopenInvoice}
	refundReopensInvoice  = difference{"a refund opens the invoice that its payment had settled", (*expectation).reopenInvoice}
	completedPayment      = writesNothing("a completed payment is not deleted")
	emptySource           = replaceTexts("the activity log has an empty source as an empty text", `"source_url":false`, `"source_url":""`)
	unchangedOrderRows    = difference{unchangedRows.name, (*expectation).dropUnchangedOrderRows}
	unchangedTransferRows = difference{unchangedRows.name, func(e *expectation) {
		e.dropUnchangedRows()
		e.orderAsLoaded()
	}}
	invoiceDate = difference{"an invoice keeps its due date", func(e *expectation) {
		delete(e.rows("latepoint_order_invoices")[0].Changed, "due_at")
	}}
)

// reopenInvoice expects the invoice that payment 7 had settled to be open again.
func (e *expectation) reopenInvoice() {
	e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_order_invoices", Op: fixtures.Update, Key: "10", Changed: map[string][2]any{
		"status": {payments.InvoicePaid, payments.InvoiceOpen}, "updated_at": {e.before.Row("latepoint_order_invoices", "10")["updated_at"], "<now_utc>"},
	}})
}

// orderPaymentStatus expects a payment to change the payment status of its order.
func orderPaymentStatus(order int64, status string) difference {
	return difference{"an order's payment status follows its payments", func(e *expectation) {
		key := strconv.FormatInt(order, 10)
		stored := e.before.Row("latepoint_orders", key)
		e.Rows = append(e.Rows, fixtures.Change{Table: "latepoint_orders", Op: fixtures.Update, Key: key, Changed: map[string][2]any{
			"payment_status": {stored["payment_status"], status}, "updated_at": {stored["updated_at"], "<now_utc>"},
		}})
		e.expectActivity("order_updated", "order_id", key, "<text:history>")
	}}
}

// expectActivity expects one more activity.
func (e *expectation) expectActivity(code, about, id string, description any) {
	entry := activityEntry(code, about, id, description)
	entry.Values["id"] = "<id:activity:100>"
	e.Rows = append(e.Rows, entry)
}

// dropUnchangedOrderRows removes what the order form writes in addition to the order and its payments:
// every row that it shows.
func (e *expectation) dropUnchangedOrderRows() {
	orderChanges := slices.ContainsFunc(e.rows("latepoint_orders"), func(row fixtures.Change) bool { return len(row.Changed) > 1 })
	e.drop(func(row fixtures.Change) bool {
		switch row.Table {
		case "latepoint_orders":
			return !orderChanges
		case "latepoint_activities":
			return row.Values["code"] != "order_updated" || !orderChanges
		default:
			return row.Table != "latepoint_transactions"
		}
	})
	e.orderAsLoaded()
}

// orderAsLoaded expects an order in the activity log as the database returns it to PHP.
func (e *expectation) orderAsLoaded() {
	for _, row := range e.rows("latepoint_activities") {
		if id, ok := row.Values["order_id"].(string); ok {
			e.replace(`{"order_data_vars":{"new":{"id":`+id+`,`, `{"order_data_vars":{"new":{"id":"`+id+`",`)
		}
	}
	e.replace(`"source_url":false`, `"source_url":""`)
}

// shopFields are fields as the recorder names them, with numbers as texts or not.
type shopFields map[string]any

func (f shopFields) text(name string) *string {
	if f[name] == nil {
		return nil
	}
	text := fmt.Sprint(f[name])
	return &text
}

func (f shopFields) number(name string) *int64 {
	text := f.text(name)
	if text == nil {
		return nil
	}
	n, err := strconv.ParseInt(*text, 10, 64)
	if err != nil {
		panic(err)
	}
	return &n
}

func (f shopFields) amount(name string) *decimal.Decimal {
	text := f.text(name)
	if text == nil {
		return nil
	}
	return new(decimal.RequireFromString(*text))
}

// or returns the fields of a nested object, the first that exists.
func (f shopFields) or(names ...string) shopFields {
	for _, name := range names {
		if fields, ok := f[name].(map[string]any); ok {
			return fields
		}
	}
	return f
}

func readFields(command json.RawMessage) (fields shopFields, err error) {
	decoder := json.NewDecoder(strings.NewReader(string(command)))
	decoder.UseNumber()
	err = decoder.Decode(&fields)
	return fields, err
}

// saveService replays a service created or changed in its form or by its model.
func saveService(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	f := c.or("service", "set")
	patch := catalog.ServicePatch{
		Name: f.text("name"), ShortDescription: f.text("short_description"), Duration: f.number("duration"),
		PriceMin: f.amount("price_min"), PriceMax: f.amount("price_max"), ChargeAmount: f.amount("charge_amount"), DepositAmount: f.amount("deposit_amount"),
		CapacityMin: f.number("capacity_min"), CapacityMax: f.number("capacity_max"), Status: f.text("status"), Visibility: f.text("visibility"),
		CategoryID: f.number("category_id"),
	}
	for _, id := range []*int64{c.number("id"), f.number("id")} {
		if id != nil {
			_, err = txUpdate(ctx, s, catalog.UpdateService, *id, patch)
			return err
		}
	}
	_, err = txCreate(ctx, s, catalog.CreateService, catalog.NewService{ServicePatch: patch})
	return err
}

func (f shopFields) payment() payments.Patch {
	return payments.Patch{
		Amount: f.amount("amount"), Processor: f.text("processor"), PaymentMethod: f.text("payment_method"), PaymentPortion: f.text("payment_portion"),
		Kind: f.text("kind"), Status: f.text("status"), Token: f.text("token"), Notes: f.text("notes"), ReceiptNumber: f.text("receipt_number"),
	}
}

// pay replays a payment. The plugin gives it the customer of the order, and the processor and method "other" if
// the command has none.
func pay(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	return payOrder(ctx, s, *c.number("order_id"), c)
}

func payOrder(ctx context.Context, s *session.Session, orderID int64, f shopFields) error {
	order, err := records.LoadOrder(ctx, s, orderID)
	if err != nil {
		return err
	}
	n := payments.New{OrderID: &orderID, CustomerID: order.CustomerID, Patch: f.payment()}
	if n.Processor == nil {
		n.Processor = new("other")
	}
	_, err = txCreate(ctx, s, payments.Create, n)
	return err
}

// payInForm replays payments created and changed in the order form, which marks all of them as succeeded.
func payInForm(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	for _, posted := range c.or("transactions") {
		f := shopFields(posted.(map[string]any))
		f["status"] = records.PaymentSucceeded
		id, parseErr := strconv.ParseInt(*f.text("id"), 10, 64)
		if parseErr != nil { // a new one
			err = payOrder(ctx, s, *c.number("order_id"), f)
		} else {
			_, err = txUpdate(ctx, s, payments.Update, id, f.payment())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// changePayment replays a change of a payment's model.
func changePayment(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	_, err = txUpdate(ctx, s, payments.Update, *c.number("id"), c.or("set").payment())
	return err
}

func deletePayment(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	return txDelete(ctx, s, payments.Delete, *c.number("id"))
}

// changeOrder replays a change of an order in its form or by its model.
func changeOrder(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	id := c.number("order_id")
	if id == nil {
		id = c.number("id")
	}
	f := c.or("order", "set")
	_, err = txUpdate(ctx, s, orders.Update, *id, orders.Patch{
		CustomerID: f.number("customer_id"), Subtotal: f.amount("subtotal"), Total: f.amount("total"), TaxTotal: f.amount("tax_total"),
		CouponDiscount: f.amount("coupon_discount"), CouponCode: f.text("coupon_code"), Status: f.text("status"),
		PaymentStatus: f.text("payment_status"), FulfillmentStatus: f.text("fulfillment_status"),
		Force: true, // the plugin's order form ignores coupons
	})
	return err
}

// changeInvoice replays a change of an invoice. The plugin does not check whether it is paid.
func changeInvoice(ctx context.Context, s *session.Session, command json.RawMessage) error {
	c, err := readFields(command)
	if err != nil {
		return err
	}
	id := *c.number("id")
	f := c.or("invoice")
	orders := map[int64]int64{1270: 1403, 10: 10}
	_, err = updateInvoice(ctx, s, orders[id], id, payments.InvoicePatch{Status: f.text("status"), ChargeAmount: f.amount("charge_amount"), Force: true})
	return err
}
