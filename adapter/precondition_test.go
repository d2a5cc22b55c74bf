package adapter

import (
	"testing"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestUncheckedPreconditionsUndoTheTransaction: a write that does not check the
// caller's precondition is an error and writes nothing.
func TestUncheckedPreconditionsUndoTheTransaction(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.Small(fixtures.RecordedNow()))
	s.try("unchecked", nil, func(t *testing.T, site *session.Session) {
		err := site.Transact(t.Context(), "create", func(tx *session.Tx) error {
			tx.Precondition = func(*session.Session) error { return nil }
			_, err := catalog.CreateService(t.Context(), tx, catalog.NewService{ServicePatch: catalog.ServicePatch{Name: new("New")}})
			return err
		})
		expect.Error(t, session.ErrNotChecked, err)
	})
}
