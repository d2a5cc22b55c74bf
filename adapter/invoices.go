package adapter

import (
	"context"
	"fmt"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// Invoice is an invoice of an order, without the key of its public link.
type Invoice struct {
	ID, OrderID          int64
	Number               string
	Status               string
	ChargeAmount         decimal.Decimal
	PaymentPortion       *string
	DueAt                domain.Timestamp
	Data                 *string // the content of the invoice: JSON as stored
	CreatedAt, UpdatedAt domain.Timestamp
}

// OrderInvoices returns one page of an order's invoices, oldest first.
func (s *Site) OrderInvoices(ctx context.Context, orderID int64, p Paging) (Page[Invoice], error) {
	if err := s.requireOrder(ctx, orderID); err != nil {
		return Page[Invoice]{}, err
	}
	columns, scan, err := s.invoiceColumns(ctx)
	if err != nil {
		return Page[Invoice]{}, err
	}
	l := list{op: "list invoices", filter: sq.Select().From(s.db.As(wpdb.OrderInvoices, "v")).Where(sq.Eq{"v.order_id": orderID})}
	return smallPage(ctx, s, l, p, onPage(l.filter.Columns(columns...), p, "v.id"), scan)
}

// OrderInvoice returns one invoice of an order; a CodeNotFound if the order has no such
// invoice.
func (s *Site) OrderInvoice(ctx context.Context, orderID, id int64) (Invoice, error) {
	if err := s.requireOrder(ctx, orderID); err != nil {
		return Invoice{}, err
	}
	return s.invoiceOf(ctx, orderID, id)
}

// invoiceOf is OrderInvoice for an order that is known to exist.
func (s *Site) invoiceOf(ctx context.Context, orderID, id int64) (Invoice, error) {
	records, err := s.invoices(ctx, sq.Eq{"v.id": id, "v.order_id": orderID})
	if err != nil {
		return Invoice{}, err
	}
	if len(records) == 0 {
		return Invoice{}, domain.NotFound(domain.InvoiceResource, id)
	}
	return records[0], nil
}

// invoices returns the invoices for which a condition on "v" holds, by id.
func (s *Site) invoices(ctx context.Context, which sq.Eq) ([]Invoice, error) {
	columns, scan, err := s.invoiceColumns(ctx)
	if err != nil {
		return nil, err
	}
	stmt := sq.Select(columns...).Column("NULL").From(s.db.As(wpdb.OrderInvoices, "v")).Where(which).OrderBy("v.id")
	return wpdb.All(ctx, s.db, "read invoices", stmt, func(row wpdb.Scanner) (Invoice, error) { return scan(row, new(any)) })
}

// invoiceColumns returns the columns of invoices, v, and how to scan them. The setting of
// the prefix makes the number of an invoice that has none.
func (s *Site) invoiceColumns(ctx context.Context) (columns []string, scan func(wpdb.Scanner, any) (Invoice, error), err error) {
	settings, err := s.db.SettingValues(ctx, "invoices_number_prefix")
	if err != nil {
		return nil, nil, err
	}
	prefix, ok := settings["invoices_number_prefix"]
	if !ok {
		prefix = "INV-"
	}
	columns = s.schema.Columns(wpdb.OrderInvoices, "v", "id", "order_id", "invoice_number", "status", "charge_amount", "payment_portion",
		"due_at", "created_at", "updated_at")
	data := "data"
	if _, ok := s.schema.Column(wpdb.OrderInvoices, data); !ok {
		data = "invoice_data" // until LatePoint 5.1
	}
	columns = append(columns, s.schema.Expr(wpdb.OrderInvoices, "v", data))
	return columns, func(row wpdb.Scanner, last any) (v Invoice, err error) {
		var amount decimal.NullDecimal
		err = row.Scan(&v.ID, &v.OrderID, wpdb.OrZero(&v.Number), &v.Status, &amount, &v.PaymentPortion,
			wpdb.OrZero((*string)(&v.DueAt)), wpdb.OrZero((*string)(&v.CreatedAt)), wpdb.OrZero((*string)(&v.UpdatedAt)), &v.Data, last)
		v.ChargeAmount = amount.Decimal
		if v.Number == "" {
			v.Number = invoiceNumber(prefix, v.ID)
		}
		return v, err
	}, nil
}

// invoiceNumber mirrors OsInvoiceModel::get_invoice_number, LatePoint 5.6.5. With the
// default prefix the number is too long for its column, so that the plugin computes it
// each time.
func invoiceNumber(prefix string, id int64) string {
	return fmt.Sprintf("%s1%06d", prefix, id)
}

// The statuses of invoices before and after payment.
const (
	invoiceOpen = "open"
	invoicePaid = "paid"
)
