package keys

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// openStore opens a store on a database, as one server does.
func openStore(t *testing.T, database *fixtures.Database, connections int) ResponseStore {
	t.Helper()
	return ResponseStore{DB: wpdbtest.Open(t, database, connections), Now: time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC), Random: rand.Reader}
}

func newStore(t *testing.T) ResponseStore {
	t.Helper()
	return openStore(t, fixtures.New(t, fixtures.Legacy()), 2)
}

// keyOf returns the key of a request with a number of items.
func keyOf(items int) IdempotencyKey {
	return IdempotencyKey{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Terms: strings.Repeat("c", 64), Items: items, Lease: time.Minute}
}

// keep stores responses in their own transaction.
func keep(ctx context.Context, s ResponseStore, request *IdempotentRequest, responses ...Response) error {
	return s.DB.Transact(ctx, "keep", func(tx *wpdb.DB) error { return request.Keep(ctx, tx, responses...) })
}

// begin claims a request and fails the test if it cannot.
func begin(t *testing.T, s ResponseStore, key IdempotencyKey) *IdempotentRequest {
	t.Helper()
	request, err := s.Begin(t.Context(), key)
	expect.NoError(t, err)
	return request
}

// end ends an attempt with err and expects it back.
func end(t *testing.T, request *IdempotentRequest, err error) {
	t.Helper()
	if got := request.End(t.Context(), err); !errors.Is(got, err) || err == nil && got != nil {
		t.Errorf("error %v, want %v", got, err)
	}
}

// TestOneAttemptAtATime: a second attempt is refused while the first is processed, and later attempts see
// the stored responses.
func TestOneAttemptAtATime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key := keyOf(2)
	other := key
	other.Scope = strings.Repeat("A", 64)
	stored := []Response{{Item: 0, Status: 201, Body: []byte(`{"a":"<é>"}`)}, {Item: 1, Status: 422, Body: []byte("\x00\xff")}}

	first := begin(t, s, key)
	expect.Equal(t, 0, len(first.Responses()), "responses ", first.Responses(), " before the first")
	if _, err := s.Begin(t.Context(), key); domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("beside it: %v", err)
	}
	end(t, begin(t, s, other), nil)
	expect.NoError(t, keep(t.Context(), s, first, stored...))
	end(t, first, nil)

	second := begin(t, s, key)
	expect.Equal(t, stored, second.Responses(), "responses")
	if err := second.Keep(t.Context(), s.DB, stored[1]); domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("stored without a claim: %v", err)
	}
	end(t, second, nil)

	reused := key
	reused.Body = strings.Repeat("c", 64)
	if _, err := s.Begin(t.Context(), reused); domain.CodeOf(err) != domain.CodeKeyReused {
		t.Errorf("another body: %v", err)
	}
}

// TestRolledBackResponseIsNotStored: a response whose transaction is rolled back is not stored.
func TestRolledBackResponseIsNotStored(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for range 2 {
		request := begin(t, s, keyOf(1))
		expect.Equal(t, 0, len(request.Responses()), "responses")
		err := s.DB.Transact(t.Context(), "keep", func(tx *wpdb.DB) error {
			if err := request.Keep(t.Context(), tx, Response{Status: 201, Body: []byte("{}")}); err != nil {
				return err
			}
			return context.Canceled
		})
		end(t, request, err)
		expect.Error(t, context.Canceled, err)
	}
}

// TestClaimExpires: when a dead server's lease expires another attempt may claim the request, and from then
// on the first one can commit nothing.
func TestClaimExpires(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	later := s
	later.Now = s.Now.Add(time.Minute)
	key := keyOf(1)
	other := key
	other.Body = strings.Repeat("c", 64)
	response := func(body string) Response { return Response{Status: 201, Body: []byte(body)} }

	stalled := begin(t, s, key)
	if _, err := s.Begin(t.Context(), key); domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("during the lease: %v", err)
	}
	second := begin(t, later, other)
	if err := keep(t.Context(), s, stalled, response("stalled")); domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("the first one, without its claim: %v", err)
	}
	expect.Succeeded(t, keep(t.Context(), later, second, response("second")))
	end(t, second, nil)
	err := keep(t.Context(), s, stalled, response("stalled"))
	expect.Equal(t, domain.CodeInProgress, domain.CodeOf(err), "the first one, after the response: ", err)
	end(t, stalled, err)

	third := begin(t, later, other)
	if got := third.Responses(); len(got) != 1 || string(got[0].Body) != "second" {
		t.Errorf("stored %v", got)
	}
	end(t, third, nil)
}

// TestRivalClaims: of many simultaneous attempts on two servers, one is processed and the others are
// refused at once.
func TestRivalClaims(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	stores := []ResponseStore{openStore(t, database, 4), openStore(t, database, 4)}
	const attempts = 40
	claims := make(chan *IdempotentRequest, attempts)
	var rejected atomic.Int32
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() {
			request, err := stores[i%2].Begin(t.Context(), keyOf(1))
			switch {
			case err == nil:
				claims <- request
			case domain.CodeOf(err) == domain.CodeInProgress:
				rejected.Add(1)
			default:
				t.Errorf("error %v, want that a request is being processed", err)
			}
		})
	}
	all.Wait()
	if len(claims) != 1 || rejected.Load() != attempts-1 {
		t.Fatalf("%d claims, %d refused", len(claims), rejected.Load())
	}
	end(t, <-claims, nil)
}

// TestUnfinishedRequestContinues: a request of several items that failed after some of them continues after
// the stored responses.
func TestUnfinishedRequestContinues(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key := keyOf(3)
	store := func(request *IdempotentRequest, item int) error {
		return keep(t.Context(), s, request, Response{Item: item, Status: 201, Body: []byte{byte(item)}})
	}
	request := begin(t, s, key)
	end(t, request, errors.Join(store(request, 0), errors.New("failed in between")))
	for _, found := range []int{1, 3} {
		request := begin(t, s, key)
		expect.Equal(t, found, len(request.Responses()), "responses found")
		var err error
		for item := len(request.Responses()); item < key.Items && err == nil; item++ {
			err = store(request, item)
		}
		expect.Succeeded(t, err)
		end(t, request, err)
	}
}

// TestExpiredResponsesAreDeletedAgain: a rival on another node of a cluster that deletes
// the same expired rows does not fail the request.
func TestExpiredResponsesAreDeletedAgain(t *testing.T) {
	t.Parallel()
	db, mock := wpdbtest.Mock(t)
	expired := sqlmock.NewRows([]string{"id", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at"}).
		AddRow(1, 0, "", 201, []byte("{}"), "", nil, "2026-11-01 00:00:00")
	mock.ExpectQuery("SELECT .*idempotency").WillReturnRows(expired)
	mock.ExpectBegin()
	mock.ExpectExec("DELETE FROM .*idempotency").WillReturnError(&mysql.MySQLError{Number: 1213})
	mock.ExpectRollback()
	mock.ExpectBegin()
	mock.ExpectExec("DELETE FROM .*idempotency").WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectCommit()
	mock.ExpectExec("INSERT INTO .*idempotency").WillReturnResult(sqlmock.NewResult(2, 1))
	s := ResponseStore{DB: db, Now: time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC), Random: rand.Reader}
	if _, err := s.Begin(t.Context(), keyOf(1)); err != nil {
		t.Error(err)
	}
}

// TestLockWaitIsNoRival: a claim that waited too long for a lock does not indicate another attempt and
// wrote nothing, unless the row belongs to an attempt that may still run. On a cluster, a refused claim has
// a rival.
func TestLockWaitIsNoRival(t *testing.T) {
	t.Parallel()
	pending := func(owner string, claimedUntil any) *sqlmock.Rows {
		return sqlmock.NewRows([]string{"id", "item", "body_hash", "status", "answer", "owner", "claimed_until", "created_at"}).
			AddRow(1, 0, keyOf(1).Body, 0, "", owner, claimedUntil, "2026-11-21 00:40:00")
	}
	none := func() *sqlmock.Rows { return sqlmock.NewRows([]string{"id"}) }
	for name, c := range map[string]struct {
		stored *sqlmock.Rows
		claim  string
		number uint16
		rival  bool
	}{
		"first attempt, lock wait":             {none(), "INSERT", 1205, false},
		"first attempt, refused by a cluster":  {none(), "INSERT", 1213, true},
		"first attempt, refused by a group":    {none(), "INSERT", 3101, true},
		"first attempt, duplicate":             {none(), "INSERT", 1062, true},
		"released claim, lock wait":            {pending("", nil), "UPDATE", 1205, false},
		"released claim, refused by a cluster": {pending("", nil), "UPDATE", 1213, true},
		"expired claim, lock wait":             {pending("x", "2026-11-21 00:42:00"), "UPDATE", 1205, true},
		"expired claim, refused by a cluster":  {pending("x", "2026-11-21 00:42:00"), "UPDATE", 1213, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, mock := wpdbtest.Mock(t)
			mock.ExpectQuery("SELECT .*idempotency").WillReturnRows(c.stored)
			mock.ExpectExec(c.claim + " .*idempotency").WillReturnError(&mysql.MySQLError{Number: c.number})
			s := ResponseStore{DB: db, Now: time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC), Random: rand.Reader}
			_, err := s.Begin(t.Context(), keyOf(1))
			if rival := domain.CodeOf(err) == domain.CodeInProgress; err == nil || rival != c.rival {
				t.Errorf("error %v, want a rival: %t", err, c.rival)
			}
		})
	}
}

// TestStalledAttemptIsInProgress: an attempt whose claim has expired but which may yet commit its response
// is a rival of the next one.
func TestStalledAttemptIsInProgress(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	s := openStore(t, database, 1)
	later := s
	later.Now = s.Now.Add(time.Minute)
	later.DB = wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, LockWait: time.Second})
	stalled := begin(t, s, keyOf(1))
	err := s.DB.Transact(t.Context(), "keep", func(tx *wpdb.DB) error {
		err := stalled.Keep(t.Context(), tx, Response{Status: 201, Body: []byte("{}")})
		if _, err := later.Begin(t.Context(), keyOf(1)); domain.CodeOf(err) != domain.CodeInProgress {
			t.Errorf("beside it: %v", err)
		}
		return err
	})
	end(t, stalled, err)
	expect.Succeeded(t, err)
	end(t, begin(t, later, keyOf(1)), nil)
}

// TestRequestWithoutKeyStoresNothing: a request without a key stores nothing.
func TestRequestWithoutKeyStoresNothing(t *testing.T) {
	t.Parallel()
	var request *IdempotentRequest
	if request.Responses() != nil || request.Keep(t.Context(), nil, Response{}) != nil {
		t.Error("a nil request has or stores responses")
	}
	end(t, request, nil)
	end(t, request, errors.New("failed"))
}

// TestNoRandomness: without randomness there is no owner's name, and the request is not claimed.
func TestNoRandomness(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	s.Random = bytes.NewReader(nil)
	if _, err := s.Begin(t.Context(), keyOf(1)); err == nil {
		t.Error("claimed without an owner")
	}
}
