package wpdb_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestCloseClosesAllConnections is not parallel because other tests' goroutines would confuse it.
func TestCloseClosesAllConnections(t *testing.T) {
	database := fixtures.Shared(t, fixtures.Legacy())
	before := goleak.IgnoreCurrent()
	db, err := wpdb.Open(t.Context(), wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, MaxOpen: 4})
	expect.NoError(t, err)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			if _, err := db.OptionValues(t.Context(), "home"); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	expect.Succeeded(t, db.Close())
	if err := ping(t.Context(), db); err == nil {
		t.Error("a closed database answers")
	}
	goleak.VerifyNone(t, before)
}

// closedAddress has no listener: the service that owned this port died out decades ago.
const closedAddress = "127.0.0.1:1"

// TestOpenFails: it is worth waiting for a server that cannot be reached, but not after another error.
func TestOpenFails(t *testing.T) {
	t.Parallel()
	good := configOf(fixtures.Shared(t, fixtures.Legacy()))
	for name, c := range map[string]struct {
		config wpdb.Config
		want   error
	}{
		"wrong password":   {withDSN(t, good, func(d *mysql.Config) { d.Passwd = "secret" }), wpdb.ErrAccessDenied},
		"unknown user":     {withDSN(t, good, func(d *mysql.Config) { d.User, d.Passwd = "nobody-here", "secret" }), wpdb.ErrAccessDenied},
		"unknown database": {withDSN(t, good, func(d *mysql.Config) { d.DBName = "bookside_not_there" }), wpdb.ErrNoDatabase},
		"refused port":     {withDSN(t, good, func(d *mysql.Config) { d.Net, d.Addr, d.Passwd = "tcp", closedAddress, "secret" }), wpdb.ErrUnavailable},
		"no socket":        {withDSN(t, good, func(d *mysql.Config) { d.Net, d.Addr, d.Passwd = "unix", "/nowhere/socket", "secret" }), wpdb.ErrUnavailable},
		"unknown host":     {withDSN(t, good, func(d *mysql.Config) { d.Net, d.Addr, d.Passwd = "tcp", "nowhere.invalid:3306", "secret" }), wpdb.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := wpdb.Open(t.Context(), c.config)
			wantKind(t, err, c.want)
			if !errors.Is(err, wpdb.ErrUnavailable) {
				_, err = wpdb.OpenWhenUp(t.Context(), c.config, time.Hour, func(err error) { t.Errorf("waits after %v", err) })
				wantKind(t, err, c.want)
			}
			expect.NoTexts(t, err.Error(), "secret")
		})
	}
}

// TestOpenDialTimeout: a server that does not accept the connection is unreachable, not
// slow.
func TestOpenDialTimeout(t *testing.T) {
	t.Parallel()
	c := configOf(fixtures.Shared(t, fixtures.Legacy()))
	c.ConnectTimeout = time.Nanosecond
	if _, err := wpdb.Open(t.Context(), c); !errors.Is(err, wpdb.ErrUnavailable) {
		t.Errorf("error %v, want %v", err, wpdb.ErrUnavailable)
	}
}

// TestOpenWhenUp: the server starts while OpenWhenUp is waiting.
func TestOpenWhenUp(t *testing.T) {
	t.Parallel()
	good := configOf(fixtures.Shared(t, fixtures.Legacy()))
	address := filepath.Join(t.TempDir(), "s")
	c := withDSN(t, good, func(d *mysql.Config) { d.Net, d.Addr = "unix", address })
	var reported []error
	db, err := wpdb.OpenWhenUp(t.Context(), c, time.Minute, func(err error) {
		reported = append(reported, err)
		if len(reported) == 2 {
			fixtures.NewFaultProxyAt(t, "unix", address, good.DSN, fixtures.Fault{Lost: true})
		}
	})
	expect.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	if len(reported) != 3 {
		t.Fatalf("told of %d tries, want of 3: %v", len(reported), reported)
	}
	for i, want := range []error{wpdb.ErrUnavailable, wpdb.ErrUnavailable, wpdb.ErrLinkLost} {
		expect.Error(t, want, reported[i], "try ", i+1)
	}
	expect.Succeeded(t, ping(t.Context(), db))
}

func TestOpenWhenUpGivesUp(t *testing.T) {
	t.Parallel()
	c := wpdb.Config{DSN: "root@tcp(" + closedAddress + ")/shop", Prefix: "wp_"}
	var reported []error
	db, err := wpdb.OpenWhenUp(t.Context(), c, 150*time.Millisecond, func(err error) { reported = append(reported, err) })
	if db != nil || !errors.Is(err, wpdb.ErrUnavailable) {
		t.Errorf("%v, error %v, want %v", db, err, wpdb.ErrUnavailable)
	}
	if len(reported) == 0 {
		t.Error("nobody was told of the tries")
	}
}

func TestOpenWhenUpEndsWithItsContext(t *testing.T) {
	t.Parallel()
	c := wpdb.Config{DSN: "root@tcp(" + closedAddress + ")/shop", Prefix: "wp_"}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := wpdb.OpenWhenUp(ctx, c, time.Hour, func(error) { cancel() })
	expect.Error(t, context.Canceled, err)
}

// TestAcquireTimeoutIsBusy: with all connections in use, a request fails after the
// acquire timeout with an error that says so, and differs from its own deadline.
// Requests that have a connection go on.
func TestAcquireTimeoutIsBusy(t *testing.T) {
	t.Parallel()
	c := configOf(fixtures.Shared(t, fixtures.Legacy()))
	c.MaxOpen, c.AcquireTimeout = 1, time.Millisecond
	db := wpdbtest.OpenConfig(t, c)
	err := db.Session(t.Context(), "hold the connection", func(session *wpdb.DB) error {
		_, reading := read(t.Context(), db, "SELECT 1")
		for name, err := range map[string]error{
			"read": reading, "change": change(t.Context(), db, "DO 1"), "ping": ping(t.Context(), db),
			"transaction": db.Transact(t.Context(), "begin", func(*wpdb.DB) error { return nil }),
		} {
			if !errors.Is(err, wpdb.ErrBusy) || errors.Is(err, wpdb.ErrTimeout) {
				t.Errorf("%s: error %v, want %v", name, err, wpdb.ErrBusy)
			}
		}
		return session.Transact(t.Context(), "begin", func(tx *wpdb.DB) error {
			_, err := read(t.Context(), tx, "SELECT 1")
			return err
		})
	})
	expect.Succeeded(t, err)
	if err := ping(t.Context(), db); err != nil {
		t.Errorf("once it is free: %v", err)
	}
	if got := db.Stats(); got.WaitCount != 4 || got.InUse != 0 {
		t.Errorf("%d waits, %d connections in use", got.WaitCount, got.InUse)
	}
}

// TestServerRestart: connections that were closed while idle are replaced before
// anything is sent on them.
func TestServerRestart(t *testing.T) {
	t.Parallel()
	database := fixtures.New(t, fixtures.Legacy())
	c, through := withFaults(t, configOf(database))
	db := wpdbtest.OpenConfig(t, c)
	for range 3 {
		through.CloseAll()
		expect.NoError(t, change(t.Context(), db, "UPDATE wp_latepoint_locations SET name = CONCAT(name, '!') WHERE id = 1"))
	}
	through.CloseAll()
	if got, err := read(t.Context(), db, "SELECT name FROM wp_latepoint_locations WHERE id = 1"); err != nil || got[0] != "Main Location!!!" {
		t.Errorf("%v, error %v", got, err)
	}
}
