package session_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// reportedEvents returns the statement by which the companion, which is there, reports the events that extensions listen to.
func reportedEvents(events string) string {
	return fmt.Sprintf("INSERT INTO wp_options (option_name, option_value) VALUES ('bookside_companion_events', '%s'), ('bookside_companion_seen', '0.2.0 %d')", events, time.Now().Unix())
}

// TestNobodyIsWokenForNobody: on a site where no extension listens, a write triggers no search for events.
func TestNobodyIsWokenForNobody(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(time.Now()))
	db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 2})
	platform := session.NewPlatform(db, time.Now)
	platform.Events = extensions.NewRelay(db, time.Now, nil, slog.New(slog.DiscardHandler))
	woken := func() bool {
		t.Helper()
		site, err := platform.Session(t.Context())
		if err == nil {
			err = site.Transact(t.Context(), "test", func(*session.Tx) error { return nil })
		}
		expect.NoError(t, err)
		return len(platform.Events.Waker) > 0
	}
	if woken() {
		t.Error("it is woken although nobody listens")
	}
	database.Execute(t, reportedEvents("booking_created"))
	if !woken() {
		t.Error("it is not woken")
	}
}

// TestPluginSends: the plugin sends messages where the companion says so, unless it cannot send mail.
func TestPluginSends(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(time.Now()))
	db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 2})
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	database.Execute(t, reportedEvents("booking_created messages"))
	for name, c := range map[string]struct {
		processor string
		want      bool
	}{
		"it sends":            {"wp_mail", true},
		"it cannot send mail": {"", false},
	} {
		platform := session.NewPlatform(db, time.Now)
		platform.Events = extensions.NewRelay(db, time.Now, nil, slog.New(slog.DiscardHandler))
		site, err := platform.Session(t.Context())
		expect.NoError(t, err)
		expect.Equal(t, c.want, site.PluginSends(session.WriteSettings{Settings: map[string]string{session.SettingMailProcessor: c.processor}}), name)
		if !site.Tells("booking_created") {
			t.Errorf("%s: extensions are not told", name)
		}
	}
}

// TestEventsOfOneRecordAreOne: a transaction that announces a record several times tells extensions once, and all messages are sent once.
func TestEventsOfOneRecordAreOne(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Small(time.Now()))
	db := wpdbtest.Open(t, database, 2)
	database.Execute(t, reportedEvents("order_updated messages"))
	platform := session.NewPlatform(db, time.Now)
	platform.Events = extensions.NewRelay(db, time.Now, nil, slog.New(slog.DiscardHandler))
	site, err := platform.Session(t.Context())
	if err == nil {
		err = site.Transact(t.Context(), "test", func(tx *session.Tx) error {
			updated := extensions.Event{Name: "order_updated", RecordID: 1, RenderedDue: time.Now()}
			for _, messages := range []string{"", extensions.AllMessages, "", extensions.Reminders} {
				updated.Messages, updated.Rendered = messages, updated.Rendered+"x"
				tx.Announce(updated, extensions.Event{Name: "order_updated", RecordID: 2})
			}
			return nil
		})
	}
	expect.NoError(t, err)
	var got string
	query := "SELECT GROUP_CONCAT(CONCAT(event, ' ', record_id, ' ', messages, ' ', COALESCE(rendered, '-')) ORDER BY id) FROM wp_bookside_events"
	database.Scan(t, query, &got)
	if want := "order_updated 1 all xxxx,order_updated 2  -"; got != want {
		t.Errorf("events %q, want %q", got, want)
	}
}
