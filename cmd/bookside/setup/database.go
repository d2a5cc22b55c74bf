package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/wpdb"
)

// Account is a database account that is created for Bookside.
type Account struct {
	Name   string   // quoted
	Client []string // the command that runs statements as the server's administrator

	statements []string // one of them contains the password
	tables     int
}

// Describe implements [Change].
func (a *Account) Describe() string {
	return fmt.Sprintf("create the account %s of the database, with a password of its own, and GRANT it what Bookside needs on %d tables", a.Name, a.tables)
}

// DescribeUndo implements [Change].
func (a *Account) DescribeUndo() string { return "drop the account " + a.Name + " of the database" }

// Prepare implements [Change].
func (a *Account) Prepare(context.Context, *Host) error { return nil }

// Do implements [Change].
func (a *Account) Do(ctx context.Context, h *Host) error {
	return h.run(ctx, Command{a.Client, strings.Join(a.statements, ";\n") + ";\n"})
}

// Undo implements [Change].
func (a *Account) Undo(ctx context.Context, h *Host) (string, error) {
	return "", h.run(ctx, Command{a.Client, wpdb.DropAccount(a.Name) + ";\n"})
}

// Key is an API key that is created for the site.
type Key struct {
	Name    string
	Prefix  string // of the tables
	DSNFile string

	now    func() time.Time
	secret string // set once the key was created
}

// Describe implements [Change].
func (k *Key) Describe() string { return "create the API key " + quoted(k.Name) + ", which may read" }

// DescribeUndo implements [Change].
func (k *Key) DescribeUndo() string { return "revoke the API key " + quoted(k.Name) }

func quoted(text string) string { return `"` + text + `"` }

// Prepare implements [Change].
func (k *Key) Prepare(context.Context, *Host) error { return nil }

// Do implements [Change].
func (k *Key) Do(ctx context.Context, h *Host) error {
	return k.with(ctx, h, func(db *wpdb.DB, store *keys.Store) error {
		if err := db.CreateOwnTables(ctx); err != nil && !errors.Is(err, wpdb.ErrAccessDenied) {
			return err
		}
		secret, _, err := store.Create(ctx, keys.NewKey{Name: k.Name, Kind: keys.Live, Permissions: []string{"read"}})
		k.secret = secret
		return err
	})
}

// Undo implements [Change].
func (k *Key) Undo(ctx context.Context, h *Host) (string, error) {
	if _, exists, err := h.read(k.DSNFile); err == nil && !exists {
		return k.DSNFile + " is gone, so the key was not revoked; revoke it with bookside keys revoke", nil
	}
	err := k.with(ctx, h, func(_ *wpdb.DB, store *keys.Store) error {
		list, err := store.List(ctx)
		for _, key := range list {
			if key.Name == k.Name {
				_, failed := store.Revoke(ctx, key.ID)
				err = errors.Join(err, failed)
			}
		}
		if errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
			return nil
		}
		return err
	})
	return "", err
}

// with opens the site's database as the service does.
func (k *Key) with(ctx context.Context, h *Host, use func(*wpdb.DB, *keys.Store) error) (err error) {
	dsn, exists, err := h.read(k.DSNFile)
	if err != nil || !exists {
		return errors.Join(err, fmt.Errorf("read the address of the database in %s", k.DSNFile))
	}
	now := k.now
	if now == nil {
		now = time.Now
	}
	db, err := wpdb.Open(ctx, wpdb.Config{DSN: strings.TrimSpace(string(dsn)), Prefix: k.Prefix})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return use(db, keys.NewStore(db, now, rand.Reader))
}

// administrators are the clients that connect root to a local server as its administrator. The first that
// exists is used.
var administrators = []string{"mariadb", "mysql"}

// accountFor plans a dedicated account of Bookside for the site. reason says why there can be none.
func (s *Setup) accountFor(ctx context.Context, db *wpdb.DB) (account *Account, dsn, reason string, err error) {
	local := s.wordpress.Network == "unix" || strings.HasPrefix(s.wordpress.Address, "127.") || strings.HasPrefix(s.wordpress.Address, "[::1]")
	if !local {
		return nil, "", "the database is on another machine, " + s.wordpress.Address, nil
	}
	client := []string{}
	for _, program := range administrators {
		if s.Host.Has(program) {
			client = []string{program, "--batch", "--skip-column-names"}
			break
		}
	}
	if len(client) == 0 {
		return nil, "", "there is neither the program mariadb nor mysql", nil
	}
	if s.wordpress.Network == "unix" {
		client = append(client, "--socket="+s.wordpress.Address)
	}
	config := wpdb.Config{DSN: s.wordpress.FormatDSN(), Prefix: s.prefix}
	current, database, err := config.Account(ctx)
	if err != nil {
		return nil, "", "", err
	}
	_, host, ok := wpdb.SplitAccount(current)
	if !ok {
		return nil, "", "the database server does not say as whom it knows the site", nil
	}
	// The administrator may belong to another server.
	output, err := s.Host.Run(ctx, Command{client, wpdb.CountTables(database, db.FullName(wpdb.Bookings)) + ";\n"})
	if err != nil || strings.TrimSpace(output) != "1" {
		return nil, "", fmt.Sprintf("%s does not reach the site's database as an administrator (%s)", client[0], firstLine(output, err)), nil
	}
	user := "bookside"
	if output, err := s.Host.Run(ctx, Command{client, "SELECT COUNT(*) FROM mysql.user WHERE User = 'bookside';\n"}); err != nil || strings.TrimSpace(output) != "0" {
		user += "_" + strings.ToLower(rand.Text())[:6]
	}
	unreadable, err := db.Unreadable(ctx, wpdb.Tables())
	if err != nil {
		return nil, "", "", err
	}
	customersAreUsers, err := db.CustomersAreUsers(ctx)
	if err != nil {
		return nil, "", "", err
	}
	// Servers may require a character of each kind.
	name, password := wpdb.QuoteAccount(user, host), rand.Text()+"-a1"
	account = &Account{Name: name, Client: client, statements: []string{wpdb.CreateAccount(name, password)}}
	for _, table := range wpdb.Tables() {
		if exists := !slices.Contains(unreadable.Missing, table); exists || table.Own() {
			account.statements = append(account.statements, db.GrantStatement(database, name, table, wpdb.Needs{Exists: exists, CustomersAreUsers: customersAreUsers}))
		}
	}
	account.tables = len(account.statements) - 1
	own := s.wordpress
	own.User, own.Password = user, password
	return account, own.FormatDSN(), "", nil
}

// firstLine returns the first line of a command's output, or why it could not run.
func firstLine(output string, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(output), "\n")
	if line == "" && err != nil {
		return err.Error()
	}
	return line
}
