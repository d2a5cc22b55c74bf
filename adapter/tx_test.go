package adapter

import "context"

// txCreate makes a record in a transaction of its own, by a method such as
// (*Tx).CreateBooking.
func txCreate[V, T any](ctx context.Context, s *Site, method func(*Tx, context.Context, V) (T, error), values V) (created T, err error) {
	err = s.Transact(ctx, "create", func(tx *Tx) (err error) {
		created, err = method(tx, ctx, values)
		return err
	})
	return created, err
}

// txUpdate changes a record in a transaction of its own, by a method such as
// (*Tx).UpdateBooking.
func txUpdate[K, P, T any](ctx context.Context, s *Site, method func(*Tx, context.Context, K, P) (T, error), key K, patch P) (changed T, err error) {
	err = s.Transact(ctx, "update", func(tx *Tx) (err error) {
		changed, err = method(tx, ctx, key, patch)
		return err
	})
	return changed, err
}

// txDelete deletes a record in a transaction of its own, by a method such as
// (*Tx).DeleteCustomer.
func txDelete[K any](ctx context.Context, s *Site, method func(*Tx, context.Context, K) error, key K) error {
	return s.Transact(ctx, "delete", func(tx *Tx) error { return method(tx, ctx, key) })
}
