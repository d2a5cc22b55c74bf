package adapter

import (
	"errors"
	"testing"

	"bookside/fixtures"
)

// TestUncheckedPreconditionsUndoTheTransaction: a write that forgets the caller's
// precondition is an error and writes nothing.
func TestUncheckedPreconditionsUndoTheTransaction(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	s := newShop(t, fixtures.Small(recordedNow()))
	s.try("unchecked", nil, func(t *testing.T, site *Site) {
		err := site.Transact(t.Context(), "create", func(tx *Tx) error {
			tx.Precondition = func(*Site) error { return nil }
			_, err := tx.CreateService(t.Context(), NewService{ServicePatch: ServicePatch{Name: new("New")}})
			return err
		})
		if !errors.Is(err, errNotChecked) {
			t.Errorf("error %v", err)
		}
	})
}
