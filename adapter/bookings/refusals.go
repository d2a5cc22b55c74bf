package bookings

import (
	"context"
	"encoding/json"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// What extensions make of a booking on the site's form and the API does not is refused, with a sentence that names the
// extension.

// metaLinkedServices is the key of service meta with the services that are booked together with a service: a JSON list of ids.
const metaLinkedServices = "linked_services"

// refuseLinked rejects a service with which others are booked.
func refuseLinked(ctx context.Context, s *session.Session, service slots.Service, p *domain.Validation) error {
	if p.Has("service_id") || !service.With(s, extensions.LinkedServices) {
		return nil
	}
	stmt := sq.Select("meta_value").From(s.DB.Name(wpdb.ServiceMeta)).Where(sq.Eq{"object_id": service.ID, "meta_key": metaLinkedServices}).OrderBy("id").Limit(1)
	stored, _, err := wpdb.One(ctx, s.DB, "read linked services", stmt, wpdb.Into(func(text *string) []any {
		return []any{wpdb.OrZero(text)}
	}))
	if err != nil {
		return err
	}
	var linked []json.RawMessage
	if json.Unmarshal([]byte(stored), &linked) == nil && len(linked) > 0 {
		p.Reject("service_id", "Linked Services books other services together with this one, which the API does not: it is booked on the site's pages")
	}
	return nil
}

// refuseUnpaid rejects a booking that has to be paid at once: the site has an add-on for payments, and does not let customers
// pay later (OsPaymentsHelper::get_enabled_payment_times, LatePoint 5.6.5). One that costs nothing need not be paid
// (OsStepsHelper::should_step_be_skipped); for one whose price was sent, the client sees to it. A dry run, which says what the
// price is, has a warning.
func refuseUnpaid(tx *session.Tx, w session.WriteSettings, b New, cost charge, p *domain.Validation) {
	if w.PayAtOnce == "" || b.Price != nil || !cost.Total.IsPositive() {
		return
	}
	sentence := "On this site, bookings are paid at once (" + w.PayAtOnce + "): send the price, and the payment to POST /payments, or have the customer book on the site's pages"
	if tx.DryRun {
		tx.Warn(sentence)
		return
	}
	p.Reject("price", sentence)
}
