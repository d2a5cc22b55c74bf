package diagnose

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/language"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// clockTolerance is how far two clocks may differ without a warning.
const clockTolerance = 30 * time.Second

// warnings returns what will not work although the site can be served.
func (e *examination) warnings() []Sentence {
	warnings := e.Privileges.warnings(e.db)
	for _, u := range e.Platform.Unwritable {
		warnings = append(warnings, Say("requests that write %s will be refused: %s", e.db.FullName(u.Table), u.Reason))
	}
	if e.ClockDifference.Abs() > clockTolerance {
		warnings = append(warnings, Say("the clock of the database server differs by %s from that of this machine; synchronize both by NTP", e.ClockDifference.Round(time.Second)))
	}
	if e.Cluster != nil {
		warnings = append(warnings, clusterWarnings(*e.Cluster)...)
		if e.Platform.Companion != nil && e.Cluster.MultiPrimary() {
			warnings = append(warnings, Say("WordPress's lock holds on one node of the cluster: let WordPress and Bookside use the same node, or a customer of the site and one of the API can still get one slot"))
		}
	}
	if e.Keys != nil {
		for _, key := range e.Keys.Weak {
			warnings = append(warnings, weakKeyWarning(key))
		}
	}
	if len(e.WrongEnds) > 0 {
		warnings = append(warnings, wrongEndsWarning(e.WrongEnds))
	}
	if e.Platform.AgentOrder != "" {
		warnings = append(warnings, Say("the plugin does not know the site's any_agent_order, which is %s: it offers times for any agent and refuses to book them, and Bookside chooses at random; choose one in its settings", e.Platform.AgentOrder))
	}
	if e.Platform.Untranslated.Format != "" {
		warnings = append(warnings, e.Platform.Untranslated)
	}
	return warnings
}

// clusterWarnings returns what keeps requests from being served.
func clusterWarnings(c wpdb.Cluster) []Sentence {
	switch {
	case !c.Serving:
		return []Sentence{Say("the database server has lost its cluster or lags behind it (state %s); until it is back, requests that write will fail, and on Galera all requests", cmp.Or(c.State, "unknown"))}
	case c.ReadOnly:
		return []Sentence{Say("the database server is read-only: requests that write will fail; configure a server that accepts writes")}
	case c.Kind == wpdb.Replica:
		return []Sentence{Say("the database server is a replica of another one, which will not see what is written here; configure that one")}
	default:
		return nil
	}
}

func weakKeyWarning(key keys.Key) Sentence {
	if key.Weakness() == keys.MaybeWeak {
		return Say("the API key %d (%s) was imported by an earlier version and has 15 to 17 characters; if it has 15, it can be guessed: give its clients a new one from keys create, and revoke it", key.ID, key.Name)
	}
	return Say("the API key %d (%s) is too short or too simple and can be guessed: give its clients a new one from keys create, and revoke it", key.ID, key.Name)
}

// namedBookings is the most bookings that a warning names.
const namedBookings = 10

// wrongEndsWarning names the bookings whose stored end cannot be right.
func wrongEndsWarning(ids []int64) Sentence {
	named := make([]Sentence, 0, namedBookings+1)
	for _, id := range ids[:min(len(ids), namedBookings)] {
		named = append(named, Say("%d", id))
	}
	if len(ids) > namedBookings {
		named = append(named, Say("and more"))
	}
	return Say("bookings end before they begin, or later than on the next day: %s; they count as ending when their duration is over: save them once in the site's administration", list(named))
}

// untranslated says why texts that are stored or mailed are not in the site's language; it is empty if they are.
func untranslated(ctx context.Context, s *session.Session) (Sentence, error) {
	problem, err := session.TranslationProblem(ctx, s)
	if problem == nil || err != nil {
		return Sentence{}, err
	}
	return translationWarning(*problem), nil
}

func translationWarning(problem language.Problem) Sentence {
	remedy := Say("%s: let Bookside's user read it, or install the translation again", problem.Reason)
	switch {
	case errors.Is(problem.Reason, language.ErrNoContent):
		remedy = Say("Bookside does not know where the site's files are: name its wp-content in wordpress.content")
	case errors.Is(problem.Reason, fs.ErrNotExist):
		remedy = Say("%s: if that is not the site's wp-content, correct wordpress.content; otherwise the plugin is not translated and writes English, too", problem.Reason)
	}
	return Say("the site's language is %s, but texts that Bookside stores or mails are English. %s", problem.Locale, remedy)
}
