package domain

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestOutcomeIsStored(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	tests := []struct {
		name    string
		outcome Outcome
		set     string
		args    []any
	}{
		{"waits", Outcome{Waiting, now.Add(time.Minute), "refused"}, "", []any{"waiting", "2026-11-21 09:31:00", "refused"}},
		{"given up", Outcome{Failed, now, "rejected"}, ", finished_at = ?", []any{"failed", "2026-11-21 09:30:00", "rejected", "2026-11-21 09:30:00"}},
		{"long failure", Outcome{Waiting, now, strings.Repeat("ö", 200) + "\xff"}, "", []any{"waiting", "2026-11-21 09:30:00", strings.Repeat("ö", 190)}},
	}
	for _, test := range tests {
		text, args, err := test.outcome.Update("mails", now).Where("id = 1").ToSql()
		if want := "UPDATE mails SET status = ?, due_at = ?, failure = ?" + test.set + " WHERE id = 1"; err != nil || text != want {
			t.Errorf("%s: statement %s, error %v", test.name, text, err)
		}
		expect.Equal(t, test.args, args, test.name)
	}
}

// TestMessageIDStays: receivers know messages of earlier versions by these ids.
func TestMessageIDStays(t *testing.T) {
	t.Parallel()
	expect.Equal(t, "5ab111b80d9137c8b18371318fc4a59c", MessageID("wp_", int64(7), "2026-11-21 09:30:00"), "of a mail")
	expect.Equal(t, "34c2087ecc6d37f36aa2ce100193d213", MessageID("wp_", int64(3), int64(7), "2026-11-21 09:30:00"), "of a delivery")
}

func TestRepeatWorksAtOnceWhenWokenAndAtIntervals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		start, waker := time.Now(), NewWaker()
		var worked []time.Duration
		go Repeat(ctx, time.Minute, waker, func() { worked = append(worked, time.Since(start)) })
		time.Sleep(10 * time.Second)
		for range 3 { // one is taken at once, one is kept for later, one is dropped
			waker.Wake()
		}
		time.Sleep(111 * time.Second)
		cancel()
		synctest.Wait()
		waker.Wake()
		time.Sleep(time.Hour)
		expect.Equal(t, []time.Duration{0, 10 * time.Second, 10 * time.Second, time.Minute, 2 * time.Minute}, worked)
	})
}

func TestOutlivedContextEndsAfterTheGrace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		outlived, release := Outlive(ctx, time.Minute)
		defer release()
		time.Sleep(time.Hour)
		cancel()
		time.Sleep(time.Minute - time.Second)
		if outlived.Err() != nil {
			t.Error("ended within the grace")
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if outlived.Err() == nil {
			t.Error("goes on after the grace")
		}
		other, release := Outlive(t.Context(), time.Minute)
		release()
		if other.Err() == nil {
			t.Error("goes on after its release")
		}
	})
}
