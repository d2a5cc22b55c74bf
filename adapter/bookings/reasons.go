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

// reasonOf returns the reason for a change that gives a booking a status: that of a cancellation if it cancels the
// booking, that of a rescheduling for any other change (OsFeatureBookingReasonsHelper::capture_reason_on_booking_updated,
// Pro Features 1.6); nil for none. The other one, which the add-on drops, is rejected. A site that does not ask for a
// reason ignores it.
func reasonOf(tx *session.Tx, b records.Booking, status string, reasons map[string]*string, p *domain.Validation) *givenReason {
	var reason *givenReason
	cancelled := b.Status == records.StatusCancelled
	cancels := !cancelled && status == records.StatusCancelled
	for _, key := range records.ReasonKeys {
		stored, enabled := b.Reasons[key]
		field := key
		value, given := reasons[field]
		if !given && (status == records.StatusCancelled) == (key == records.CancellationReason) {
			field = records.MoveReason
			value, given = reasons[field]
		}
		if !given {
			continue
		}
		if value == nil {
			p.Invalid(field, "Must be a text")
			continue
		}
		if !enabled {
			if field == records.MoveReason && strings.TrimSpace(*value) != "" {
				tx.Warn("This site does not keep reasons: the reason is not stored")
			}
			continue
		}
		switch text := strings.TrimSpace(text.TextareaField(*value)); {
		case text == "", text == "0": // which is empty to PHP
		case text == stored: // it was sent back
		case cancels == (key == records.CancellationReason):
			reason = &givenReason{key, text}
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
	return reason
}

// saveReason stores why a booking was changed, and logs it, before the change itself is logged
// (OsFeatureBookingReasonsHelper::maybe_store_reason, Pro Features 1.6).
func saveReason(ctx context.Context, tx *session.Tx, u bookingUpdate) error {
	if u.reason == nil {
		return nil
	}
	id := u.before.Booking.ID
	if err := session.SaveMeta(ctx, tx, wpdb.BookingMeta, id, map[string]string{u.reason.key: u.reason.text}); err != nil {
		return err
	}
	return notify.LogReason(ctx, tx, id, u.who.ID, u.reason.key, u.reason.text)
}
