package payments

import (
	"context"
	"fmt"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
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

// ListInvoices returns one page of an order's invoices, oldest first.
func ListInvoices(ctx context.Context, s *session.Session, orderID int64, p session.Paging) (records.Page[Invoice], error) {
	if err := records.RequireOrder(ctx, s, orderID); err != nil {
		return records.Page[Invoice]{}, err
	}
	columns, scan, err := invoiceColumns(ctx, s)
	if err != nil {
		return records.Page[Invoice]{}, err
	}
	l := records.List{Op: "list invoices", Filter: sq.Select().From(s.DB.As(wpdb.OrderInvoices, "v")).Where(sq.Eq{"v.order_id": orderID})}
	return records.ReadSmallPage(ctx, s, l, p, l.Filter.Columns(columns...), records.SortOrder{Columns: []string{"v.id"}}, scan)
}

// LoadInvoice returns one invoice of an order, or a CodeNotFound.
func LoadInvoice(ctx context.Context, s *session.Session, orderID, id int64) (Invoice, error) {
	if err := records.RequireOrder(ctx, s, orderID); err != nil {
		return Invoice{}, err
	}
	return invoiceOf(ctx, s, orderID, id)
}

// invoiceOf is LoadInvoice for an order that is known to exist.
func invoiceOf(ctx context.Context, s *session.Session, orderID, id int64) (Invoice, error) {
	found, err := LoadInvoices(ctx, s, sq.Eq{"v.id": id, "v.order_id": orderID})
	return records.Only(found, err, domain.InvoiceResource, id)
}

// LoadInvoices returns the invoices for which a condition on "v" holds, by id.
func LoadInvoices(ctx context.Context, s *session.Session, which sq.Eq) ([]Invoice, error) {
	columns, scan, err := invoiceColumns(ctx, s)
	if err != nil {
		return nil, err
	}
	stmt := sq.Select(columns...).From(s.DB.As(wpdb.OrderInvoices, "v")).Where(which).OrderBy("v.id")
	return wpdb.All(ctx, s.DB, "read invoices", stmt, scan)
}

// invoiceColumns returns the columns of invoices, v, and how to scan them. An invoice without a number gets
// one from the setting of the prefix.
func invoiceColumns(ctx context.Context, s *session.Session) (columns []string, scan func(wpdb.Scanner) (Invoice, error), err error) {
	settings, err := s.DB.SettingValues(ctx, "invoices_number_prefix")
	if err != nil {
		return nil, nil, err
	}
	prefix, ok := settings["invoices_number_prefix"]
	if !ok {
		prefix = "INV-"
	}
	columns = s.Schema.Columns(wpdb.OrderInvoices, "v", "id", "order_id", "invoice_number", "status", "charge_amount", "payment_portion",
		"due_at", "created_at", "updated_at")
	data := "data"
	if _, ok := s.Schema.Column(wpdb.OrderInvoices, data); !ok {
		data = "invoice_data" // until LatePoint 5.1
	}
	columns = append(columns, s.Schema.Expr(wpdb.OrderInvoices, "v", data))
	return columns, func(row wpdb.Scanner) (v Invoice, err error) {
		err = row.Scan(&v.ID, &v.OrderID, wpdb.OrZero(&v.Number), &v.Status, wpdb.OrZero(&v.ChargeAmount), &v.PaymentPortion,
			wpdb.OrZero((*string)(&v.DueAt)), wpdb.OrZero((*string)(&v.CreatedAt)), wpdb.OrZero((*string)(&v.UpdatedAt)), &v.Data)
		if v.Number == "" {
			v.Number = invoiceNumber(prefix, v.ID)
		}
		return v, err
	}, nil
}

// invoiceNumber mirrors OsInvoiceModel::get_invoice_number, LatePoint 5.6.5. With the default prefix the
// number is too long for its column, so the plugin computes it each time.
func invoiceNumber(prefix string, id int64) string {
	return fmt.Sprintf("%s1%06d", prefix, id)
}

// The statuses of invoices before and after payment.
const (
	InvoiceOpen = "open"
	InvoicePaid = "paid"
)
