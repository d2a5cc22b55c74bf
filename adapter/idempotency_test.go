package adapter

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"bookside/fixtures"
)

// onceSite is a site with tables of ours.
func onceSite(t *testing.T) *Site {
	t.Helper()
	fixtures.RequireServer(t)
	db := openDatabase(t, fixtures.New(t, fixtures.Legacy()))
	if err := db.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
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
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64)}
	other := Attempt{Scope: strings.Repeat("A", 64), Body: a.Body}
	kept := []Answer{{Item: 0, Status: 201, Body: []byte(`{"a":"<é>"}`)}, {Item: 1, Status: 422, Body: []byte("\x00\xff")}}
	nothing := func(*Site, *Ledger) error { return nil }
	err := s.Once(t.Context(), a, func(site *Site, l *Ledger) error {
		if len(l.Answers()) != 0 {
			t.Errorf("answers %v before the first", l.Answers())
		}
		if err := s.Once(t.Context(), a, nothing); CodeOf(err) != CodeInProgress {
			t.Errorf("beside it: %v", err)
		}
		if err := s.Once(t.Context(), other, nothing); err != nil {
			t.Errorf("another request beside it: %v", err)
		}
		return site.write(t.Context(), "keep", func(tx *Site) error { return l.Keep(t.Context(), tx, kept...) })
	})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Once(t.Context(), a, func(site *Site, l *Ledger) error {
		if diff := cmp.Diff(kept, l.Answers()); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		return l.Keep(t.Context(), site, kept[1]) // as another server of a cluster would
	})
	if CodeOf(err) != CodeInProgress {
		t.Errorf("kept twice: %v", err)
	}
	reused := Attempt{Scope: a.Scope, Body: strings.Repeat("c", 64)}
	if err := s.Once(t.Context(), reused, nothing); CodeOf(err) != CodeKeyReused {
		t.Errorf("another body: %v", err)
	}
}

// What is rolled back is not kept.
func TestOnceRolledBack(t *testing.T) {
	t.Parallel()
	s := onceSite(t)
	a := Attempt{Scope: strings.Repeat("a", 64), Body: strings.Repeat("b", 64)}
	for range 2 {
		err := s.Once(t.Context(), a, func(site *Site, l *Ledger) error {
			if len(l.Answers()) != 0 {
				t.Errorf("answers %v", l.Answers())
			}
			return site.write(t.Context(), "keep", func(tx *Site) error {
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

// The ledger of a request that nobody keeps.
func TestNoLedger(t *testing.T) {
	t.Parallel()
	var l *Ledger
	if l.Answers() != nil || l.Keep(t.Context(), nil, Answer{}) != nil {
		t.Error("a nil ledger has or takes answers")
	}
}
