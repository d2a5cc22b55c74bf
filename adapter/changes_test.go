package adapter

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// entered is an entry about a record in the journal's inbox.
type entered struct {
	resource journal.Resource
	id       int64
}

// wantEntered checks that a write entered every row that it changed into the journal's inbox, with the new
// status of a booking, and empties the inbox.
func wantEntered(t *testing.T, database *fixtures.Database, changes []fixtures.Change) {
	t.Helper()
	want := map[entered]string{}
	for _, c := range changes {
		resource, ok := journal.ResourceOf(wpdb.Table(c.Table))
		if !ok {
			continue
		}
		id, err := strconv.ParseInt(c.Key, 10, 64)
		expect.NoError(t, err)
		var status any
		text := map[fixtures.Op]journal.Kind{fixtures.Insert: journal.Created, fixtures.Update: journal.Updated, fixtures.Delete: journal.Deleted}[c.Op]
		switch c.Op {
		case fixtures.Insert:
			status = c.Values["status"]
		case fixtures.Update:
			status = c.Changed["status"][1]
		}
		want[entered{resource, id}] = string(text)
		if word, ok := status.(string); ok && resource == journal.Bookings {
			want[entered{resource, id}] += " " + word
		}
	}
	got := inbox(t, database)
	for record, change := range got {
		// A row may be written with the values that it already has.
		if _, changed := want[record]; !changed && change == string(journal.Updated) {
			delete(got, record)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(entered{})); diff != "" {
		t.Errorf("changed rows and the inbox of the journal differ (-rows +inbox):\n%s", diff)
	}
}

// inbox returns the changes in the journal's inbox by record, and empties it. Changes of several
// transactions count as one.
func inbox(t *testing.T, database *fixtures.Database) map[entered]string {
	t.Helper()
	table := database.Prefix + "bookside_change_inbox"
	rows, err := database.SQL.QueryContext(t.Context(), "SELECT resource, resource_id, TRIM(CONCAT(kind, ' ', COALESCE(status, ''))) FROM "+table+" ORDER BY id")
	expect.NoError(t, err)
	defer func() { _ = rows.Close() }()
	got := map[entered]string{}
	for rows.Next() {
		var r entered
		var change string
		expect.NoError(t, rows.Scan(&r.resource, &r.id, &change))
		earlier, twice := got[r]
		switch {
		case twice && earlier == string(journal.Created) && change == string(journal.Deleted):
			delete(got, r)
		case twice && change == string(journal.Updated):
		default:
			got[r] = change
		}
	}
	expect.NoError(t, rows.Err())
	database.Execute(t, "DELETE FROM "+table)
	return got
}

// TestChangesOfATransaction: several statements about a record are one change.
func TestChangesOfATransaction(t *testing.T) {
	t.Parallel()
	var c session.ChangeList
	expect.NoError(t, c.Insert(wpdb.Bookings, 1, []session.Row{{{Name: "status", Value: "pending"}, {Name: "agent_id", Value: int64(3)}}}))
	c.Update(wpdb.Bookings, 1, session.Row{{Name: "status", Value: "approved"}}, nil)
	c.Update(wpdb.Bookings, 1, session.Row{{Name: "duration", Value: 5}}, nil)
	c.Update(wpdb.Customers, 1, session.Row{{Name: "status", Value: "active"}}, nil)
	c.Update(wpdb.OrderItems, 1, session.Row{{Name: "total", Value: "1"}}, nil)
	c.Update(wpdb.Orders, 4, session.Row{{Name: "status", Value: "open"}}, nil)
	c.Delete(wpdb.Orders, []int64{3, 4}, nil)
	want := []journal.Change{
		{Resource: journal.Bookings, ID: 1, Kind: journal.Created, Status: "approved", To: &journal.Assignment{AgentID: 3}},
		{Resource: journal.Customers, ID: 1, Kind: journal.Updated},
		{Resource: journal.Orders, ID: 4, Kind: journal.Deleted},
		{Resource: journal.Orders, ID: 3, Kind: journal.Deleted},
	}
	expect.Equal(t, want, c.List)
	if err := c.Insert(wpdb.Bookings, 1, make([]session.Row, 2)); err == nil {
		t.Error("several bookings were inserted at once without an error, although only the first id is known")
	}
}
