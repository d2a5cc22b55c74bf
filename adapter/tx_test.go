package adapter

import (
	"context"

	"github.com/bookside/bookside/adapter/session"
)

// txCreate creates a record in its own transaction, with a function such as
// bookings.Create.
func txCreate[V, T any](ctx context.Context, s *session.Session, method func(context.Context, *session.Tx, V) (T, error), values V) (created T, err error) {
	err = s.Transact(ctx, "create", func(tx *session.Tx) (err error) {
		created, err = method(ctx, tx, values)
		return err
	})
	return created, err
}

// txUpdate changes a record in its own transaction, with a function such as
// bookings.Update.
func txUpdate[K, P, T any](ctx context.Context, s *session.Session, method func(context.Context, *session.Tx, K, P) (T, error), key K, patch P) (changed T, err error) {
	err = s.Transact(ctx, "update", func(tx *session.Tx) (err error) {
		changed, err = method(ctx, tx, key, patch)
		return err
	})
	return changed, err
}

// txDelete deletes a record in its own transaction, with a function such as
// customers.Delete.
func txDelete[K any](ctx context.Context, s *session.Session, method func(context.Context, *session.Tx, K) error, key K) error {
	return s.Transact(ctx, "delete", func(tx *session.Tx) error { return method(ctx, tx, key) })
}
