package adapter

import (
	"context"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
)

// TestUpdateInvoice: order 10 paid its invoice 10 of 85 euros, order 1403 has
// not paid its invoice 1270 of 135.
func TestUpdateInvoice(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	update := func(order, id int64, patch payments.InvoicePatch) func(*testing.T, *session.Session) {
		return wantStoredResult(
			func(ctx context.Context, site *session.Session) (payments.Invoice, error) {
				return updateInvoice(ctx, site, order, id, patch)
			},
			func(ctx context.Context, site *session.Session, _ payments.Invoice) (payments.Invoice, error) {
				return payments.LoadInvoice(ctx, site, order, id)
			})
	}
	refuse := func(order, id int64, patch payments.InvoicePatch, field string) func(*testing.T, *session.Session) {
		return func(t *testing.T, site *session.Session) {
			_, err := updateInvoice(t.Context(), site, order, id, patch)
			wantFields(t, err, domain.CodeValidationFailed, map[string]string{field: "The order's payments do not cover this invoice: record them first, or send force=true"})
		}
	}
	status := func(id int64, from, to string) fixtures.Change {
		return updatedRow("latepoint_order_invoices", id, "status", from, to)
	}
	pay := func(amount string) []string {
		return []string{"INSERT INTO wp_latepoint_transactions (order_id, kind, status, amount) VALUES (1403, 'capture', 'succeeded', " + amount + ")"}
	}
	paid, forced := payments.InvoicePatch{Status: new(payments.InvoicePaid)}, payments.InvoicePatch{Status: new(payments.InvoicePaid), Force: true}

	s.try("nothing sent", nil, update(1403, 1270, payments.InvoicePatch{}))
	s.try("nothing new", nil, update(1403, 1270, payments.InvoicePatch{Status: new("open"), ChargeAmount: euros("135")}))
	stored := []string{"UPDATE wp_latepoint_order_invoices SET status = 'paid' WHERE id = 1270"}
	s.try("paid already, though nothing was", stored, update(1403, 1270, paid))
	s.try("paid already, by force", stored, update(1403, 1270, forced))
	s.try("paid already, and not sent", stored, update(1403, 1270, payments.InvoicePatch{ChargeAmount: euros("135")}))
	s.try("another status", nil, update(1403, 1270, payments.InvoicePatch{Status: new("void")}), status(1270, "open", "void"))
	s.try("open again", nil, update(10, 10, payments.InvoicePatch{Status: new("open")}), status(10, "paid", "open"))
	s.try("another amount", nil, update(1403, 1270, payments.InvoicePatch{ChargeAmount: euros("0.5")}),
		updatedRow("latepoint_order_invoices", 1270, "charge_amount", "135.0000", "0.5000"))
	s.try("not covered", nil, refuse(1403, 1270, paid, "status"))
	s.try("not quite covered", pay("134.9999"), refuse(1403, 1270, paid, "status"))
	s.try("covered", pay("135"), update(1403, 1270, paid), status(1270, "open", "paid"))
	s.try("covered, but for a refund", append(pay("135"), "INSERT INTO wp_latepoint_transaction_refunds (transaction_id, amount) SELECT MAX(id), 1 FROM wp_latepoint_transactions"),
		refuse(1403, 1270, paid, "status"))
	s.try("forced", nil, update(1403, 1270, forced), status(1270, "open", "paid"))
	s.try("less, and covered so", pay("100"), update(1403, 1270, payments.InvoicePatch{Status: new("paid"), ChargeAmount: euros("100")}),
		updatedRow("latepoint_order_invoices", 1270, "status", "open", "paid", "charge_amount", "135.0000", "100.0000"))
	s.try("more, and not covered so", nil, refuse(10, 10, payments.InvoicePatch{ChargeAmount: euros("85.0001")}, "charge_amount"))
	s.try("more, and open so", nil, update(10, 10, payments.InvoicePatch{Status: new("partially_paid"), ChargeAmount: euros("100")}),
		updatedRow("latepoint_order_invoices", 10, "status", "paid", "partially_paid", "charge_amount", "85.0000", "100.0000"))
	s.try("not allowed", nil, func(t *testing.T, site *session.Session) {
		_, err := updateInvoice(t.Context(), site, 1403, 1270, payments.InvoicePatch{Status: new("settled"), ChargeAmount: euros("-1"), Force: true})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"status": "Unknown status", "charge_amount": session.NotNegative})
	})
	for name, c := range map[string]struct {
		order, id int64
		want      domain.Resource
	}{
		"unknown order":   {99999, 1270, domain.OrderResource},
		"unknown invoice": {1403, 99999, domain.InvoiceResource},
		"another order's": {10, 1270, domain.InvoiceResource},
	} {
		s.try(name, nil, func(t *testing.T, site *session.Session) {
			_, err := updateInvoice(t.Context(), site, c.order, c.id, forced)
			if domain.CodeOf(err) != domain.CodeNotFound || resourceOf(err) != c.want {
				t.Errorf("error %v about %q, want %q not found", err, resourceOf(err), c.want)
			}
		})
	}
}

// TestInvoicesOfEarlierVersions: an invoice without an amount covers its whole
// order.
func TestInvoicesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.Legacy())
	s.try("an amount", nil, func(t *testing.T, site *session.Session) {
		_, err := updateInvoice(t.Context(), site, 1, 1, payments.InvoicePatch{ChargeAmount: euros("1")})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"charge_amount": "Invoices of this version of LatePoint have no amount"})
	})
	s.try("not covered", nil, func(t *testing.T, site *session.Session) {
		if _, err := updateInvoice(t.Context(), site, 1, 1, payments.InvoicePatch{Status: new("paid")}); domain.CodeOf(err) != domain.CodeValidationFailed {
			t.Errorf("error %v, want a refusal", err)
		}
	})
	s.try("covered", []string{"UPDATE wp_latepoint_order_invoices SET status = 'not_paid' WHERE id = 2"}, func(t *testing.T, site *session.Session) {
		if _, err := updateInvoice(t.Context(), site, 3, 2, payments.InvoicePatch{Status: new("paid")}); err != nil {
			t.Error(err)
		}
	}, updatedRow("latepoint_order_invoices", 2, "status", "not_paid", "paid"))
}

// updateInvoice changes an invoice in a transaction of its own.
func updateInvoice(ctx context.Context, s *session.Session, order, id int64, patch payments.InvoicePatch) (invoice payments.Invoice, err error) {
	err = s.Transact(ctx, "update invoice", func(tx *session.Tx) (err error) {
		invoice, err = payments.UpdateInvoice(ctx, tx, order, id, patch)
		return err
	})
	return invoice, err
}
