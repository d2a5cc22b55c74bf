package diagnose

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/events"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/upkeep"
)

// Rating says how one kind of work is doing. All ratings are made here: for check, for the console and,
// through /readyz, for WordPress, which shows its own translation if it knows the code. The text names no
// customer.
type Rating struct {
	Finding
	Code  Code
	Since time.Time // of the first item; zero if there is none or it does not matter
	Items []Item    // all counted items, at most upkeep.WorkListLimit
}

// Code says what is rated.
type Code string

// The codes. Work that goes well has the name of its kind as code.
const (
	ChangesGood      Code = "changes"
	ChangesLate      Code = "changes_late"
	RestoredUnder    Code = "restored_under"
	WritesGood       Code = "writes"
	WritesRefused    Code = "writes_refused"
	JobsGood         Code = "jobs"
	JobsUnscheduled  Code = "jobs_unscheduled"
	JobsLate         Code = "jobs_late"
	WebhooksGood     Code = "webhooks"
	WebhooksFailing  Code = "webhooks_failing"
	WebhooksDisabled Code = "webhooks_disabled"
	KeysGood         Code = "keys"
	KeysExpiring     Code = "keys_expiring"

	ExtensionsGood    Code = "extensions"
	ExtensionsIgnored Code = "extensions_ignored"
	ExtensionsFailed  Code = "extensions_failed"
	ExtensionsLate    Code = "extensions_late"
)

// Item is one of the items that a rating counts.
type Item struct {
	ID   int64
	Name string // with what is known of it; "" for nothing
}

func (i Item) String() string {
	if i.Name == "" {
		return strconv.FormatInt(i.ID, 10)
	}
	return fmt.Sprintf("%d (%s)", i.ID, i.Name)
}

// Named is the maximum number of items that are named; the rest is only counted.
const Named = 10

// Count says how many items there are.
func (r Rating) Count() Sentence { return count(len(r.Items)) }

// count says how many items were found, of which no more than upkeep.WorkListLimit are.
func count(items int) Sentence {
	if items >= upkeep.WorkListLimit {
		return Say("more than %d", upkeep.WorkListLimit-1)
	}
	return Say("%d", items)
}

// Line returns the text with the items.
func (r Rating) Line() string {
	if len(r.Items) == 0 {
		return r.Text.String()
	}
	var names []string
	for _, item := range r.Items[:min(len(r.Items), Named)] {
		names = append(names, item.String())
	}
	if len(r.Items) > Named {
		names = append(names, "and more")
	}
	return r.Text.String() + ": " + strings.Join(names, ", ")
}

// Rate rates the work of a site. Unknown kinds are left out.
func Rate(w upkeep.Work) (list []Rating) {
	if w.ChangesWaiting != nil { // a server that detects a restored database can read it
		r := RateChanges(w.Restored, *w.ChangesWaiting)
		if r.Code == ChangesLate {
			r.Since = w.Now.Add(-*w.ChangesWaiting)
		}
		list = append(list, r)
	}
	if w.Writes != nil {
		list = append(list, rateWrites(*w.Writes))
	}
	if w.Jobs != nil {
		list = append(list, rateJobs(*w.Jobs))
	}
	if w.Webhooks != nil {
		list = append(list, rateWebhooks(*w.Webhooks)...)
	}
	if w.Keys != nil {
		list = append(list, rateKeys(*w.Keys))
	}
	if w.Extensions != nil {
		list = append(list, rateExtensions(*w.Extensions))
	}
	if w.Events != nil {
		list = append(list, RateEvents(*w.Events)...)
	}
	return list
}

func rated(level Level, code Code, name string, text Sentence) Rating {
	return Rating{Finding: Finding{level, name, text}, Code: code}
}

// RateChanges rates the journal: whether an older database was restored under the server, and how long the
// oldest change has been waiting for its number.
func RateChanges(restored bool, waiting time.Duration) Rating {
	const name = "changes"
	switch {
	case restored:
		return rated(Broken, RestoredUnder, name, Say("an older database came back while the server ran: run bookside restored"))
	case waiting > journal.Late:
		return rated(Broken, ChangesLate, name, Say("the oldest has been waiting for its number for %s: webhooks and the readers of /changes do not get it; see that serve is running, and what its log says", waiting.Truncate(time.Second)))
	default:
		return rated(Good, ChangesGood, name, Say("none waits for its number"))
	}
}

func rateWrites(problem string) Rating {
	const name = "writes"
	if problem != "" {
		return rated(Minor, WritesRefused, name, Say("%s", problem))
	}
	return rated(Good, WritesGood, name, Say("none is refused by the database"))
}

func rateJobs(w upkeep.JobWork) Rating {
	const name = "jobs"
	switch {
	case len(w.Late) > 0:
		r := rated(Minor, JobsLate, name, Sentence{})
		for _, job := range w.Late {
			r.Items = append(r.Items, Item{job.ID, job.Object})
		}
		r.Since, _ = w.Late[0].Due.Time()
		r.Text = Say("%s late since %s, such as reminders: the site's cron does not run, or not its jobs", r.Count(), Moment{r.Since})
		return r
	case !w.Run && w.Told:
		return rated(Minor, JobsUnscheduled, name, Say("not run by the site: its cron does not have them, so that reminders are not sent"))
	case !w.Run:
		return rated(Minor, JobsUnscheduled, name, Say("not run by the site: its cron does not have them, so that messages about bookings are not sent, and confirmation_sent is false"))
	default:
		return rated(Good, JobsGood, name, Say("run by the site, none is late"))
	}
}

func rateWebhooks(w upkeep.WebhookWork) (list []Rating) {
	const name = "webhooks"
	if len(w.Failing) > 0 {
		r := rated(Minor, WebhooksFailing, name, Sentence{})
		for _, hook := range w.Failing {
			r.Items = append(r.Items, Item{hook.ID, hook.Name})
			if since, ok := hook.Since.Time(); ok && (r.Since.IsZero() || since.Before(r.Since)) {
				r.Since = since
			}
		}
		r.Text = Say("%s failing since %s; see its deliveries on the console", r.Count(), Moment{r.Since})
		list = append(list, r)
	}
	if len(w.Ended) > 0 {
		r := rated(Minor, WebhooksDisabled, name, Sentence{})
		for _, hook := range w.Ended {
			r.Items = append(r.Items, Item{hook.ID, hook.Name + ", " + hook.Reason})
		}
		r.Text = Say("%s disabled, but by nobody; enable or delete them", r.Count())
		list = append(list, r)
	}
	if len(list) == 0 {
		list = append(list, rated(Good, WebhooksGood, name, Say("none fails")))
	}
	return list
}

func rateKeys(expiring []keys.Expiring) Rating {
	const name = "key expiry"
	if len(expiring) == 0 {
		return rated(Good, KeysGood, name, Say("none within a week"))
	}
	r := rated(Minor, KeysExpiring, name, Sentence{})
	for _, key := range expiring {
		r.Items = append(r.Items, Item{key.ID, key.Name + ", " + string(key.At) + " UTC"})
	}
	r.Since, _ = expiring[0].At.Time()
	r.Text = Say("%s within a week, the first on %s; see bookside keys roll", r.Count(), Moment{r.Since})
	return r
}

// rateExtensions says, for each extension that is not honoured, what matters most.
func rateExtensions(active []extensions.Active) Rating {
	const name = "extensions"
	ignored := extensions.Ignored(active)
	switch {
	case len(active) == 0:
		return rated(Good, ExtensionsGood, name, Say("none"))
	case len(ignored) == 0:
		return rated(Good, ExtensionsGood, name, Say("all that take part are honoured: %s; bookside verify compares", extensions.Titles(active)))
	}
	texts := make([]string, len(ignored))
	for i, e := range ignored {
		texts[i] = e.Title + ": " + strings.TrimSuffix(e.Parts[0].Means, ".")
		if more := e.NotHonoured() - 1; more > 0 {
			texts[i] += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return rated(Minor, ExtensionsIgnored, name, Say("not honoured: %s; see bookside check", strings.Join(texts, "; ")))
}

// RateEvents rates what extensions were told and failed to take, and what they have not been told yet.
func RateEvents(troubled []events.Stored) (list []Rating) {
	failed, late := rated(Minor, ExtensionsFailed, "extensions", Sentence{}), rated(Minor, ExtensionsLate, "extensions", Sentence{})
	for _, e := range troubled {
		r := &late
		if e.State == events.Failed {
			r = &failed
		}
		r.Items = append(r.Items, Item{e.ID, fmt.Sprintf("%s %d", e.Name, e.RecordID)})
	}
	if len(failed.Items) > 0 {
		failed.Text = Say("%s changes of the last three days failed in an extension of the site; see the console", failed.Count())
		list = append(list, failed)
	}
	if len(late.Items) > 0 {
		late.Text = Say("%s changes have waited for more than 10 minutes to be told to extensions of the site; see wordpress.loopback and whether the companion is active", late.Count())
		list = append(list, late)
	}
	return list
}
