package bookings

import (
	"context"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// givenReason is why a booking is cancelled or changed.
type givenReason struct {
	key  string // in the booking's meta
	text string
}

// planReason finds the reason for a change: that of a cancellation if the booking is cancelled by it, that of a
// rescheduling for any other change (OsFeatureBookingReasonsHelper::capture_reason_on_booking_updated, Pro Features 1.6).
// The other one, which the add-on drops, is rejected. A site that does not ask for a reason ignores it.
func planReason(tx *session.Tx, plan *updatePlan, p *domain.Validation) {
	before := plan.before.Booking
	cancelled := before.Status == records.StatusCancelled
	cancels := !cancelled && plan.status == records.StatusCancelled
	for _, key := range records.ReasonKeys {
		stored, asked := before.Reasons[key]
		field := key
		sent, given := plan.Reasons[field]
		if !given && (plan.status == records.StatusCancelled) == (key == records.CancellationReason) {
			field = records.MoveReason
			sent, given = plan.Reasons[field]
		}
		if !given {
			continue
		}
		if sent == nil {
			p.Invalid(field, "Must be a text")
			continue
		}
		if !asked {
			if field == records.MoveReason && strings.TrimSpace(*sent) != "" {
				tx.Warn("This site does not keep reasons: the reason is not stored")
			}
			continue
		}
		switch text := strings.TrimSpace(text.TextareaField(*sent)); {
		case text == "", text == "0": // which is empty to PHP
		case text == stored: // it was sent back
		case cancels == (key == records.CancellationReason):
			plan.reason = &givenReason{key, text}
			tx.CheckText(p, field, wpdb.BookingMeta, "meta_value", text)
			tx.CheckText(p, field, wpdb.Activities, "description", notify.ReasonText(key, text))
		case cancels:
			p.Reject(field, "The booking is cancelled: send "+records.CancellationReason)
		case !cancelled:
			p.Reject(field, "Only a change to the status cancelled has one")
		default:
			p.Reject(field, "The booking is already cancelled")
		}
	}
}

// showReason shows the reason for a change that is only tried.
func (plan *updatePlan) showReason(b *records.Booking) {
	if plan.reason != nil && b.Reasons != nil {
		b.Reasons[plan.reason.key] = plan.reason.text
	}
}

// saveReason stores why a booking was changed, and logs it, before the change itself is logged
// (OsFeatureBookingReasonsHelper::maybe_store_reason, Pro Features 1.6).
func saveReason(ctx context.Context, tx *session.Tx, plan updatePlan) error {
	if plan.reason == nil {
		return nil
	}
	id := plan.before.Booking.ID
	if err := session.SaveMeta(ctx, tx, wpdb.BookingMeta, id, map[string]string{plan.reason.key: plan.reason.text}); err != nil {
		return err
	}
	return notify.LogReason(ctx, tx, id, plan.customer.ID, plan.reason.key, plan.reason.text)
}
