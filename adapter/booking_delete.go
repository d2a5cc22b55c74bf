package adapter

import (
	"context"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/wpdb"
)

// DeleteBooking deletes a booking with its meta and jobs, as OsBookingModel::delete does
// (LatePoint 5.6.5): order, invoice and payments stay. Without force, an approved or
// completed booking is a CodeForceRequired.
func (tx *Tx) DeleteBooking(ctx context.Context, id int64, force bool) error {
	stored, err := tx.lockBooking(ctx, id)
	if err != nil {
		return err
	}
	if err := tx.checkPrecondition(); err != nil {
		return err
	}
	if !force && slices.Contains(forceRequiredStatuses, stored.booking.Status) {
		return domain.ForceRequired()
	}
	w, err := tx.writeSettings(ctx)
	if err != nil {
		return err
	}
	// The plugin's logger creates new keys for the deleted booking and leaves
	// them in the table: we log the keys that it had.
	if err := tx.logEvents(ctx, w, []event{{kind: bookingDeleted, after: stored}}); err != nil {
		return err
	}
	return tx.deleteBookingRows(ctx, id)
}

func (tx *Tx) deleteBookingRows(ctx context.Context, id int64) error {
	if err := tx.deleteJobs(ctx, sq.Eq{"object_id": id, "object_model_type": "booking"}); err != nil {
		return err
	}
	if err := tx.deleteWhere(ctx, wpdb.BookingMeta, sq.Eq{"object_id": id}); err != nil {
		return err
	}
	return tx.delete(ctx, wpdb.Bookings, id)
}

// lockBooking makes other writers of a booking wait and reads its current state; a
// CodeNotFound if it does not exist.
func (tx *Tx) lockBooking(ctx context.Context, id int64) (snapshot, error) {
	if err := tx.lock(ctx, lockOf(bookingLock, id)); err != nil {
		return snapshot{}, err
	}
	if err := tx.lockRows(ctx, wpdb.Bookings, []int64{id}); err != nil {
		return snapshot{}, err
	}
	return tx.bookingSnapshot(ctx, id)
}
