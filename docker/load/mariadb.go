package load

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-sql-driver/mysql"
)

// MariaDB is a private server on a socket, whose root has no password.
type MariaDB struct {
	Process
	Folder    string   // for its files; it must not exist yet
	Prefix    []string // before its commands, for example chroot and a directory
	Namespace []string // before the command that starts it, for example ip netns exec and a name
	Options   []string
}

// Path returns the path of one of its files.
func (m *MariaDB) Path(file string) string { return filepath.Join(m.Folder, file) }

// Socket returns the path of the socket.
func (m *MariaDB) Socket() string { return m.Path("socket") }

// DSN returns the data source name of a database.
func (m *MariaDB) DSN(database string) string { return "root@unix(" + m.Socket() + ")/" + database }

// Install creates the data; a node that joins a cluster stays empty, because it copies another's data.
func (m *MariaDB) Install(ctx context.Context, joins bool) error {
	if err := os.MkdirAll(m.Path("data"), 0o755); err != nil { //nolint:gosec // the servers connect to the socket in it
		return err
	}
	commands := [][]string{{"mariadb-install-db", "--no-defaults", "--datadir=" + m.Path("data"), "--skip-test-db", "--force", "--auth-root-authentication-method=normal"}}
	if joins {
		commands = nil
	}
	if os.Geteuid() == 0 {
		commands = append(commands, []string{"chown", "-R", "mysql:", m.Folder})
	}
	for _, command := range commands {
		if _, err := Run(ctx, slices.Concat(m.Prefix, command)...); err != nil {
			return err
		}
	}
	return nil
}

// Command returns the command that starts the server, without its namespace, with additional options.
func (m *MariaDB) Command(more ...string) []string {
	account := []string{}
	if os.Geteuid() == 0 {
		account = append(account, "--user=mysql")
	}
	return slices.Concat(m.Prefix, []string{"mariadbd", "--no-defaults"}, account, []string{
		"--datadir=" + m.Path("data"), "--socket=" + m.Socket(), "--pid-file=" + m.Path("pid"), "--tmpdir=" + m.Folder,
		"--skip-networking", "--skip-log-bin", "--max-connections=300",
	}, m.Options, more)
}

// Launch starts the server.
func (m *MariaDB) Launch(more ...string) error {
	return m.Start(nil, slices.Concat(m.Namespace, m.Command(more...))...)
}

// Open returns a pool of connections whose sessions have these variables.
func Open(dsn string, session map[string]string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.InterpolateParams, config.Params, config.Logger = true, session, quiet{}
	config.Timeout, config.ReadTimeout = 5*time.Second, time.Minute
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// quiet keeps the driver from printing broken connections.
type quiet struct{}

func (quiet) Print(...any) {}

// AwaitPing waits until a server that was just launched answers.
func AwaitPing(ctx context.Context, db *sql.DB) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		err := db.PingContext(ctx)
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
	}
}
