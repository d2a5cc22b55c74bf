package bookings

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Delete deletes a booking with its meta and jobs, as OsBookingModel::delete does (LatePoint 5.6.5). Order,
// invoice and payments stay. Without force, an approved or completed booking returns a CodeForceRequired. A
// dry run deletes nothing.
func Delete(ctx context.Context, tx *session.Tx, id int64, force bool) error {
	stored, err := lockBooking(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return err
	}
	if !force && slices.Contains(records.ForceRequiredStatuses, stored.Booking.Status) {
		return domain.ForceRequired()
	}
	if tx.DryRun {
		return nil
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return err
	}
	// The plugin's logger creates new keys for the deleted booking and leaves them in the table; we log the
	// keys that it had.
	if err := notify.LogEvents(ctx, tx, w, []notify.Event{{Kind: notify.BookingDeleted, After: stored}}); err != nil {
		return err
	}
	return deleteBookingRows(ctx, tx, w, id)
}

// deleteBookingRows deletes a booking and, if Pro Features is active, what that add-on deletes with it.
func deleteBookingRows(ctx context.Context, tx *session.Tx, w session.WriteSettings, id int64) error {
	pro := tx.Extension(extensions.ProFeatures, w.Settings)
	for _, table := range []wpdb.Table{wpdb.BookingsServiceExtras, wpdb.BookingsAssets, wpdb.Messages} {
		if !pro || !tx.Schema.Has(table) {
			continue
		}
		if err := tx.DeleteWhere(ctx, table, sq.Eq{"booking_id": id}); err != nil {
			return err
		}
	}
	if err := notify.DeleteJobs(ctx, tx, sq.Eq{"object_id": id, "object_model_type": "booking"}); err != nil {
		return err
	}
	if err := tx.DeleteWhere(ctx, wpdb.BookingMeta, sq.Eq{"object_id": id}); err != nil {
		return err
	}
	return tx.Delete(ctx, wpdb.Bookings, id)
}

// lockBooking makes other writers of a booking wait and reads its current state, or returns a CodeNotFound.
func lockBooking(ctx context.Context, tx *session.Tx, id int64) (notify.Snapshot, error) {
	if err := tx.Lock(ctx, session.LockOf(session.BookingLock, id)); err != nil {
		return notify.Snapshot{}, err
	}
	if err := tx.LockRows(ctx, wpdb.Bookings, []int64{id}); err != nil {
		return notify.Snapshot{}, err
	}
	return notify.LoadBookingSnapshot(ctx, tx.Session, id)
}
