package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/companiontest"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// wordPress stands in for the companion: it offers 09:00 of agent 1 on the first day of each request.
type wordPress struct {
	*extensions.Asker
	*fixtures.Clock
	mu      sync.Mutex
	asked   []string // first days of requests
	away    atomic.Bool
	failing atomic.Bool   // the companion says that it fails
	partial atomic.Bool   // omits prices
	total   atomic.Value  // of prices
	starts  atomic.Int64  // of each answer; 0 for one
	waiting chan struct{} // requests wait until it is closed; nil for no wait
}

// requests returns the requests since its last call.
func (w *wordPress) requests() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	asked := w.asked
	w.asked = nil
	return asked
}

func newWordPress(t *testing.T) *wordPress {
	t.Helper()
	w := &wordPress{Clock: fixtures.NewClock(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))}
	w.total.Store("1.0000")
	db := wpdbtest.Open(t, fixtures.New(t, fixtures.Small(w.Now())), 4)
	w.Asker = extensions.NewAsker(companiontest.New(t, db, w.Now, func(action string, of json.RawMessage) (int, any) { return w.answer(t, action, of) }), w.Now)
	return w
}

func (w *wordPress) answer(t *testing.T, action string, of json.RawMessage) (status int, says any) {
	var question struct {
		Times []struct {
			Start string `json:"start_date"`
		}
		Bookings []struct{ Price bool }
	}
	if err := json.Unmarshal(of, &question); err != nil || action != "decisions" {
		t.Errorf("%s %s: %v", action, of, err)
	}
	days := ""
	times, bookings := []any{}, []any{}
	for _, q := range question.Times {
		days += q.Start + " "
		times = append(times, map[string]any{"duration": 60, "resources": []any{map[string]any{"agent": 1, "location": 1, "days": map[string]any{q.Start: slices.Repeat([][2]int{{540, 1}}, max(1, int(w.starts.Load())))}}}})
	}
	for _, q := range question.Bookings {
		judgement := map[string]any{"available": true, "agent_id": 7}
		if q.Price && !w.partial.Load() {
			judgement["price"] = map[string]any{"total": w.total.Load()}
		}
		bookings = append(bookings, judgement)
	}
	w.mu.Lock()
	w.asked = append(w.asked, days)
	w.mu.Unlock()
	if w.waiting != nil {
		<-w.waiting
	}
	if w.away.Load() {
		return http.StatusServiceUnavailable, nil
	}
	if w.failing.Load() {
		return http.StatusInternalServerError, "an extension failed"
	}
	return http.StatusOK, map[string]any{"times": times, "bookings": bookings}
}

func times(days ...string) (list []extensions.OfferedTimes) {
	for _, day := range days {
		list = append(list, extensions.OfferedTimes{Draft: extensions.Draft{ServiceID: 1, StartDate: day}, DateTo: day})
	}
	return list
}

// TestOffersAreKept: several times need one request, and the same ones none for a minute; before a booking
// WordPress is asked again.
func TestOffersAreKept(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	ctx, usage := wpdb.WithUsage(t.Context())
	offers, err := w.Offers(ctx, times("2027-01-01", "2027-02-01"))
	expect.NoError(t, err)
	want := extensions.Offer{Duration: 60, Resources: []extensions.OfferOfResource{{Agent: 1, Location: 1, Days: map[string][][2]int{"2027-02-01": {{540, 1}}}}}}
	expect.Equal(t, want, offers[1])
	if got := w.requests(); len(got) != 1 || len(got[0]) != len("2027-01-01 2027-02-01 ") {
		t.Errorf("requests %q, want one", got)
	}
	if usage.Asked() <= 0 {
		t.Error("no time was measured")
	}
	if _, err := w.Offers(t.Context(), times("2027-02-01")); err != nil || len(w.requests()) != 0 {
		t.Errorf("asked again: %v", err)
	}
	_, err = w.Offers(t.Context(), times("2027-02-01", "2027-03-01", "2027-03-01"))
	expect.NoError(t, err)
	expect.Equal(t, []string{"2027-03-01 "}, w.requests(), "what is known is asked again")
	decision, err := w.Decide(t.Context(), extensions.Question{Draft: times("2027-02-01")[0].Draft, Times: true, Price: true})
	if err != nil || decision.Offer == nil || decision.Judgement == nil || decision.Judgement.Price.Total.String() != "1" || decision.Judgement.AgentID != 7 {
		t.Errorf("%+v, %v", decision, err)
	}
	expect.Equal(t, []string{"2027-02-01 "}, w.requests(), "before a booking")
	w.Pass(time.Minute)
	if _, err := w.Offers(t.Context(), times("2027-02-01")); err != nil || len(w.requests()) != 1 {
		t.Errorf("not asked again after a minute: %v", err)
	}
}

// TestOffersAreShared: concurrent equal requests wait for one answer, and one that leaves does not cancel
// the others.
func TestOffersAreShared(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.waiting = make(chan struct{})
	leaving, leave := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if _, err := w.Offers(leaving, times("2027-01-01")); !errors.Is(err, context.Canceled) {
			t.Errorf("who left got %v", err)
		}
	})
	for len(w.requests()) == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 5 {
		wait.Go(func() {
			if _, err := w.Offers(t.Context(), times("2027-01-01")); err != nil {
				t.Error(err)
			}
		})
	}
	leave()
	close(w.waiting)
	wait.Wait()
	expect.Equal(t, 0, len(w.requests()), "asked again")
}

// TestPartialAnswers: without a requested price there is no answer, and another answer is not used instead.
func TestPartialAnswers(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.partial.Store(true)
	draft := times("2027-01-01")[0].Draft
	if _, err := w.Decide(t.Context(), extensions.Question{Draft: draft, Price: true}); !errors.Is(err, extensions.ErrAway) {
		t.Errorf("without the price: %v", err)
	}
	if decision, err := w.Decide(t.Context(), extensions.Question{Draft: draft, Acceptance: true}); err != nil || decision.Judgement == nil || decision.Offer != nil {
		t.Errorf("no price was asked: %+v, %v", decision, err)
	}
}

// TestUnusablePrices: an amount that no column holds is no answer; it is never taken for another amount.
func TestUnusablePrices(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	question := extensions.Question{Draft: times("2027-01-01")[0].Draft, Price: true}
	for _, total := range []string{"100000000000000000000.0000", "-100000000000000000000.0000", "10000000000000000.0000", "1e300000000", "inf", "nan", ""} {
		w.total.Store(total)
		if decision, err := w.Decide(t.Context(), question); !errors.Is(err, extensions.ErrAway) {
			t.Errorf("%q: %+v, %v", total, decision.Judgement, err)
		}
		w.Pass(time.Minute) // WordPress was left alone
	}
	w.total.Store("9999999999999999.9999")
	if decision, err := w.Decide(t.Context(), question); err != nil || !decision.Judgement.Price.Total.Equal(domain.MaxAmount) {
		t.Errorf("the largest amount: %v", err)
	}
}

// TestWordPressIsLeftAlone: after some failures WordPress is left alone for a while, and failures are not
// cached.
func TestWordPressIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.away.Store(true)
	fails := func() {
		t.Helper()
		if _, err := w.Offers(t.Context(), times("2027-01-01")); !errors.Is(err, extensions.ErrAway) {
			t.Errorf("%v, want that it is away", err)
		}
	}
	for range 5 {
		fails()
	}
	if got := w.requests(); len(got) != 3 || !w.Unanswered() {
		t.Errorf("%d requests, want 3; unanswered %v", len(got), w.Unanswered())
	}
	w.Pass(10 * time.Second)
	fails()
	expect.Equal(t, 1, len(w.requests()), "requests after a rest")
	w.away.Store(false)
	fails()
	w.Pass(10 * time.Second)
	if _, err := w.Offers(t.Context(), times("2027-01-01")); err != nil {
		t.Error(err)
	}
	if err := w.Try(t.Context()); err != nil || w.Unanswered() {
		t.Errorf("%v, unanswered %v", err, w.Unanswered())
	}
}

// TestAQuestionThatFails: an extension that fails at one question keeps nobody from asking others.
func TestAQuestionThatFails(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.failing.Store(true)
	for range 5 {
		if _, err := w.Offers(t.Context(), times("2027-01-01")); !errors.Is(err, extensions.ErrFailed) {
			t.Errorf("%v, want that it failed", err)
		}
	}
	w.failing.Store(false)
	if _, err := w.Offers(t.Context(), times("2027-01-02")); err != nil {
		t.Error(err)
	}
}

// TestTheRequestEndsFirst: WordPress is away if it does not answer while the request still has time to say
// so, and after some of those it is left alone.
func TestTheRequestEndsFirst(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.waiting = make(chan struct{})
	defer close(w.waiting)
	question := extensions.Question{Draft: times("2027-01-01")[0].Draft, Acceptance: true}
	ends := func(asks func(context.Context) error) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := asks(ctx); !errors.Is(err, extensions.ErrAway) || ctx.Err() != nil {
			t.Errorf("%v, want that it is away; the request: %v", err, ctx.Err())
		}
	}
	ends(func(ctx context.Context) error { _, err := w.Offers(ctx, times("2027-01-01")); return err })
	for range 3 {
		ends(func(ctx context.Context) error { _, err := w.Decide(ctx, question); return err })
	}
	w.requests()
	if _, err := w.Decide(t.Context(), question); !errors.Is(err, extensions.ErrAway) || len(w.requests()) != 0 {
		t.Errorf("it is not left alone: %v", err)
	}
}

// TestWaitingForOthers: a question that could not be sent because of others says nothing about WordPress.
func TestWaitingForOthers(t *testing.T) {
	t.Parallel()
	w := newWordPress(t)
	w.waiting = make(chan struct{})
	question := extensions.Question{Draft: times("2027-01-01")[0].Draft, Acceptance: true}
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			if _, err := w.Decide(t.Context(), question); err != nil {
				t.Error(err)
			}
		})
	}
	for sent := 0; sent < 2; sent += len(w.requests()) {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		if _, err := w.Decide(ctx, question); !errors.Is(err, extensions.ErrAway) {
			t.Errorf("%v, want that it is away", err)
		}
		cancel()
	}
	if w.Unanswered() {
		t.Error("it counts as unanswered")
	}
	close(w.waiting)
	wait.Wait()
	if _, err := w.Decide(t.Context(), question); err != nil {
		t.Error(err)
	}
}

// days returns n days from the first of January of a year.
func days(year, n int) (list []string) {
	for i := range n {
		list = append(list, time.Date(year, 1, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
	}
	return list
}

// TestKeptOffersAreLimited: expired answers make room first, and answers with many starts are not all kept.
func TestKeptOffersAreLimited(t *testing.T) {
	t.Parallel()
	fixtures.SkipUnderRace(t)
	w := newWordPress(t)
	offers := func(days ...string) (requests int) {
		t.Helper()
		_, err := w.Offers(t.Context(), times(days...))
		expect.NoError(t, err)
		return len(w.requests())
	}
	offers(days(2030, 600)...)
	w.Pass(time.Minute)
	offers(days(2040, 300)...)
	offers(days(2050, 200)...)
	expect.Equal(t, 0, offers(days(2040, 300)...), "expired answers took the place of others")
	w.Pass(time.Minute)
	w.starts.Store(400_000)
	offers("2027-01-01")
	offers("2027-02-01")
	expect.Equal(t, 0, offers("2027-01-01"), "800,000 starts are not kept")
	offers("2027-03-01")
	expect.Equal(t, 1, offers("2027-01-01"), "1,200,000 starts are kept")
}
