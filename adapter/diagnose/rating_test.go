package diagnose

import (
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/upkeep"
	"github.com/bookside/bookside/adapter/webhooks"
)

// TestRatedItems: ten of many items are named, and beyond a bound the total is not given.
func TestRatedItems(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		1: "1 failing since", 10: "10 failing", 11: "and more", upkeep.WorkListLimit: "more than 100 failing",
	} {
		var work upkeep.WebhookWork
		for id := range n {
			work.Failing = append(work.Failing, webhooks.Trouble{ID: int64(id)})
		}
		list := Rate(upkeep.Work{Webhooks: &work})
		if line := list[0].Line(); len(list) != 1 || !strings.Contains(line, want) || n == 10 && strings.Contains(line, "more") {
			t.Errorf("%d: %d ratings, %s, want %s", n, len(list), line, want)
		}
	}
}

// TestRatedChanges: a database restored under the server is reported until its owner acknowledges it,
// however soon changes get their numbers.
func TestRatedChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		restored bool
		waiting  time.Duration
		want     Code
		level    Level
	}{{false, time.Minute, ChangesGood, Good}, {false, time.Minute + time.Second, ChangesLate, Broken}, {true, 0, RestoredUnder, Broken}, {true, time.Hour, RestoredUnder, Broken}} {
		list := Rate(upkeep.Work{Restored: c.restored, ChangesWaiting: &c.waiting})
		if len(list) != 1 || list[0].Code != c.want || list[0].Level != c.level {
			t.Errorf("%v, %v: %+v", c.restored, c.waiting, list)
		}
	}
	for told, want := range map[bool]string{false: "messages about bookings are not sent, and confirmation_sent is false", true: "reminders are not sent"} {
		if r := Rate(upkeep.Work{Jobs: &upkeep.JobWork{Told: told}})[0]; r.Level != Minor || !strings.Contains(r.Line(), want) {
			t.Errorf("jobs that the site does not run: %s, want %s", r.Line(), want)
		}
	}
}
