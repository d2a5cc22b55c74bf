package notify

import (
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestJobsAreDueOnDatesThereAre: a job due after the last date that can be stored is due on that date.
func TestJobsAreDueOnDatesThereAre(t *testing.T) {
	t.Parallel()
	p := Process{ActionsJSON: `[{"time_offset":{"value":"2","unit":"day","before_after":"after"}}]`}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for at, want := range map[string]string{"9999-12-31 23:00:00": "9999-12-31 23:59:59", "9999-12-29 10:00:00": "9999-12-31 10:00:00"} {
		event, err := time.Parse(time.DateTime, at)
		expect.NoError(t, err)
		if job, _ := p.job(Subject{}, event, now); job.DueAt.Format(time.DateTime) != want {
			t.Errorf("%s: due at %s, want %s", at, job.DueAt.Format(time.DateTime), want)
		}
	}
}
