package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/wpdb"
)

// How concurrent writers are serialised
//
// Before a transaction reads the data that it decides on, it takes rows of the table
// {prefix}bookside_locks, one for each thing that it needs exclusively:
//
//	UPDATE wp_bookside_locks FORCE INDEX (PRIMARY) SET n = n + 1
//	WHERE (kind = 2 AND id IN (1)) OR (kind = 4 AND id IN (5, 7)) OR (kind = 5 AND id IN (311))
//	ORDER BY kind, id
//
//	kind              id
//	1  booking        id of the booking modulo 1024
//	2  location       id of the location; where the setting one_agent_at_location is on
//	3  service        id of the service; where its bookings of a day are limited
//	4  agent          id of the agent; of all candidates where any agent will do; 0 for hours and
//	                  time off that name no agent
//	5  contact        CRC-32 (IEEE) of an e-mail address in lower case, modulo 1024; where the site
//	                  tells customers apart by their phone number, also of that, as it is stored
//	6  WordPress user id of the user modulo 1024
//	7  customer       id of the customer modulo 1024
//	8  order          id of the order modulo 1024
//	9  API key        id of the key modulo 1024; for its number of holds
//	10 coupon         CRC-32 (IEEE) of the code in upper case, modulo 1024; for its uses
//	11 webhooks       0; for the number of those that keys made
//	12 asset          id of the asset, a room or a device of Pro Features; of all that the
//	                  service takes with any of the candidates, where assets are switched on
//
// The rules for everyone who takes these rows:
//
//   - Nobody keeps rows while waiting for a person, a payment or another machine: what was
//     looked at is kept by a hold meanwhile, see holds.go.
//   - Rows are taken in ascending order of kind and id, in one statement or in
//     several, so that no two writers wait for each other. A booking that moves
//     takes the rows of its old slot and of its new one.
//   - They are taken before any row of the site's own tables is locked or
//     written, and are released by COMMIT or ROLLBACK.
//   - The statement must change the rows. On one server this makes rivals wait;
//     on a cluster with several primaries, where nobody waits for a lock of
//     another node, the cluster refuses the commit of all rivals but one (error
//     1213), and the others run their transaction again.
//   - The index is forced, because the server would read a small table whole, and
//     thereby lock rows that are not needed.
//   - The transaction is READ COMMITTED, so that what it reads afterwards is what
//     the previous holder committed.
//   - If the statement matches fewer rows than it names, some do not exist yet:
//     roll back, INSERT IGNORE each of them in a transaction of its own (or all 1024
//     of its kind in ascending order), and begin again. Rows that were inserted and
//     are not committed would make rivals deadlock. Rows are never deleted.
//
// Rows of the site are also locked in a fixed order: bookings, order items, orders,
// invoices, transactions, customers, users.

// LockKind is what a row of the lock table stands for. Locks are taken in the order of their kinds.
type LockKind uint8

// The kinds of locks.
const (
	BookingLock LockKind = iota + 1
	LocationLock
	ServiceLock
	AgentLock
	ContactLock
	UserLock
	CustomerLock
	OrderLock
	KeyLock
	CouponLock
	WebhookLock
	AssetLock
)

// lockBuckets is the number of rows for each kind that would otherwise need a row for every record.
// Unrelated records that share a row merely wait for each other.
const lockBuckets = 1024

// Lock is a row of the lock table.
type Lock struct {
	kind LockKind
	id   int64
}

// LockOf returns the row for a record.
func LockOf(kind LockKind, id int64) Lock {
	id = max(id, 0) // rows may name a negative one, which nothing has
	if kind.inBuckets() {
		id %= lockBuckets
	}
	return Lock{kind, id}
}

// inBuckets reports whether records share the rows of a kind.
func (k LockKind) inBuckets() bool {
	switch k {
	case LocationLock, ServiceLock, AgentLock, WebhookLock, AssetLock:
		return false
	default:
		return true
	}
}

// LocksOf returns the rows for several records.
func LocksOf(kind LockKind, ids ...int64) []Lock {
	locks := make([]Lock, len(ids))
	for i, id := range ids {
		locks[i] = LockOf(kind, id)
	}
	return locks
}

// missingLocksError means that rows of the lock table do not exist. They must be created and the
// transaction must run again, see Session.Transact.
type missingLocksError struct{ locks []Lock }

func (m *missingLocksError) Error() string {
	return fmt.Sprintf("%d lock rows do not exist yet", len(m.locks))
}

// errLockOrder means that a transaction breaks the rules above.
var errLockOrder = errors.New("locks must be taken in ascending order and before rows of the site")

// LockProgress records the locks that a transaction has taken so far.
type LockProgress struct {
	last     Lock // the highest lock
	siteRows bool // rows of the site were locked or written
}

// Lock makes other writers wait for what this transaction is about to check and write. It
// may be called again for locks that come later in the order.
func (tx *Tx) Lock(ctx context.Context, locks ...Lock) error {
	if len(locks) == 0 {
		return nil
	}
	slices.SortFunc(locks, compareLocks)
	locks = slices.Compact(locks)
	if tx.Progress.siteRows || compareLocks(locks[0], tx.Progress.last) <= 0 {
		return fmt.Errorf("take locks: %w", errLockOrder)
	}
	tx.Progress.last = locks[len(locks)-1]
	result, err := wpdb.Exec(ctx, tx.DB, "take locks", lockStatement(tx.Session, locks))
	if err != nil {
		return err
	}
	if result.Rows < int64(len(locks)) {
		return &missingLocksError{locks}
	}
	return nil
}

func compareLocks(a, b Lock) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
}

// lockStatement returns the statement quoted at the top of this file. Uses the primary
// key. locks are sorted.
func lockStatement(s *Session, locks []Lock) sq.UpdateBuilder {
	var which sq.Or
	for len(locks) > 0 {
		kind, ids := locks[0].kind, []int64(nil)
		for len(locks) > 0 && locks[0].kind == kind {
			ids = append(ids, locks[0].id)
			locks = locks[1:]
		}
		which = append(which, sq.And{sq.Eq{"kind": int64(kind)}, sq.Eq{"id": ids}})
	}
	return sq.Update(s.DB.Name(wpdb.Locks)+" FORCE INDEX (PRIMARY)").Set("n", sq.Expr("n + 1")).Where(which).OrderBy("kind", "id")
}

// CreateLocks adds rows to the lock table, each in a transaction of its own, so that a writer waiting for
// an existing row holds none that others may need. Of a kind in buckets it adds all, because nearly every write needs
// another one.
func CreateLocks(ctx context.Context, s *Session, locks []Lock) error {
	var complete LockKind
	for _, l := range locks {
		if l.kind == complete {
			continue
		}
		stmt := sq.Insert(s.DB.Name(wpdb.Locks)).Options("IGNORE").Columns("kind", "id")
		if l.kind.inBuckets() {
			complete = l.kind
			for id := range lockBuckets {
				stmt = stmt.Values(int64(l.kind), id)
			}
		} else {
			stmt = stmt.Values(int64(l.kind), l.id)
		}
		if _, err := s.DB.Change(ctx, "create lock", stmt); err != nil {
			return err
		}
	}
	return nil
}
