package setup

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"

	"github.com/bookside/bookside/wpdb"
)

// account is an account of the database for Bookside alone.
type account struct {
	name       string   // quoted
	client     []string // the command that runs statements as the database's administrator
	statements []string // the first one creates it with its password, the others are of one table each
	dsn        string   // the address of the database with it
}

// newAccount returns an account to create. reason says why there can be none.
func (s *Setup) newAccount(ctx context.Context, i *installation) (a *account, reason string, err error) {
	if address := i.wordpress.Address; i.wordpress.Network != "unix" && !strings.HasPrefix(address, "127.") && !strings.HasPrefix(address, "[::1]") {
		return nil, "the database is on another machine, " + address, nil
	}
	// These connect root to a local server as its administrator.
	programs := slices.DeleteFunc([]string{"mariadb", "mysql"}, func(program string) bool { return !s.Host.Has(program) })
	if len(programs) == 0 {
		return nil, "there is neither the program mariadb nor mysql", nil
	}
	client := []string{programs[0], "--batch", "--skip-column-names"}
	if i.wordpress.Network == "unix" {
		client = append(client, "--socket="+i.wordpress.Address)
	}
	db, err := i.open(ctx)
	if err != nil {
		return nil, "", err
	}
	customersAreUsers, err := db.CustomersAreUsers(ctx)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, "", err
	}
	config := wpdb.Config{DSN: i.wordpress.FormatDSN(), Prefix: i.prefix}
	current, database, err := config.Account(ctx)
	if err != nil {
		return nil, "", err
	}
	// The administrator may belong to another server.
	output, err := s.Host.Run(ctx, wpdb.ShowTables(database)+";\n", client...)
	tables := strings.Fields(output)
	exists := func(table string) bool {
		return slices.ContainsFunc(tables, func(name string) bool { return db.SameName(name, table) })
	}
	_, host, ok := wpdb.SplitAccount(current)
	if err != nil || !ok || !exists(i.prefix+string(wpdb.Bookings)) {
		//nolint:nilerr // the reason that is returned says it
		return nil, client[0] + " does not reach the site's database as an administrator", nil
	}
	user := "bookside"
	if output, err := s.Host.Run(ctx, "SELECT COUNT(*) FROM mysql.user WHERE User = 'bookside';\n", client...); err != nil || strings.TrimSpace(output) != "0" {
		user += "_" + strings.ToLower(rand.Text())[:6]
	}
	// Servers may require a character of each kind.
	name, password := wpdb.QuoteAccount(user, host), rand.Text()+"-a1"
	grants := wpdb.GrantStatements(database, name, i.prefix, customersAreUsers, exists)
	own := i.wordpress
	own.User, own.Password = user, password
	return &account{name, client, append([]string{wpdb.CreateAccount(name, password)}, grants...), own.FormatDSN()}, "", nil
}

// create creates the account.
func (a *account) create(ctx context.Context, h *Host, r *record) error {
	r.Account, r.Client = a.name, a.client
	if err := r.save(ctx, h); err != nil {
		return err
	}
	return h.run(ctx, strings.Join(a.statements, ";\n")+";\n", a.client...)
}
