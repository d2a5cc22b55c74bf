package adapter

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// shop is a test's own site, which is restored after each try.
type shop struct {
	t        *testing.T
	database *fixtures.Database
	platform *session.Platform
	original *fixtures.Snapshot
}

func newShop(t *testing.T, site fixtures.Site, setup ...string) *shop {
	t.Helper()
	s := &shop{t: t, database: fixtures.New(t, site)}
	s.database.Execute(t, setup...)
	s.platform = session.NewPlatform(wpdbtest.Open(t, s.database, 2), fixtures.RecordedNow)
	s.original = s.database.Snapshot(t)
	return s
}

// site returns the site as a request sees it.
func (s *shop) site(t *testing.T) *session.Session {
	t.Helper()
	site, err := s.platform.Session(t.Context())
	expect.NoError(t, err)
	return site
}

// try does something to the site, after some statements, and expects exactly the given rows to change.
func (s *shop) try(name string, setup []string, do func(t *testing.T, site *session.Session), want ...fixtures.Change) {
	s.t.Helper()
	s.t.Run(name, func(t *testing.T) {
		var after *fixtures.Snapshot
		defer func() { s.original.RestoreFrom(t, after) }()
		s.database.Execute(t, setup...)
		before := s.original.Again(t)
		do(t, s.site(t))
		expected := fixtures.RecordedWrite{Now: fixtures.RecordedNow(), Rows: want}
		after = before.Again(t)
		changes := fixtures.Changes(before, after)
		for _, unlike := range expected.Compare(changes) {
			t.Error(unlike)
		}
		wantEntered(t, s.database, changes)
	})
}

// wantStoredResult runs a write and checks that it returns what it stored.
func wantStoredResult[T any](write func(ctx context.Context, site *session.Session) (T, error), read func(ctx context.Context, site *session.Session, written T) (T, error)) func(*testing.T, *session.Session) {
	return func(t *testing.T, site *session.Session) {
		written, err := write(t.Context(), site)
		expect.NoError(t, err)
		stored, err := read(t.Context(), site, written)
		expect.NoError(t, err)
		expect.Equal(t, stored, written, "stored, and returned")
	}
}

// creates returns what creates a record with a function such as orders.Create, and checks that it returns what it stored.
func creates[N, R, K any](create func(context.Context, *session.Tx, N) (R, error), key func(R) K, load func(context.Context, *session.Session, K) (R, error)) func(N) func(*testing.T, *session.Session) {
	return func(values N) func(*testing.T, *session.Session) {
		return wantStoredResult(
			func(ctx context.Context, site *session.Session) (R, error) {
				return txCreate(ctx, site, create, values)
			},
			func(ctx context.Context, site *session.Session, created R) (R, error) {
				return load(ctx, site, key(created))
			})
	}
}

// updates is creates for a function such as orders.Update.
func updates[K, P, R any](update func(context.Context, *session.Tx, K, P) (R, error), load func(context.Context, *session.Session, K) (R, error)) func(K, P) func(*testing.T, *session.Session) {
	return func(key K, patch P) func(*testing.T, *session.Session) {
		return wantStoredResult(
			func(ctx context.Context, site *session.Session) (R, error) {
				return txUpdate(ctx, site, update, key, patch)
			},
			func(ctx context.Context, site *session.Session, _ R) (R, error) { return load(ctx, site, key) })
	}
}

// anyText stands for a value that is not compared.
const anyText = "<text:any>"

// updatedRow returns a row with the present time as its update time. Columns alternate with their values
// before and after.
func updatedRow(table string, id int64, columns ...any) fixtures.Change {
	row := fixtures.Change{Table: table, Op: fixtures.Update, Key: strconv.FormatInt(id, 10), Changed: map[string][2]any{"updated_at": {anyText, "<now_utc>"}}}
	for i := 0; i < len(columns); i += 3 {
		row.Changed[columns[i].(string)] = [2]any{columns[i+1], columns[i+2]}
	}
	return row
}

// insertedRow returns a row inserted at the present time.
func insertedRow(table string, values map[string]any) fixtures.Change {
	values["created_at"], values["updated_at"] = "<now_utc>", "<now_utc>"
	return fixtures.Change{Table: table, Op: fixtures.Insert, Values: values}
}

// activityEntry returns an entry of the activity log about a record.
func activityEntry(code, about, id string, description any) fixtures.Change {
	values := map[string]any{
		"id": anyText, "agent_id": nil, "booking_id": nil, "service_id": nil, "customer_id": nil, "location_id": nil,
		"order_id": nil, "order_item_id": nil, "coupon_id": nil, "code": code, "description": description,
		"initiated_by": "", "initiated_by_id": "0",
	}
	values[about] = id
	return insertedRow("latepoint_activities", values)
}

// orderUpdateEntry returns the entry about a changed order.
func orderUpdateEntry(id int64) fixtures.Change {
	return activityEntry("order_updated", "order_id", strconv.FormatInt(id, 10), anyText)
}

// wantFields expects an error about exactly these fields.
func wantFields(t *testing.T, err error, code domain.Code, want map[string]string) {
	t.Helper()
	if domain.CodeOf(err) != code {
		t.Fatalf("error %v, want code %q", err, code)
	}
	var known *domain.Error
	if !errors.As(err, &known) {
		t.Fatal(err)
	}
	expect.Equal(t, want, known.Fields, "fields")
}

// euros returns an amount.
func euros(text string) *decimal.Decimal { return new(decimal.RequireFromString(text)) }

// resourceOf returns what an error says was not found.
func resourceOf(err error) domain.Resource {
	var known *domain.Error
	if !errors.As(err, &known) {
		return ""
	}
	return known.Resource
}
