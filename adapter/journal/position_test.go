package journal

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// TestBehind: a position that does not match the entries moves past all assigned numbers, and its floor
// past all missing entries.
func TestBehind(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stored  position
		entries numbers
		given   int64
		fits    bool
		want    position
	}{
		"new":                      {position{}, numbers{}, 0, true, position{}},
		"as it should be":          {position{last: 9, floor: 3}, numbers{4, 9}, 0, true, position{last: 9, floor: 3}},
		"all deleted":              {position{last: 9, floor: 9}, numbers{}, 0, true, position{last: 9, floor: 9}},
		"no position":              {position{}, numbers{4, 9}, 9, false, position{last: 9, floor: 3}},
		"no position, no entries":  {position{}, numbers{}, 12, true, position{last: 12, floor: 12}},
		"no entries":               {position{last: 9, floor: 3}, numbers{}, 0, false, position{last: 9, floor: 9}},
		"oldest entries gone":      {position{last: 9, floor: 3}, numbers{6, 9}, 0, false, position{last: 9, floor: 5}},
		"newest entries gone":      {position{last: 9, floor: 3}, numbers{4, 7}, 0, false, position{last: 9, floor: 9}},
		"after newest were gone":   {position{last: 9, floor: 9}, numbers{4, 7}, 0, true, position{last: 9, floor: 9}},
		"position is older":        {position{last: 5, floor: 3}, numbers{4, 9}, 0, false, position{last: 9, floor: 3}},
		"webhooks know more":       {position{last: 5, floor: 3}, numbers{4, 7}, 11, false, position{last: 11, floor: 11}},
		"entries before the floor": {position{last: 9, floor: 5}, numbers{4, 9}, 0, true, position{last: 9, floor: 5}},
	} {
		expect.Equal(t, test.fits, test.stored.fits(test.entries), name, " fits")
		expect.Equal(t, test.want, test.stored.behind(test.entries, test.given), name)
	}
}

// later moves the clock to when the lease is due.
func (s *site) later() {
	s.t.Helper()
	s.worker.leased = time.Time{}
	s.work()
}

// TestLostTables: whichever table of the journal is emptied, numbers continue above all assigned ones,
// changes are numbered and found, and none is invented. A reader who may have missed something gets an
// error. Unless tests are thorough, each fault is tried with a server that goes on or one that is restarted, in turn.
func TestLostTables(t *testing.T) {
	t.Parallel()
	type fault struct {
		statements []string
		expired    []int64 // of the cursors 0 to 3
		logged     string
	}
	faults := map[string]fault{
		"positions":        {[]string{"TRUNCATE {own}change_positions"}, nil, "table of positions was empty"},
		"journal's row":    {[]string{"DELETE FROM {own}change_positions WHERE name = 'journal'"}, nil, "table of positions was empty"},
		"search's row":     {[]string{"DELETE FROM {own}change_positions WHERE name = 'search'"}, nil, ""},
		"site's row":       {[]string{"DELETE FROM {own}change_positions WHERE name = 'site'"}, nil, ""},
		"a resource's row": {[]string{"DELETE FROM {own}change_positions WHERE name = 'customers'"}, nil, ""},
		"entries":          {[]string{"TRUNCATE {own}changes"}, []int64{0, 1, 2}, "entries were missing"},
		"newest entry":     {[]string{"DELETE FROM {own}changes WHERE number = 3"}, []int64{0, 1, 2}, "entries were missing"},
		"snapshots":        {[]string{"TRUNCATE {own}change_snapshots"}, nil, "snapshots of the rows were missing"},
		"older positions":  {[]string{"UPDATE {own}change_positions SET position = 1 WHERE name = 'journal'"}, nil, "newer than the table of positions"},
		"inbox":            {[]string{"TRUNCATE {own}change_inbox"}, nil, ""},
		"all, but webhooks": {[]string{"TRUNCATE {own}change_positions", "TRUNCATE {own}changes", "TRUNCATE {own}change_snapshots", "TRUNCATE {own}change_inbox"},
			[]int64{0, 1, 2}, "table of positions was empty"},
	}
	for i, name := range slices.Sorted(maps.Keys(faults)) {
		fault := faults[name]
		for _, restarted := range []bool{false, true} {
			if restarted == (i%2 == 0) && !fixtures.Thorough() {
				continue
			}
			t.Run(name+map[bool]string{true: ", restarted"}[restarted], func(t *testing.T) {
				t.Parallel()
				s := openSite(t)
				for id := range int64(3) {
					s.enter(1, "DO 1", Change{Resource: Customers, ID: 1 + id, Kind: Updated})
				}
				s.work()
				s.next()
				s.exec("INSERT INTO " + s.Prefix + "bookside_webhooks (name, url, events, agents, services, locations, include_record, allow_private, key_id, secret, status, position, created_at) " +
					"VALUES ('', '', '', '', '', '', 0, 0, 0, '', 'enabled', 3, '2026-11-01')")
				for _, statement := range fault.statements {
					s.exec(strings.ReplaceAll(statement, "{own}", s.Prefix+"bookside_"))
				}
				if restarted {
					options := s.worker.Options
					s.j = New(s.db, s.j.now)
					s.worker = &worker{Journal: s.j, log: s.worker.log, Options: options}
				}
				s.later()
				s.want() // nothing is invented
				for cursor := range int64(4) {
					_, err := s.j.ReadBehind(t.Context(), cursor, nil, 10)
					want := domain.Code("")
					for _, expired := range fault.expired {
						if cursor == expired {
							want = domain.CodeCursorExpired
						}
					}
					expect.Equal(t, want, domain.CodeOf(err), "cursor ", cursor, ": ", err)
				}
				s.enter(7, "DO 1", Change{Resource: Customers, ID: 2, Kind: Updated})
				s.later()
				s.want(Entry{Resource: Customers, ID: 2, Kind: Updated, Origin: FromAPI, ActorID: 7})
				id, facts := s.booking()
				s.exec("UPDATE "+s.bookings()+" SET buffer_before = buffer_before + 1 WHERE id = ?", id)
				s.later()
				s.want(Entry{Resource: Bookings, ID: id, Kind: Updated, Origin: Found, Booking: &facts})
				if end, _ := s.j.Changed(); end.Number != 5 {
					t.Errorf("the journal ends at %v", end)
				}
				if log := s.log.String(); !strings.Contains(log, fault.logged) || fault.logged == "" && log != "" {
					t.Errorf("log %q, want %q", log, fault.logged)
				}
			})
		}
	}
}

// TestSiteID: the id of the tables is drawn once, and not again when other things are repaired, unless it
// is lost.
func TestSiteID(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	id := func() string {
		t.Helper()
		s.later()
		id, database, err := SiteID(t.Context(), s.db)
		if err != nil || len(id) < 26 || database == "" {
			t.Errorf("id %q, database %q, %v", id, database, err)
		}
		return id
	}
	first := id()
	s.exec("TRUNCATE " + s.Prefix + "bookside_change_snapshots")
	s.exec("DELETE FROM " + s.Prefix + "bookside_change_positions WHERE name = 'journal'")
	expect.Equal(t, first, id(), "the id of the journal")
	s.exec("TRUNCATE " + s.Prefix + "bookside_change_positions")
	if third := id(); third == first {
		t.Errorf("%s was drawn again", first)
	}
}

// TestRestoredUnderTheServer: if an older journal is restored while the server runs, numbers are assigned
// again, and earlier cursors expire.
func TestRestoredUnderTheServer(t *testing.T) {
	t.Parallel()
	for _, leader := range []bool{true, false} {
		s := openSite(t)
		change := func() {
			s.enter(1, "DO 1", Change{Resource: Customers, ID: 1, Kind: Updated})
			s.work()
		}
		change()
		change()
		restored, err := s.j.End(t.Context())
		expect.NoError(t, err)
		change()
		old, err := s.j.End(t.Context())
		if err != nil || old != restored.At(3) {
			t.Fatalf("end %v, %v", old, err)
		}
		s.exec("DELETE FROM " + s.Prefix + "bookside_changes WHERE number = 3")
		s.exec("UPDATE " + s.Prefix + "bookside_change_positions SET position = 2 WHERE name = 'journal'")
		if !leader {
			s.exec("UPDATE " + s.Prefix + "bookside_change_positions SET owner = 'other', expires_at = DATE_ADD(UTC_TIMESTAMP(), INTERVAL 1 HOUR) WHERE name = 'search'")
			s.later()
			s.exec("UPDATE " + s.Prefix + "bookside_change_positions SET owner = '' WHERE name = 'search'")
			s.worker.leased = time.Time{}
		}
		change()
		for _, cursor := range []Cursor{old, restored, {Number: 2}} {
			if _, err := s.j.Read(t.Context(), cursor, nil, 10); domain.CodeOf(err) != domain.CodeCursorExpired {
				t.Errorf("leader %t, cursor %v: %v", leader, cursor, err)
			}
		}
		if end, err := s.j.End(t.Context()); err != nil || end.Number != 3 || end.Epoch == old.Epoch {
			t.Errorf("leader %t: end %v, %v", leader, end, err)
		}
		if page, err := s.j.ReadBehind(t.Context(), 2, nil, 10); err != nil || len(page.Entries) != 1 {
			t.Errorf("leader %t: %+v, %v", leader, page, err)
		}
		if !s.j.RestoredUnder() {
			t.Errorf("leader %t: the process does not say so", leader)
		}
		expect.NoError(t, s.db.Transact(t.Context(), "restored", func(tx *wpdb.DB) error { return Restored(t.Context(), tx) }))
		change()
		if s.j.RestoredUnder() {
			t.Errorf("leader %t: the process still says so", leader)
		}
	}
}

// journalTables are the tables that make up the journal.
var journalTables = []string{"change_positions", "changes", "change_snapshots", "change_inbox"}

// backUp saves the journal; restore brings it back, like loading a dump.
func (s *site) backUp() (restore func()) {
	s.t.Helper()
	for _, table := range journalTables {
		s.exec("CREATE TABLE " + s.Prefix + "kept_" + table + " SELECT * FROM " + s.Prefix + "bookside_" + table)
	}
	return func() {
		s.t.Helper()
		for _, table := range journalTables {
			s.exec("TRUNCATE " + s.Prefix + "bookside_" + table)
			s.exec("INSERT INTO " + s.Prefix + "bookside_" + table + " SELECT * FROM " + s.Prefix + "kept_" + table)
		}
	}
}

// change adds an entry to the journal.
func (s *site) change() {
	s.t.Helper()
	s.enter(1, "DO 1", Change{Resource: Customers, ID: 1, Kind: Updated})
	s.work()
}

// TestRestoredUnderAnIdleServer: a restored older journal is noticed, and logged once, without any change,
// and it is forgotten as soon as somebody confirms that a backup was restored.
func TestRestoredUnderAnIdleServer(t *testing.T) {
	t.Parallel()
	const logged = "an older database came back while the server ran"
	restored := func(s *site) {
		expect.NoError(t, s.db.Transact(t.Context(), "restored", func(tx *wpdb.DB) error { return Restored(t.Context(), tx) }))
	}
	for name, said := range map[string]bool{"noticed": false, "somebody said so before": true} {
		s := openSite(t)
		s.change()
		restore := s.backUp()
		s.change()
		old, err := s.j.End(t.Context())
		expect.NoError(t, err)
		restore()
		if said {
			restored(s)
		}
		for range 2 {
			s.later()
		}
		if end, err := s.j.End(t.Context()); err != nil || end.Epoch == old.Epoch || end.Number != 1 {
			t.Errorf("%s: the journal ends at %v, %v", name, end, err)
		}
		if s.j.RestoredUnder() == said || strings.Count(s.log.String(), logged) != map[bool]int{false: 1}[said] {
			t.Errorf("%s: %t, log %s", name, s.j.RestoredUnder(), s.log.String())
		}
		if said {
			continue
		}
		wantLog := "the_journal_ended_at=" + old.String() + " ends_at=" + old.At(1).String()
		if !strings.Contains(s.log.String(), wantLog) {
			t.Errorf("no %s in %s", wantLog, s.log.String())
		}
		restored(s)
		s.later()
		if s.j.RestoredUnder() {
			t.Errorf("%s: it still says so", name)
		}
	}
}

// TestCursors: a written cursor is read back, and a plain number belongs to the first epoch.
func TestCursors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Cursor{"0": {}, "1042": {Number: 1042}, "k3q7m2xa-7": {"k3q7m2xa", 7}} {
		if got, ok := ParseCursor(text); !ok || got != want || got.String() != text {
			t.Errorf("%s: %v %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", "1-", "short-1", "k3q7m2xa-", "k3q7m2xa-1-1", "K3Q7M2XA-1", "9999999999999999999", "k3q7m2xa1"} {
		if got, ok := ParseCursor(text); ok {
			t.Errorf("%s: %v", text, got)
		}
	}
	if c := (Cursor{newEpoch(), 3}); c.Epoch == newEpoch() {
		t.Error("two epochs are equal")
	} else if got, ok := ParseCursor(c.String()); !ok || got != c {
		t.Errorf("%v: %v %t", c, got, ok)
	}
}

// TestFirstEpoch: a journal of an earlier version continues, with cursors that are numbers.
func TestFirstEpoch(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.exec("UPDATE " + s.Prefix + "bookside_change_positions SET signature = '' WHERE name = 'journal'")
	s.enter(1, "DO 1", Change{Resource: Customers, ID: 1, Kind: Updated})
	s.later()
	page, err := s.j.Read(t.Context(), Cursor{}, nil, 10)
	if err != nil || len(page.Entries) != 1 || page.Cursor.String() != "1" {
		t.Errorf("%+v, %v", page, err)
	}
}
