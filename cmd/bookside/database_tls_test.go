package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// behindTCP returns the DSN of a database behind TCP at a name of this machine.
func behindTCP(t *testing.T, dsn, host string) string {
	t.Helper()
	through, _ := fixtures.NewFaultProxyAt(t, "tcp", "127.0.0.1:0", dsn)
	return strings.Replace(through, "127.0.0.1", host, 1)
}

// elsewhere is an address of this machine that is neither a socket nor in the loopback network.
const elsewhere = "0.0.0.0"

// TestCheckTLS: check says how the connection to the database is protected, and errors say what to do.
func TestCheckTLS(t *testing.T) {
	t.Parallel()
	db, authority := fixtures.NewTLS(t, fixtures.Small(now))
	db.Execute(t, "CREATE USER careful IDENTIFIED BY 's3cret' REQUIRE SSL")
	db.Execute(t, "GRANT ALL ON *.* TO careful")
	local, remote := behindTCP(t, db.DSN, "127.0.0.1"), behindTCP(t, db.DSN, elsewhere)
	const tls, ca = "BOOKSIDE_DB__TLS=", "BOOKSIDE_DB__TLS_CA="
	for name, test := range map[string]struct {
		dsn  string
		more []string
		code int
		want string
	}{
		"a socket":              {db.DSN, nil, exit.OK, "✓ connection         plain text, within this machine\n"},
		"another machine":       {remote, nil, exit.OK, "✓ connection         encrypted, TLS 1.3\n"},
		"off":                   {remote, []string{tls + "off"}, exit.OK, "! connection         plain text: anyone in between sees passwords and customers' data. See db.tls.\n"},
		"verified":              {local, []string{tls + "verify", ca + authority}, exit.OK, "✓ connection         encrypted, TLS 1.3, the server's certificate is verified\n"},
		"an unknown authority":  {local, []string{tls + "verify"}, exit.Refused, "is refused: x509: certificate signed by unknown authority"},
		"a user who demands it": {withUser(db.DSN, "careful"), nil, exit.Refused, "accepts this user only over TLS; set db.tls to required"},
		"mistyped":              {remote + "?tsl=true", nil, exit.Usage, "there is no parameter tsl; did you mean tls?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := *db
			settings.DSN = test.dsn
			got := run(t, settingsFor(&settings, test.more...), "", "check")
			if got.code != test.code || !strings.Contains(got.stdout+got.stderr, test.want) || strings.Contains(got.stdout+got.stderr, "s3cret") {
				t.Errorf("%d, want %d with %q: %s%s", got.code, test.code, test.want, got.stdout, got.stderr)
			}
		})
	}
	t.Run("wp-config.php", func(t *testing.T) {
		t.Parallel()
		account, err := mysql.ParseDSN(db.AdminDSN)
		expect.NoError(t, err)
		path := filepath.Join(t.TempDir(), "wp-config.php")
		content := "<?php\ndefine('DB_NAME', '" + account.DBName + "');\ndefine('DB_USER', 'careful');\ndefine('DB_PASSWORD', 's3cret');\n" +
			"define('DB_HOST', 'localhost:" + account.Addr + "');\ndefine('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL);\n$table_prefix = '" + db.Prefix + "';\n"
		expect.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		expect.Texts(t, run(t, []string{"BOOKSIDE_ADMIN__LISTEN="}, "", "check", "--wp-config", path).want(t, exit.OK).stdout, "✓ connection         encrypted, TLS 1.3\n")
		run(t, []string{tls + "off"}, "", "check", "--wp-config", path).want(t, exit.Refused, "only over TLS; set db.tls to required")
	})
}
