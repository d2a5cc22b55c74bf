package session

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// Tx is a transaction on the site's tables. The Session that it embeds reads inside the transaction. Every
// write takes a Tx, so a write outside a transaction does not compile. A Tx sees everything, whatever the
// caller sees: see Session.AsCaller.
type Tx struct {
	*Session
	// Precondition is what the caller demands of the record that the transaction changes or deletes; nil
	// for nothing. It is checked once the record is known to exist and nobody else can change it. Its error
	// ends the transaction.
	Precondition func(within *Session) error

	// DryRun is set if the transaction is always rolled back, see Session.DryRun.
	DryRun     bool
	Progress   LockProgress
	Changes    ChangeList                  // of records, for the journal
	Confirm    func(context.Context) error // the last check before COMMIT; nil for none
	checked    bool                        // Precondition was met
	wrote      bool                        // to a table of the site
	idempotent *keys.IdempotentRequest     // whose responses were stored; nil for none
	// old holds rows before their first change, for the extensions of the site.
	old       map[storedRow]map[string]*string
	announced []extensions.Event // to be stored at the end
	warnings  []string
	// decisions are WordPress's answers to what earlier runs asked.
	decisions map[extensions.Question]*extensions.Decision
	asked     undecidedError // the last question of this run
}

// Warn is Session.Warn, unless the transaction fails.
func (tx *Tx) Warn(text string) { tx.warnings = append(tx.warnings, text) }

// giveWarnings gives the warnings of a transaction that succeeded.
func (tx *Tx) giveWarnings(to *Session) {
	for _, text := range tx.warnings {
		to.Warn(text)
	}
}

// Wrote reports whether the transaction has written to the site's tables.
func (tx *Tx) Wrote() bool { return tx.wrote }

// CheckPrecondition checks the precondition. Every write that changes or deletes a record calls it after
// locking the record and before validating what the caller sent.
func (tx *Tx) CheckPrecondition() error {
	if tx.Precondition == nil || tx.checked {
		return nil
	}
	tx.checked = true
	return tx.Precondition(tx.AsCaller())
}

// ErrNotChecked means that a write did not check the precondition.
var ErrNotChecked = errors.New("the precondition of the transaction was not checked")

// Transact runs work in one transaction: either all of it happens, or nothing. After a
// deadlock, or if a row to lock has to be created first, it runs work again; work must
// not keep anything of a run that failed.
func (s *Session) Transact(ctx context.Context, op string, work func(tx *Tx) error) error {
	err := s.transact(ctx, op, s.transactOnce, work)
	if err == nil {
		s.wakeWorkers()
	}
	return err
}

// DryRun runs work like Transact, with the same locks and checks, and rolls it back. work must not use up
// ids of the site's tables: an id that was given out is never reused, and the plugin's ids are limited.
func (s *Session) DryRun(ctx context.Context, op string, work func(tx *Tx) error) error {
	return s.transact(ctx, op, s.dryRunOnce, work)
}

// transact runs work once, and again after it has created rows to lock, or has asked WordPress a question.
func (s *Session) transact(ctx context.Context, op string, once func(context.Context, string, func(*Tx) error) error, work func(*Tx) error) error {
	var decisions map[extensions.Question]*extensions.Decision
	decided := func(tx *Tx) error {
		tx.decisions = decisions
		return work(tx)
	}
	err := once(ctx, op, decided)
	for tries := 0; tries < maxLockCreations; tries++ {
		if missing, ok := errors.AsType[*missingLocksError](err); ok {
			if err := CreateLocks(ctx, s, missing.locks); err != nil {
				return err
			}
		} else if asks, ok := errors.AsType[*undecidedError](err); ok {
			decision, err := s.decide(ctx, asks)
			if err != nil {
				return err
			}
			if asks.refusal != nil && reflect.DeepEqual(decision, decisions[asks.question]) {
				return asks.refusal
			}
			if decisions == nil {
				decisions = map[extensions.Question]*extensions.Decision{}
			}
			decisions[asks.question] = decision
		} else {
			return err
		}
		err = once(ctx, op, decided)
	}
	_, missing := errors.AsType[*missingLocksError](err)
	asks, undecided := errors.AsType[*undecidedError](err)
	if undecided && asks.refusal != nil {
		return asks.refusal
	}
	if missing || undecided {
		return domain.Unavailable("What this depends on changed too often meanwhile", err)
	}
	return err
}

// wakeWorkers wakes the workers that process what a transaction left for them.
func (s *Session) wakeWorkers() {
	if len(s.heardEvents()) > 0 {
		s.Platform.Events.Wake()
	}
	if s.Platform.Journal != nil {
		s.Platform.Journal.Wake()
	}
}

// maxLockCreations limits how often lock rows are created for one transaction. Each run
// may need other rows, such as those of orders created in the meantime.
const maxLockCreations = 10

func (s *Session) transactOnce(ctx context.Context, op string, work func(tx *Tx) error) error {
	err := s.transactOn(ctx, s.DB, op, work)
	if errors.Is(err, wpdb.ErrRefused) { // perhaps one of several statements sent together; run alone, it names its table
		err = s.transactOn(ctx, s.DB.OneByOne(), op, work)
	}
	return err
}

func (s *Session) transactOn(ctx context.Context, on *wpdb.DB, op string, work func(tx *Tx) error) error {
	var tx *Tx
	err := on.Transact(ctx, op, func(db *wpdb.DB) error {
		tx = s.begin(db)
		return tx.run(ctx, op, work)
	})
	switch {
	case err == nil:
		tx.giveWarnings(s)
	case tx != nil:
		tx.idempotent.Lost()
	}
	return err
}

// errDryRun ends a successful dry run, so that it is rolled back.
var errDryRun = errors.New("dry run")

func (s *Session) dryRunOnce(ctx context.Context, op string, work func(tx *Tx) error) error {
	var tx *Tx
	err := s.DB.Transact(ctx, op, func(db *wpdb.DB) error {
		tx = s.begin(db)
		tx.DryRun = true
		if err := tx.run(ctx, op, work); err != nil {
			return err
		}
		return errDryRun
	})
	if errors.Is(err, errDryRun) {
		tx.giveWarnings(s)
		return nil
	}
	return err
}

// begin returns the site's transaction within one that was begun on the database.
func (s *Session) begin(db *wpdb.DB) *Tx {
	caller := *s
	caller.DB, caller.NoSharing = db, true
	within := caller
	within.DB, within.asCaller = db.Unfiltered(), &caller
	return &Tx{Session: &within}
}

// run runs work, and then the checks that must hold before COMMIT.
func (tx *Tx) run(ctx context.Context, op string, work func(tx *Tx) error) error {
	if err := work(tx); err != nil {
		return err
	}
	if tx.Precondition != nil && !tx.checked {
		return fmt.Errorf("%s: %w", op, ErrNotChecked)
	}
	if err := checkScope(ctx, tx); err != nil {
		return err
	}
	if !tx.DryRun {
		if err := storeEvents(ctx, tx); err != nil {
			return err
		}
		if err := enterChanges(ctx, tx); err != nil {
			return err
		}
	}
	if tx.Confirm == nil {
		return nil
	}
	return tx.Confirm(ctx)
}

// KeepResponses stores the responses to a request with an idempotency key, so that they
// exist if and only if the transaction is committed. See keys.IdempotentRequest.Keep.
func (tx *Tx) KeepResponses(ctx context.Context, r *keys.IdempotentRequest, responses ...keys.Response) error {
	tx.idempotent = r
	return r.Keep(ctx, tx.DB, responses...)
}

// touch records that the transaction locks or writes rows of a table.
func touch(tx *Tx, table wpdb.Table) {
	if !table.Own() {
		tx.Progress.siteRows = true
	}
}
