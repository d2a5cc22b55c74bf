package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMoves: every pair of statuses. The contract's table has ten moves.
func TestMoves(t *testing.T) {
	t.Parallel()
	statuses := []string{StatusPending, StatusApproved, StatusCancelled, StatusCompleted, StatusNoShow}
	want := map[string]string{ // to each of them, in this order
		StatusPending:   "=yy--",
		StatusApproved:  "-=yyy",
		StatusCancelled: "yy=--",
		StatusCompleted: "--!=-", // by special permission
		StatusNoShow:    "-yy-=",
	}
	for _, from := range statuses {
		for i, to := range statuses {
			answer := want[from][i]
			if got := mayMove(from, to); got != (answer == 'y' || answer == '!') {
				t.Errorf("%s to %s: %t", from, to, got)
			}
			if got := uncompletes(from, to); got != (from == StatusCompleted && to != from) {
				t.Errorf("%s to %s takes back what was completed: %t", from, to, got)
			}
			var p Problems
			checkMove(&p, from, to)
			if got := p.Err() == nil; got != (answer != '-') {
				t.Errorf("%s to %s: %v", from, to, p.Err())
			}
		}
	}
}

func TestCheckMove(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, from, to, want string }{
		{"refused", StatusPending, StatusNoShow, "Cannot change from pending to no_show"},
		{"to no status at all", StatusApproved, "confirmed", "Cannot change from approved to confirmed"},
		{"from a status of the site's own", "in_progress", StatusApproved, "Bookings with the status in_progress cannot be moved"},
		{"staying in a status of the site's own", "in_progress", "in_progress", ""},
		{"case counts", StatusPending, "Approved", "Cannot change from pending to Approved"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var p Problems
			checkMove(&p, tt.from, tt.to)
			if got := p.refused["status"]; got != tt.want {
				t.Errorf("message %q, want %q", got, tt.want)
			}
		})
	}
	var known Problems
	known.Malform("status", "Not a text")
	checkMove(&known, StatusPending, StatusNoShow)
	if diff := cmp.Diff(map[string]string{"status": "Not a text"}, errorOf(t, known.Err()).Fields); diff != "" {
		t.Errorf("what is malformed is not looked at again (-want +got):\n%s", diff)
	}
}
