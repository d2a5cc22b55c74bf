package adapter

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bookside/adapter/domain"
	"bookside/fixtures"
)

// onceSite is a site with tables of ours.
func onceSite(t *testing.T) *Site {
	t.Helper()
	fixtures.RequireServer(t)
	db := openDatabase(t, fixtures.New(t, fixtures.Legacy()))
	now := time.Date(2026, 11, 21, 0, 43, 0, 0, time.UTC)
	site, err := NewPlatform(db, func() time.Time { return now }).Site(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return site
}

// TestOnce: one try works at a time, and sees what those before it have kept.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := onceSite(t)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Items: 2, Lease: time.Minute}
	other := a
	other.Scope = strings.Repeat("A", 64)
	kept := []Answer{{Item: 0, Status: 201, Body: []byte(`{"a":"<é>"}`)}, {Item: 1, Status: 422, Body: []byte("\x00\xff")}}
	nothing := func(*Ledger) error { return nil }
	err := s.Once(t.Context(), a, func(l *Ledger) error {
		if len(l.Answers()) != 0 {
			t.Errorf("answers %v before the first", l.Answers())
		}
		if err := s.Once(t.Context(), a, nothing); domain.CodeOf(err) != domain.CodeInProgress {
			t.Errorf("beside it: %v", err)
		}
		if err := s.Once(t.Context(), other, nothing); err != nil {
			t.Errorf("another request beside it: %v", err)
		}
		return s.write(t.Context(), "keep", func(tx *Site) error { return l.Keep(t.Context(), tx, kept...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Once(t.Context(), a, func(l *Ledger) error {
		if diff := cmp.Diff(kept, l.Answers()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		return l.Keep(t.Context(), s, kept[1]) // without a claim: all was answered
	})
	if domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("kept twice: %v", err)
	}
	reused := a
	reused.Body = strings.Repeat("c", 64)
	if err := s.Once(t.Context(), reused, nothing); domain.CodeOf(err) != domain.CodeKeyReused {
		t.Errorf("another body: %v", err)
	}
}

// What is rolled back is not kept.
func TestOnceRolledBack(t *testing.T) {
	t.Parallel()
	s := onceSite(t)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Items: 1, Lease: time.Minute}
	for range 2 {
		err := s.Once(t.Context(), a, func(l *Ledger) error {
			if len(l.Answers()) != 0 {
				t.Errorf("answers %v", l.Answers())
			}
			return s.write(t.Context(), "keep", func(tx *Site) error {
				if err := l.Keep(t.Context(), tx, Answer{Status: 201, Body: []byte("{}")}); err != nil {
					return err
				}
				return context.Canceled
			})
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	}
}

// TestClaimEndsByItself: the claim of a server that died is another's once its
// lease is over, and from then on the first one commits nothing.
func TestClaimEndsByItself(t *testing.T) {
	t.Parallel()
	s := onceSite(t)
	later := *s
	later.Now = s.Now.Add(time.Minute)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Items: 1, Lease: time.Minute}
	other := a
	other.Body = strings.Repeat("c", 64)
	keep := func(site *Site, l *Ledger, body string) error {
		return site.write(t.Context(), "keep", func(tx *Site) error {
			return l.Keep(t.Context(), tx, Answer{Status: 201, Body: []byte(body)})
		})
	}
	err := s.Once(t.Context(), a, func(stalled *Ledger) error {
		if err := s.Once(t.Context(), a, func(*Ledger) error { return nil }); domain.CodeOf(err) != domain.CodeInProgress {
			t.Errorf("during the lease: %v", err)
		}
		err := later.Once(t.Context(), other, func(l *Ledger) error {
			if err := keep(s, stalled, "stalled"); domain.CodeOf(err) != domain.CodeInProgress {
				t.Errorf("the first one, without its claim: %v", err)
			}
			return keep(&later, l, "second")
		})
		if err != nil {
			t.Error(err)
		}
		return keep(s, stalled, "stalled")
	})
	if domain.CodeOf(err) != domain.CodeInProgress {
		t.Errorf("the first one, after the answer: %v", err)
	}
	err = later.Once(t.Context(), other, func(l *Ledger) error {
		if got := l.Answers(); len(got) != 1 || string(got[0].Body) != "second" {
			t.Errorf("kept %v", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestClaimsOfRivals: of many tries at the same moment one works, and all others
// are told so at once.
func TestClaimsOfRivals(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Items: 1, Lease: time.Minute}
	const tries = 40
	done := make(chan struct{})
	refused := make(chan error, tries)
	var works atomic.Int32
	var all sync.WaitGroup
	for i := range tries {
		all.Go(func() {
			refused <- r.sites[i%2].Once(t.Context(), a, func(*Ledger) error {
				works.Add(1)
				<-done // until all others have their answer
				return nil
			})
		})
	}
	for range tries - 1 {
		if err := <-refused; domain.CodeOf(err) != domain.CodeInProgress {
			t.Errorf("error %v, want that a request is being processed", err)
		}
	}
	close(done)
	all.Wait()
	if err := <-refused; err != nil || works.Load() != 1 {
		t.Errorf("%d worked, error %v", works.Load(), err)
	}
}

// TestUnfinishedRequestGoesOn: a request of several items that failed in between
// goes on behind the items that were answered.
func TestUnfinishedRequestGoesOn(t *testing.T) {
	t.Parallel()
	s := onceSite(t)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64), Items: 3, Lease: time.Minute}
	keep := func(l *Ledger, item int) error {
		return s.KeepAnswers(t.Context(), l, Answer{Item: item, Status: 201, Body: []byte{byte(item)}})
	}
	failure := errors.New("failed in between")
	err := s.Once(t.Context(), a, func(l *Ledger) error { return errors.Join(keep(l, 0), failure) })
	if !errors.Is(err, failure) {
		t.Fatal(err)
	}
	for _, found := range []int{1, 3} {
		err := s.Once(t.Context(), a, func(l *Ledger) error {
			if len(l.Answers()) != found {
				t.Errorf("%d answers found, want %d", len(l.Answers()), found)
			}
			for item := len(l.Answers()); item < a.Items; item++ {
				if err := keep(l, item); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// The ledger of a request that nobody keeps.
func TestNoLedger(t *testing.T) {
	t.Parallel()
	var l *Ledger
	if l.Answers() != nil || l.Keep(t.Context(), nil, Answer{}) != nil {
		t.Error("a nil ledger has or takes answers")
	}
}
