package records

import (
	"context"
	"errors"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// KnownCustomer is what the caller may know of a customer.
type KnownCustomer struct {
	Seen bool
	Own  bool
	// Shown is the customer as the caller sees them.
	Shown BookingCustomer
}

// KnowsCustomer returns what the caller may know of a customer. For an unlimited caller it makes no query, and neither
// does it for a WordPress user: WordPress has decided whether they may book for the customer.
func KnowsCustomer(ctx context.Context, s *session.Session, c BookingCustomer) (KnownCustomer, error) {
	if s.Scope().Unlimited() || s.ForUser() {
		return KnownCustomer{true, true, c}, nil
	}
	within := s.AsCaller()
	stmt := sq.Select("id", "first_name", "last_name", "email", "phone", session.IsOwn).From(within.DB.Name(wpdb.Customers)).Where(sq.Eq{"id": c.ID})
	known, _, err := wpdb.One(ctx, within.DB, "look for a customer within limits", stmt, func(row wpdb.Scanner) (k KnownCustomer, err error) {
		k.Seen = true
		return k, row.Scan(&k.Shown.ID, wpdb.OrZero(&k.Shown.FirstName), wpdb.OrZero(&k.Shown.LastName), wpdb.OrZero(&k.Shown.Email), wpdb.OrZero(&k.Shown.Phone), &k.Own)
	})
	return known, err
}

// RequireOwn returns a CodeOutsideScope if the caller sees the customer but they are not its own.
func RequireOwn(ctx context.Context, s *session.Session, id int64) error {
	known, err := KnowsCustomer(ctx, s, BookingCustomer{ID: id})
	if err == nil && !known.Own {
		err = domain.OutsideScope()
	}
	return err
}

// errNotRemembered means that our table does not exist.
var errNotRemembered = errors.New("bookside_key_records does not exist")

// Remember stores that a limited caller created a record.
func Remember(ctx context.Context, tx *session.Tx, resource journal.Resource, ids ...int64) error {
	for _, id := range ids {
		if err := rememberRow(ctx, tx, resource, id, true, BookingCustomer{}); err != nil {
			return err
		}
	}
	return nil
}

// RememberContact stores the contact data that a limited caller sent for a customer. made reports whether
// it created the customer.
func RememberContact(ctx context.Context, tx *session.Tx, id int64, sent BookingCustomer, made bool) error {
	return rememberRow(ctx, tx, journal.Customers, id, made, sent)
}

func rememberRow(ctx context.Context, tx *session.Tx, resource journal.Resource, id int64, made bool, sent BookingCustomer) error {
	if tx.Scope().Unlimited() || tx.DryRun || tx.ForUser() {
		return nil
	}
	if !tx.Schema.Has(wpdb.KeyRecords) { // without it, everything would count
		return domain.Unavailable("A table of Bookside is missing: keys with limits cannot write", errNotRemembered)
	}
	stmt := sq.Insert(tx.DB.Name(wpdb.KeyRecords)).Columns("key_id", "resource", "record_id", "made", "email", "phone", "created_at").
		Values(tx.CallerID(), string(resource), id, made, ascii(sent.Email), ascii(sent.Phone), domain.Stamp(tx.Now)).
		Suffix("ON DUPLICATE KEY UPDATE made = GREATEST(made, VALUES(made)), email = COALESCE(NULLIF(VALUES(email), ''), email), phone = COALESCE(NULLIF(VALUES(phone), ''), phone)")
	_, err := tx.Exec(ctx, wpdb.KeyRecords, "remember a record of a key", stmt)
	return err
}

// ascii returns a text if it is ASCII, as all accepted addresses and numbers are, and "" otherwise.
func ascii(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r > '~' }) {
		return ""
	}
	return text
}

// ForgottenRecords selects what is stored about records that were deleted since. It is kept after the key
// that created them is revoked: otherwise the next limited key would take them for somebody else's.
func ForgottenRecords(db *wpdb.DB) []sq.SelectBuilder {
	rows := sq.Select("r.id").From(db.As(wpdb.KeyRecords, "r"))
	var all []sq.SelectBuilder
	for _, resource := range []journal.Resource{journal.Bookings, journal.Customers, journal.Orders, journal.Payments} {
		all = append(all, rows.LeftJoin(db.As(journal.TableOf(resource), "t")+" ON t.id = r.record_id").Where(sq.Eq{"r.resource": string(resource), "t.id": nil}))
	}
	return all
}
