package monitor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// examinePlugin reports whether there is a site that can be served, and then what it is like.
func (e *examination) examinePlugin(ctx context.Context) error {
	if e.Privileges.SiteUnreadable() {
		return nil
	}
	options, err := e.db.OptionValues(ctx, "latepoint_db_version")
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	down := Entry{Code: Plugin, Level: Broken}
	site, err := e.platform.Session(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) { // to sitemeta, which has the plugins that are active for a whole network
		down.Text = Say("LatePoint is not active on this site itself")
		down.Do = Say("Activate it, or, if it is active for a whole network, grant the database user SELECT on %s.", e.db.FullName(wpdb.Sitemeta))
		e.add(down)
		return nil
	}
	if err == nil {
		err = session.CheckColumns(site)
	}
	var known *domain.Error
	switch {
	case err == nil:
		// This is not the plugin's version, which is numbered differently.
		e.add(Entry{Code: Plugin, Text: Say("LatePoint is active, the version of its tables is %s", wpdb.PlainText(options["latepoint_db_version"]))},
			Entry{Code: TimeZone, Text: Say("%s, now %s", site.Zone.Name, site.Now.In(site.Zone.Location).Format(time.DateTime))})
		return e.examineSite(ctx, site)
	case !errors.As(err, &known) || known.Code != domain.CodeUnavailable:
		return err
	}
	down.Text, down.Do = Say("%s", known.Message), Say("Activate LatePoint 5 in the site's administration, so that it creates its tables.")
	switch known.Down {
	case domain.NoWordPress:
		down.Text, down.Do = Say("No WordPress tables under this prefix"), Say("Correct the table prefix, db.prefix.")
	case domain.PluginInactive:
		down.Text = Say("LatePoint is not active on this site")
	case domain.PluginTooOld:
		down.Text = Say("LatePoint 5 is not installed on this site")
	case domain.NoColumns:
		down.Do = Say("Deactivate LatePoint in the site's administration and activate it again, so that it completes its tables.")
	}
	e.add(down)
	return nil
}

// examineSite examines a site that can be served.
func (e *examination) examineSite(ctx context.Context, site *session.Session) error {
	e.add(e.companionEntry(site))
	if site.Companion() != nil && e.cluster.MultiPrimary() {
		e.add(Entry{Code: OneNode, Level: Minor, Text: Say("WordPress's lock holds on one node of the cluster, so that a customer of the site and one of the API can still get one slot"),
			Do: Say("Let WordPress and Bookside use the same node.")})
	}
	order, err := site.AgentOrder(ctx)
	if err != nil {
		return err
	}
	if !order.Known() {
		e.add(Entry{Code: AgentOrder, Level: Minor, Do: Say("Choose one in its settings."),
			Text: Say("the plugin does not know the site's any_agent_order, which is %s: it offers times for any agent and refuses to book them, and Bookside chooses at random", string(order))})
	}
	if !site.Platform.Config.DefaultStatusOfSite {
		statuses, err := slots.UnconfirmedStatuses(ctx, site)
		if err != nil {
			return err
		}
		if len(statuses) > 0 {
			e.add(Entry{Code: DefaultStatus, Level: Minor, Do: Say("If you confirm bookings by hand, set bookings.default_status to site."),
				Text: Say("the site's new bookings are %s, but those of the API are approved unless they are sent with a status", strings.Join(statuses, ", "))})
		}
	}
	problem, err := session.TranslationProblem(ctx, site)
	if err != nil {
		return err
	}
	if problem != nil {
		e.add(languageEntry(*problem))
	}
	if err := e.examineBookings(ctx, site); err != nil {
		return err
	}
	// The site can be served without indexes, so an error is ignored.
	if list, err := records.SurveyIndexes(ctx, e.db); err == nil {
		e.add(e.indexesEntry(list))
	}
	return nil
}

func (e *examination) companionEntry(site *session.Session) Entry {
	found := Entry{Code: Companion, Level: Minor}
	c := site.Companion()
	if c == nil {
		found.Text = Say("none in WordPress, which therefore takes no locks")
		found.Do = Say("Upload what bookside companion writes in wp-admin, under Plugins, Add New Plugin.")
		return found
	}
	seen := c.Seen.UTC().Format(time.DateOnly)
	if c.Silent(site.Now) {
		found.Text = Say("%s, not seen since %s: if it was removed, WordPress takes no locks", c.Version, seen)
		found.Do = Say("See wp-admin, Plugins.")
		return found
	}
	return Entry{Code: Companion, Text: Say("%s, last seen on %s", c.Version, seen)}
}

// languageEntry says why texts that are stored are not in the site's language.
func languageEntry(problem text.TranslationProblem) Entry {
	found := Entry{Code: Language, Level: Minor, Text: Say("the site's language is %s, but texts that Bookside stores are English: %s", problem.Locale, problem.Reason)}
	switch {
	case errors.Is(problem.Reason, text.ErrNoContent):
		found.Text = Say("the site's language is %s, but texts that Bookside stores are English, because it does not know where the site's files are", problem.Locale)
		found.Do = Say("Name its wp-content in wordpress.content.")
	case errors.Is(problem.Reason, fs.ErrNotExist):
		found.Do = Say("If that is not the site's wp-content, correct wordpress.content; otherwise the plugin is not translated and writes English, too.")
	default:
		found.Do = Say("Let Bookside's user read it, or install the translation again.")
	}
	return found
}

func (e *examination) examineBookings(ctx context.Context, site *session.Session) (err error) {
	if e.Conflicts, err = slots.FindConflicts(ctx, site); err != nil {
		return err
	}
	overlaps := Entry{Code: Overlaps, Text: Say("none of %d bookings from today on", e.Conflicts.Bookings)}
	if pairs := e.Conflicts.Conflicts; len(pairs) > 0 {
		overlaps.Level, overlaps.Text = Minor, Say("%s, of %d from today on", e.OverlapCount(), e.Conflicts.Bookings)
		overlaps.Do = Say("Move one of each pair.")
		for _, pair := range pairs[:min(len(pairs), ItemLimit)] {
			overlaps.Items = append(overlaps.Items, Item{pair.First, fmt.Sprintf("+ %d", pair.Second)})
		}
		if e.Bookings, err = slots.ConflictingBookings(ctx, site, pairs); err != nil {
			return err
		}
		if e.Address, err = slots.Address(ctx, site); err != nil {
			return err
		}
	}
	e.add(overlaps)
	wrong, err := slots.WrongEnds(ctx, site, ItemLimit)
	if err != nil || len(wrong) == 0 {
		return err
	}
	entry := Entry{Code: WrongEnds, Level: Minor, Text: Say("bookings have no end, or one that is not after their start, or later than on the next day; they count as ending when their duration is over"),
		Do: Say("Save them once in the site's administration.")}
	for _, id := range wrong {
		entry.Items = append(entry.Items, Item{ID: id})
	}
	e.add(entry)
	return nil
}

// OverlapCount says how many bookings overlap.
func (r Report) OverlapCount() Sentence {
	switch n := len(r.Conflicts.Conflicts); {
	case r.Conflicts.Cut:
		return Say("%d or more pairs of bookings overlap", n)
	case n == 1:
		return Say("1 pair of bookings overlaps")
	default:
		return Say("%d pairs of bookings overlap", n)
	}
}

func (e *examination) indexesEntry(list []records.Index) Entry {
	missing := slices.DeleteFunc(list, func(i records.Index) bool { return i.State != records.Missing })
	if len(missing) == 0 {
		return Entry{Code: Indexes, Text: Say("none missing")}
	}
	first := fmt.Sprintf("%s (%s)", e.db.FullName(missing[0].Table), strings.Join(missing[0].Columns, ", "))
	return Entry{Code: Indexes, Level: Minor, Text: Say("%d missing, without which requests to large tables are slow, first of all %s", len(missing), first),
		Do: Say("Let an administrator of the database run what bookside indexes prints.")}
}

// examineOwnTables reports on our own tables, and on the keys in them.
func (e *examination) examineOwnTables(ctx context.Context) error {
	missing, err := e.db.MissingOwnTables(ctx)
	if err != nil {
		return err
	}
	unreadable := func(t wpdb.Table) bool { return slices.Contains(e.Privileges.Unreadable, t) } // which is reported as such
	lost := slices.DeleteFunc(slices.Clone(missing), unreadable)
	others := slices.DeleteFunc(wpdb.OwnTables(), func(t wpdb.Table) bool { return t == wpdb.Locks || slices.Contains(missing, t) })
	switch {
	case len(others) == 0: // the companion creates the table of locks, too
		e.add(Entry{Code: OwnTables, Level: Minor, Text: Say("none yet; serve and keys create create them")})
	case len(lost) > 0:
		e.add(Entry{Code: OwnTables, Level: Broken, Text: Say("missing %s; a running server is not ready without them", names(e.db, lost)), Do: Say("Restart serve, which creates them, empty.")})
	}
	if slices.Contains(missing, wpdb.APIKeys) {
		e.add(keysEntry(0, 0))
		return nil
	}
	statements, err := e.db.MigrationStatements(ctx)
	if err != nil {
		return err
	}
	if len(statements) > 0 {
		e.add(Entry{Code: OwnTables, Level: Broken, Text: Say("columns or indexes of this version are missing"), Do: Say("Run bookside migrate, or %s", strings.Join(statements, "; "))})
		return nil
	}
	if len(missing) == 0 {
		e.add(Entry{Code: OwnTables, Text: Say("complete")})
	}
	return e.examineKeys(ctx)
}

func keysEntry(valid, total int) Entry {
	found := Entry{Code: KeysGood, Text: Say("%d valid of %d", valid, total)}
	if valid == 0 {
		found.Level, found.Do = Minor, Say("Create one for the first app.")
	}
	return found
}

func (e *examination) examineKeys(ctx context.Context) error {
	stored, err := keys.NewStore(e.db, e.platform.Now, rand.Reader).List(ctx)
	if errors.Is(err, wpdb.ErrAccessDenied) {
		return nil // the table is among the unreadable ones
	}
	if err != nil {
		return err
	}
	valid, weak := 0, Entry{Code: KeysWeak, Level: Minor, Text: Say("too short or too simple, so that they can be guessed"),
		Do: Say("Give their clients new ones from keys create, and revoke them.")}
	for _, key := range stored {
		if key.Status(e.platform.Now()) != keys.Active {
			continue
		}
		valid++
		if key.Weak() && len(weak.Items) < ItemLimit {
			weak.Items = append(weak.Items, Item{key.ID, key.Name})
		}
	}
	e.add(keysEntry(valid, len(stored)))
	if len(weak.Items) > 0 {
		e.add(weak)
	}
	return nil
}
