package wpdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// elsewhere is an address of this machine that is neither a socket nor in the loopback network.
const elsewhere = "0.0.0.0"

// through returns the configuration of a database behind TCP, at 127.0.0.1 or at another name for it.
func through(t *testing.T, database *fixtures.Database, host string) wpdb.Config {
	t.Helper()
	dsn, _ := fixtures.NewFaultProxyAt(t, "tcp", "127.0.0.1:0", database.DSN)
	c := wpdb.Config{DSN: dsn, Prefix: database.Prefix, MaxOpen: 2}
	return withDSN(t, c, func(d *mysql.Config) { d.Addr = strings.Replace(d.Addr, "127.0.0.1", host, 1) })
}

// parameter adds the parameter tls to a DSN.
func parameter(t *testing.T, c wpdb.Config, value string) wpdb.Config {
	t.Helper()
	return withDSN(t, c, func(d *mysql.Config) { d.TLSConfig = value })
}

// TestTLS: connections are encrypted as configured, and by default wherever somebody could listen.
func TestTLS(t *testing.T) {
	t.Parallel()
	database, authority := fixtures.NewTLS(t, fixtures.Small(now))
	local, remote, socket := through(t, database, "127.0.0.1"), through(t, database, elsewhere), configOf(database)
	plain := wpdb.Encryption{}
	within := wpdb.Encryption{Local: true}
	encrypted := wpdb.Encryption{Version: "TLS 1.3"}
	for name, test := range map[string]struct {
		config wpdb.Config
		mode   wpdb.TLS
		ca     string
		want   wpdb.Encryption
		err    error
	}{
		"a socket":                        {config: socket, want: within},
		"loopback":                        {config: local, want: within},
		"another machine":                 {config: remote, want: encrypted},
		"auto":                            {config: remote, mode: wpdb.TLSAuto, want: encrypted},
		"off":                             {config: remote, mode: wpdb.TLSOff, want: plain},
		"required of a socket":            {config: socket, mode: wpdb.TLSRequired, want: wpdb.Encryption{Version: "TLS 1.3", Local: true}},
		"required":                        {config: remote, mode: wpdb.TLSRequired, want: encrypted},
		"verified":                        {config: local, mode: wpdb.TLSVerify, ca: authority, want: wpdb.Encryption{Version: "TLS 1.3", Verified: true, Local: true}},
		"an authority verifies":           {config: local, ca: authority, want: wpdb.Encryption{Version: "TLS 1.3", Verified: true, Local: true}},
		"an unknown authority":            {config: local, mode: wpdb.TLSVerify, err: wpdb.ErrCertificate},
		"another name":                    {config: remote, mode: wpdb.TLSVerify, ca: authority, err: wpdb.ErrCertificate},
		"verify a socket":                 {config: socket, mode: wpdb.TLSVerify, ca: authority, err: wpdb.ErrTLS},
		"authorities for nothing":         {config: local, mode: wpdb.TLSRequired, ca: authority, err: wpdb.ErrTLS},
		"no such file":                    {config: local, ca: authority + "x", err: wpdb.ErrTLS},
		"no such mode":                    {config: local, mode: "on", err: wpdb.ErrTLS},
		"by parameter":                    {config: parameter(t, local, "skip-verify"), want: wpdb.Encryption{Version: "TLS 1.3", Local: true}},
		"verified by parameter":           {config: parameter(t, local, "true"), ca: authority, want: wpdb.Encryption{Version: "TLS 1.3", Verified: true, Local: true}},
		"unverified by parameter":         {config: parameter(t, local, "true"), err: wpdb.ErrCertificate},
		"off by parameter":                {config: parameter(t, remote, "false"), want: plain},
		"preferred":                       {config: parameter(t, remote, "preferred"), want: encrypted},
		"the setting against off":         {config: parameter(t, remote, "false"), mode: wpdb.TLSRequired, want: encrypted},
		"the setting against a parameter": {config: parameter(t, remote, "true"), mode: wpdb.TLSOff, want: plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := test.config
			c.TLS, c.TLSCA = test.mode, test.ca
			db, err := wpdb.Open(t.Context(), c)
			if !errors.Is(err, test.err) {
				t.Fatalf("%v, want %v", err, test.err)
			}
			if err != nil {
				return
			}
			defer db.Close()
			expect.Equal(t, test.want, *db.Encryption())
			got, err := read(t.Context(), db, "SELECT VARIABLE_VALUE FROM information_schema.SESSION_STATUS WHERE VARIABLE_NAME = 'Ssl_version'")
			if want := strings.Replace(test.want.Version, " ", "v", 1); err != nil || got[0] != want {
				t.Errorf("the server says %q, %v; want %q", got, err, want)
			}
		})
	}
}

// TestAccountThatDemandsTLS: a login refused for lack of TLS gets an error that says so. With TLS
// everything works, including the connection that asks for the account.
func TestAccountThatDemandsTLS(t *testing.T) {
	t.Parallel()
	database, _ := fixtures.NewTLS(t, fixtures.Small(now))
	database.Execute(t, "CREATE USER careful IDENTIFIED BY 's3cret' REQUIRE SSL", "GRANT ALL ON *.* TO careful")
	c := withDSN(t, configOf(database), func(d *mysql.Config) { d.User, d.Passwd = "careful", "s3cret" })
	_, err := wpdb.Open(t.Context(), c)
	if !errors.Is(err, wpdb.ErrTLSDemanded) || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("with plain text: %v", err)
	}
	wrong := withDSN(t, c, func(d *mysql.Config) { d.Passwd = "s3cret2" })
	if _, err := wpdb.Open(t.Context(), wrong); errors.Is(err, wpdb.ErrTLSDemanded) || !errors.Is(err, wpdb.ErrAccessDenied) {
		t.Errorf("with a wrong password: %v", err)
	}
	c.TLS = wpdb.TLSRequired
	db, err := wpdb.Open(t.Context(), c)
	expect.NoError(t, err)
	defer db.Close()
	if account, _, err := c.Account(t.Context()); account != "'careful'@'%'" || err != nil {
		t.Errorf("account %s, %v", account, err)
	}
	expect.Succeeded(t, ping(t.Context(), db))
}

// TestServerWithoutTLS: nothing is sent in plain text where TLS is required, even by default.
func TestServerWithoutTLS(t *testing.T) {
	t.Parallel()
	database := fixtures.Shared(t, fixtures.Small(now))
	fixtures.RequirePlainText(t, database)
	for name, test := range map[string]struct {
		host string
		mode wpdb.TLS
		err  error
	}{
		"loopback":        {"127.0.0.1", wpdb.TLSAuto, nil},
		"another machine": {elsewhere, wpdb.TLSAuto, wpdb.ErrNoTLS},
		"off":             {elsewhere, wpdb.TLSOff, nil},
		"required":        {"127.0.0.1", wpdb.TLSRequired, wpdb.ErrNoTLS},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := through(t, database, test.host)
			c.TLS = test.mode
			db, err := wpdb.Open(t.Context(), c)
			if !errors.Is(err, test.err) {
				t.Fatalf("%v, want %v", err, test.err)
			}
			if err == nil && db.Close() != nil {
				t.Error("not closed")
			}
		})
	}
	preferred := parameter(t, through(t, database, elsewhere), "preferred")
	db, err := wpdb.Open(t.Context(), preferred)
	expect.NoError(t, err)
	defer db.Close()
	expect.Equal(t, "", db.Encryption().Version, "without TLS")
}

// TestAuthoritiesFile: a file without certificates is an error, not an empty list of authorities.
func TestAuthoritiesFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ca.pem")
	expect.NoError(t, os.WriteFile(path, []byte("nothing"), 0o600))
	_, err := wpdb.Open(t.Context(), wpdb.Config{DSN: "u:secret@tcp(db)/shop", Prefix: "wp_", TLSCA: path})
	if !errors.Is(err, wpdb.ErrTLS) || !strings.Contains(err.Error(), "has no certificate in PEM") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
