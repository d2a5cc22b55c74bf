package monitor

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// When work counts as late. Each is longer than the work takes while everything runs.
const (
	jobsLate     = 30 * time.Minute   // WordPress's cron runs them every five minutes
	eventsRecent = 3 * 24 * time.Hour // how long a failed event deserves attention
	eventsLate   = 10 * time.Minute   // twice the longest pause between two tries
	expiresSoon  = 7 * 24 * time.Hour
)

// examineWork reports on background work, with a fixed number of statements, each of which returns a bounded number
// of rows. Work whose table is missing or may not be read is left out.
func examineWork(ctx context.Context, p *session.Platform) (list []Entry, err error) {
	for _, examine := range []func(context.Context, *session.Platform) ([]Entry, error){changesEntries, siteEntries, webhookEntries, expiryEntries, eventEntries} {
		found, err := examine(ctx, p)
		list = append(list, found...)
		if unknowable := errors.Is(err, wpdb.ErrSchema) || errors.Is(err, wpdb.ErrAccessDenied) || domain.CodeOf(err) == domain.CodeUnavailable; err != nil && !unknowable {
			return list, err
		}
	}
	return list, nil
}

// changesEntries says whether an older database was restored under the server, and how long the oldest change
// has been waiting for its number.
func changesEntries(ctx context.Context, p *session.Platform) ([]Entry, error) {
	if p.Journal.RestoredUnder() {
		return []Entry{{Code: RestoredUnder, Level: Broken, Text: Say("an older database came back while the server ran"), Do: Say("Run bookside restored.")}}, nil
	}
	waiting, err := journal.Waiting(ctx, p.DB, p.Now())
	if err != nil {
		return nil, err
	}
	return []Entry{changesEntry(waiting, p.Now())}, nil
}

func changesEntry(waiting time.Duration, now time.Time) Entry {
	if waiting <= journal.Late {
		return Entry{Code: ChangesGood, Text: Say("none waits for its number")}
	}
	return Entry{Code: ChangesLate, Level: Broken, Since: now.Add(-waiting), Do: Say("See that serve is running, and what its log says."),
		Text: Say("the oldest has been waiting for its number for %s: webhooks and the readers of /changes do not get it", waiting.Truncate(time.Second))}
}

// siteEntries are about the work in the site itself.
func siteEntries(ctx context.Context, p *session.Platform) ([]Entry, error) {
	site, err := p.Session(ctx)
	if err != nil {
		return nil, err
	}
	list := []Entry{writesEntry(site)}
	jobs, err := jobsEntry(ctx, site)
	if err != nil {
		return list, err
	}
	list = append(list, jobs)
	active, err := site.Extensions(ctx)
	if err != nil {
		return list, err
	}
	list = append(list, extensionsEntry(active))
	if len(extensions.AskedOf(active)) > 0 && site.Platform.Asker != nil && site.Platform.Asker.Unanswered() {
		list = append(list, Unanswered(Say("WordPress does not answer what extensions decide")))
	}
	return list, nil
}

// Unanswered is the entry about a WordPress that does not answer.
func Unanswered(text Sentence) Entry {
	return Entry{Code: ExtensionsUnanswered, Level: Minor, Text: text, Do: Say("See wordpress.loopback, and whether the companion is active.")}
}

// writesEntry says which writes the tables or the database user do not allow.
func writesEntry(s *session.Session) Entry {
	found := Entry{Code: WritesRefused, Level: Minor}
	if s.DB.RefusesWrites() {
		found.Level, found.Text = Broken, Say("the database server refuses all of them, because its binlog_format is STATEMENT")
		found.Do = Say("Set binlog_format to ROW or MIXED in the server's configuration, or grant the database user BINLOG ADMIN (on MySQL SESSION_VARIABLES_ADMIN), with which it asks for ROW itself.")
		return found
	}
	var reasons []Sentence
	for _, u := range s.Schema.Unwritables() {
		reasons = append(reasons, Say("%s: %s", s.DB.FullName(u.Table), u.Reason))
	}
	if lacking := s.DB.RefusedWrites().In(s.DB); lacking != "" {
		reasons = append(reasons, Say("the database user lacks %s", lacking))
		found.Do = Say("Grant what bookside check prints.")
	}
	if len(reasons) == 0 {
		return Entry{Code: WritesGood, Text: Say("none is refused by the database")}
	}
	found.Text = Say("%s: requests that write there are refused", list(reasons))
	return found
}

// jobsEntry is about messages, which only the site sends: its cron, or the plugin if the companion tells it to.
func jobsEntry(ctx context.Context, s *session.Session) (Entry, error) {
	options, err := s.DB.OptionValues(ctx, "cron")
	if err != nil {
		return Entry{}, err
	}
	late := Entry{Code: JobsLate, Level: Minor, Do: Say("Let the site's cron run.")}
	if s.Schema.Has(wpdb.ProcessJobs) {
		found, err := notify.LateJobs(ctx, s, s.Now.Add(-jobsLate), ItemLimit)
		if err != nil {
			return Entry{}, err
		}
		for i, job := range found {
			if i == 0 {
				late.Since, _ = job.Due.Time()
			}
			item := Item{ID: job.ID}
			if job.ObjectType != "" {
				item.Name = job.ObjectType + " " + strconv.FormatInt(job.ObjectID, 10)
			}
			late.Items = append(late.Items, item)
		}
	}
	switch runs := strings.Contains(options["cron"], notify.JobCron); {
	case len(late.Items) > 0:
		late.Text = Say("%s late since %s, such as reminders: the site's cron does not run, or not its jobs", late.Count(), Moment{late.Since})
		return late, nil
	case runs:
		return Entry{Code: JobsGood, Text: Say("run by the site, none is late")}, nil
	}
	text := Say("not run by the site: its cron does not have them, so that messages about bookings are not sent, and confirmation_sent is false")
	if s.AsksForMessages() {
		text = Say("not run by the site: its cron does not have them, so that reminders are not sent")
	}
	return Entry{Code: JobsUnscheduled, Level: Minor, Text: text, Do: Say("Let the site's cron run.")}, nil
}

func webhookEntries(ctx context.Context, p *session.Platform) (list []Entry, err error) {
	failing, ended, err := jobs.FindTrouble(ctx, p.DB, ItemLimit)
	if err != nil {
		return nil, err
	}
	if len(failing) > 0 {
		found := Entry{Code: WebhooksFailing, Level: Minor, Do: Say("Open it: its log says what the receiver answered.")}
		for _, hook := range failing {
			found.Items = append(found.Items, Item{hook.ID, hook.Name})
			if since, ok := hook.Since.Time(); ok && (found.Since.IsZero() || since.Before(found.Since)) {
				found.Since = since
			}
		}
		found.Text = Say("%s failing since %s", found.Count(), Moment{found.Since})
		list = append(list, found)
	}
	if len(ended) > 0 {
		found := Entry{Code: WebhooksDisabled, Level: Minor, Do: Say("Enable it once its receiver works, or delete it.")}
		for _, hook := range ended {
			found.Items = append(found.Items, Item{hook.ID, hook.Name + ", " + hook.Reason})
		}
		found.Text = Say("%s disabled, but by nobody", found.Count())
		list = append(list, found)
	}
	if len(list) == 0 {
		list = append(list, Entry{Code: WebhooksGood, Text: Say("none fails")})
	}
	return list, nil
}

// expiryEntries has an entry if keys expire soon.
func expiryEntries(ctx context.Context, p *session.Platform) ([]Entry, error) {
	now := p.Now()
	expiring, err := keys.FindExpiring(ctx, p.DB, now, now.Add(expiresSoon), ItemLimit)
	if err != nil || len(expiring) == 0 {
		return nil, err
	}
	found := Entry{Code: KeysExpiring, Level: Minor, Do: Say("Roll it, and give the new key to those who use it.")}
	for _, key := range expiring {
		found.Items = append(found.Items, Item{key.ID, key.Name + ", " + string(key.At) + " UTC"})
	}
	found.Since, _ = expiring[0].At.Time()
	found.Text = Say("%s within a week, the first on %s", found.Count(), Moment{found.Since})
	return []Entry{found}, nil
}

// extensionsEntry says, for each extension that is not honoured, what matters most.
func extensionsEntry(active []extensions.Active) Entry {
	ignored := extensions.Ignored(active)
	switch {
	case len(active) == 0:
		return Entry{Code: ExtensionsGood, Text: Say("none")}
	case len(ignored) == 0:
		return Entry{Code: ExtensionsGood, Text: Say("all that take part are honoured: %s; bookside verify compares", extensions.Titles(active))}
	}
	texts := make([]string, len(ignored))
	for i, e := range ignored {
		texts[i] = e.Title + ": " + strings.TrimSuffix(e.Parts[0].Means, ".")
		if more := e.NotHonoured() - 1; more > 0 {
			texts[i] += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return Entry{Code: ExtensionsIgnored, Level: Minor, Text: Say("not honoured: %s", strings.Join(texts, "; ")), Do: Say("Read what that means for bookings by the API.")}
}

// eventEntries are about what extensions were told and failed to take, and what they have not been told yet.
func eventEntries(ctx context.Context, p *session.Platform) (list []Entry, err error) {
	now := p.Now()
	troubled, err := extensions.TroubledEvents(ctx, p.DB, now.Add(-eventsRecent), now.Add(-eventsLate), ItemLimit)
	if err != nil {
		return nil, err
	}
	failed := Entry{Code: ExtensionsFailed, Level: Minor, Do: Say("Tell them again once the extension works.")}
	late := Entry{Code: ExtensionsLate, Level: Minor, Do: Say("See wordpress.loopback, and whether the companion is active.")}
	for _, event := range troubled {
		found := &late
		if event.State == extensions.EventFailed {
			found = &failed
		}
		found.Items = append(found.Items, Item{event.ID, fmt.Sprintf("%s %d", event.Name, event.RecordID)})
	}
	if len(failed.Items) > 0 {
		failed.Text = Say("%s changes of the last three days failed in an extension of the site", failed.Count())
		list = append(list, failed)
	}
	if len(late.Items) > 0 {
		late.Text = Say("%s changes have waited for more than 10 minutes to be told to extensions of the site", late.Count())
		list = append(list, late)
	}
	return list, nil
}
