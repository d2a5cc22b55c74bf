package wpdb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/go-sql-driver/mysql"
)

// Privilege is a privilege of a database user on a table, spelled as in GRANT.
type Privilege string

// The privileges that are needed on tables.
const (
	Select Privilege = "SELECT"
	Insert Privilege = "INSERT"
	Update Privilege = "UPDATE"
	Delete Privilege = "DELETE"
	Create Privilege = "CREATE" // only of our own tables
	Alter  Privilege = "ALTER"  // only of our own tables, for columns that a new version adds
)

// writePrivileges are the privileges needed on tables in addition to SELECT.
// Locking rows of a table needs UPDATE, even on tables that are never updated.
var writePrivileges = map[Table][]Privilege{
	Users:         {Insert, Update}, // only where customers are users
	Usermeta:      {Insert, Update},
	Activities:    {Insert},
	BookingMeta:   {Insert, Update, Delete},
	Bookings:      {Insert, Update, Delete},
	Coupons:       {Insert, Update, Delete},
	CustomerMeta:  {Insert, Update, Delete},
	Customers:     {Insert, Update, Delete},
	OrderInvoices: {Insert, Update},
	OrderItems:    {Insert, Update, Delete},
	OrderMeta:     {Insert, Update, Delete},
	Orders:        {Insert, Update, Delete},
	ProcessJobs:   {Insert, Delete},
	ServiceMeta:   {Insert, Update, Delete},
	Services:      {Insert, Update},
	Transactions:  {Insert, Update, Delete},
	WorkPeriods:   {Insert, Delete},

	TransactionRefunds: {Insert, Delete},
	BlockedPeriods:     {Insert, Delete},

	BookingsAssets:        {Insert, Delete},
	BookingsServiceExtras: {Insert, Update, Delete},
	Messages:              {Delete},
}

// privilegeColumns are the columns that a privilege is limited to, for tables that hold more than requests
// may know: only WordPress reads a password or sets one for an existing user. Metadata can be read and
// written in every row, because privileges do not apply to rows.
var privilegeColumns = map[Table]map[Privilege][]string{
	Users: {
		Select: {"ID", "user_login", "user_nicename", "user_email"},
		Insert: {
			"user_login", "user_pass", "user_nicename", "user_email", "user_url", "user_registered", "user_activation_key", "user_status", "display_name",
		},
		Update: {"user_email", "user_activation_key"},
	},
	Usermeta: {
		Select: {"user_id", "meta_key", "meta_value"},
		Insert: {"user_id", "meta_key", "meta_value"},
		Update: {"meta_value"},
	},
}

// WritePrivileges returns the privileges that requests need in order to write to
// the table.
func (t Table) WritePrivileges() []Privilege {
	if t.Own() {
		return []Privilege{Insert, Update, Delete}
	}
	return writePrivileges[t]
}

// Needs are the facts about a table and its site that decide which privileges are needed.
type Needs struct {
	Exists            bool // the table
	CustomersAreUsers bool // the site makes its customers users of WordPress
}

// UsersAsCustomers is the plugin's setting that makes customers users of WordPress.
const UsersAsCustomers = "wp_users_as_customers"

// CustomersAreUsers reports whether the site makes its customers users of WordPress
// (OsAuthHelper::can_wp_users_login_as_customers).
func (db *DB) CustomersAreUsers(ctx context.Context) (bool, error) {
	settings, err := db.SettingValues(ctx, UsersAsCustomers)
	return settings[UsersAsCustomers] == "on", err
}

// Privileges returns all privileges needed on the table, including ALTER for our own, and CREATE
// for one that does not exist yet. SELECT comes first.
func (t Table) Privileges(needs Needs) []Privilege {
	if (t == Users || t == Usermeta) && !needs.CustomersAreUsers {
		return []Privilege{Select}
	}
	privileges := append([]Privilege{Select}, t.WritePrivileges()...)
	switch {
	case !t.Own():
		return privileges
	case needs.Exists:
		return append(privileges, Alter)
	default:
		return append(privileges, Create, Alter)
	}
}

// probe returns a statement that changes nothing and that the server rejects if the user
// lacks the privilege: EXPLAIN needs the privileges of the explained statement, and CREATE
// TABLE and ALTER TABLE with an unknown column fail. Unlike SHOW GRANTS it accounts for roles and patterns.
func (p Privilege) probe(db *DB, t Table) string {
	name, names := db.Name(t), privilegeColumns[t][p]
	switch p {
	case Insert:
		return fmt.Sprintf("EXPLAIN INSERT INTO %s (%s) VALUES (%s)", name, strings.Join(names, ", "), strings.Join(slices.Repeat([]string{"''"}, len(names)), ", "))
	case Update:
		assignments := idColumn(t) + " = " + idColumn(t)
		if len(names) > 0 { // not all of them can be read
			assignments = strings.Join(names, " = '', ") + " = ''"
		}
		return fmt.Sprintf("EXPLAIN UPDATE %s SET %s WHERE FALSE", name, assignments)
	case Delete:
		return fmt.Sprintf("EXPLAIN DELETE FROM %s WHERE FALSE", name)
	case Create: // some servers require a key
		return fmt.Sprintf("CREATE TABLE %s (%s INT PRIMARY KEY, twin INT AS (nothing))", name, idColumn(t))
	case Alter: // adding a present column fails too, but MariaDB writes to the disk first
		return fmt.Sprintf("ALTER TABLE %s ALTER COLUMN nothing DROP DEFAULT", name)
	default:
		return "SELECT " + cmp.Or(strings.Join(names, ", "), "1") + " FROM " + name + " LIMIT 0"
	}
}

// HasPrivilege reports whether the database user has a privilege on a table. If
// the table does not exist, a user with the privilege, or with CREATE, gets an
// ErrSchema; the server does not tell others that the table is missing.
func (db *DB) HasPrivilege(ctx context.Context, p Privilege, t Table) (bool, error) {
	allowed, err := db.may(ctx, fmt.Sprintf("try %s on %s", p, db.FullName(t)), p.probe(db, t))
	if p == Alter && IsUnknownColumn(err) {
		return true, nil
	}
	return allowed, err
}

// Rights answers as HasPrivilege does, without asking about each privilege where the user has them all.
type Rights struct {
	db      *DB
	granted *Schema // all that requests need on its tables is granted; nil if that is not known
}

// Rights asks at once about all privileges that requests need on the tables of the schema.
func (db *DB) Rights(ctx context.Context, schema *Schema, customersAreUsers bool) Rights {
	var probes []string
	for _, t := range Tables() {
		if !schema.Has(t) {
			continue
		}
		for _, p := range t.Privileges(Needs{Exists: true, CustomersAreUsers: customersAreUsers}) {
			if p != Alter { // whose probe always fails
				probes = append(probes, p.probe(db, t))
			}
		}
	}
	if db.allSucceed(ctx, probes) {
		return Rights{db, schema}
	}
	return Rights{db: db}
}

// Has is described at [DB.HasPrivilege]. The privilege must be one that is needed on the table.
func (r Rights) Has(ctx context.Context, p Privilege, t Table) (bool, error) {
	if r.granted != nil && r.granted.Has(t) && p != Alter {
		return true, nil
	}
	return r.db.HasPrivilege(ctx, p, t)
}

// ReadsPasswords reports whether the database user may read the users' password hashes. No request reads
// them.
func (db *DB) ReadsPasswords(ctx context.Context) (bool, error) {
	return db.may(ctx, "try to read passwords", "SELECT user_pass FROM "+db.Name(Users)+" LIMIT 0")
}

// may reports whether the database user may run a statement.
func (db *DB) may(ctx context.Context, op, statement string) (bool, error) {
	_, err := All(ctx, db, op, sq.Expr(statement), func(Scanner) (struct{}, error) { return struct{}{}, nil })
	if errors.Is(err, ErrAccessDenied) {
		return false, nil
	}
	return err == nil, err
}

// Unreadable is what keeps tables from being read.
type Unreadable struct {
	Denied  []Table       // the database user may not read them
	Missing []Table       // they do not exist
	Lacking []TableColumn // columns of our own tables that do not exist
}

// Unreadable returns what keeps the given tables from being read. It takes one statement if
// nothing does.
func (db *DB) Unreadable(ctx context.Context, tables []Table) (u Unreadable, err error) {
	all := sq.Select()
	for _, t := range tables {
		columns := privilegeColumns[t][Select]
		if t.Own() {
			columns = ownColumns(t)
		}
		all = all.Column("(SELECT " + cmp.Or(strings.Join(columns, " AND "), "1") + " FROM " + db.Name(t) + " LIMIT 0)")
	}
	_, err = All(ctx, db, "try to read all tables", all, func(Scanner) (struct{}, error) { return struct{}{}, nil })
	if !errors.Is(err, ErrAccessDenied) && !errors.Is(err, ErrSchema) {
		return u, err
	}
	for _, t := range tables {
		readable, err := db.HasPrivilege(ctx, Select, t)
		switch {
		case errors.Is(err, ErrSchema):
			u.Missing = append(u.Missing, t)
		case err != nil:
			return Unreadable{}, err
		case !readable:
			u.Denied = append(u.Denied, t)
		}
	}
	present, err := db.probe(ctx, "") // the cached schema may be outdated
	if err != nil {
		return Unreadable{}, err
	}
	u.Lacking = slices.DeleteFunc(present.missingOwnColumns(), func(c TableColumn) bool {
		return !slices.Contains(tables, c.Table) || slices.Contains(u.Denied, c.Table)
	})
	return u, nil
}

// idColumn returns a column that every version of a table has.
func idColumn(t Table) string {
	switch {
	case t.Own():
		return ownColumns(t)[0]
	case t == Options:
		return "option_id"
	case t == Sitemeta, t == Postmeta:
		return "meta_id"
	}
	return "id"
}

// Tables returns all tables that are ever read or written: of WordPress, of the
// plugin, and our own. A site may lack some of them.
func Tables() []Table {
	return slices.Concat([]Table{Options, Users, Usermeta, Sitemeta, Postmeta}, PluginTables(), OwnTables())
}

// GrantStatements returns the statements that give an account, such as 'user'@'host', all privileges needed
// on the tables of a database, and no others. For customersAreUsers see Needs. exists reports whether there
// is a table of that full name: nothing can be granted on missing tables except our own, which are still to
// be created.
func GrantStatements(database, account, prefix string, customersAreUsers bool, exists func(name string) bool) []string {
	site := New(nil, prefix)
	var statements []string
	for _, t := range Tables() {
		if there := exists(site.FullName(t)); there || t.Own() {
			statements = append(statements, site.GrantStatement(database, account, t, Needs{there, customersAreUsers}))
		}
	}
	return statements
}

// GrantStatement is like GrantStatements, for one table.
func (db *DB) GrantStatement(database, account string, t Table, needs Needs) string {
	privileges := t.Privileges(needs)
	words := make([]string, len(privileges))
	for i, p := range privileges {
		words[i] = string(p)
		if names := privilegeColumns[t][p]; names != nil {
			words[i] += " (" + strings.Join(names, ", ") + ")"
		}
	}
	return fmt.Sprintf("GRANT %s ON %s.%s TO %s", strings.Join(words, ", "), quoteName(database), db.Name(t), account)
}

// quoteName quotes a name for SQL.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteText quotes a text for a statement that takes no parameters.
func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// Account returns the account that the server authenticates us as, quoted for
// GRANT, and the name of the database. It needs no privilege on the database. If
// the server rejects the login, the account is the configured user at any host.
func (c Config) Account(ctx context.Context) (account, database string, err error) {
	c, driver, err := c.withDefaults()
	if err != nil {
		return "", "", err
	}
	database, driver.DBName = driver.DBName, ""
	user, err := askApart(ctx, driver, c, "SELECT CURRENT_USER()")
	switch {
	case errors.Is(err, ErrAccessDenied):
		user = driver.User + "@%"
	case err != nil:
		return "", "", err
	}
	at := strings.LastIndexByte(user, '@')
	if at < 0 {
		return user, database, nil
	}
	return quoteText(user[:at]) + "@" + quoteText(user[at+1:]), database, nil
}

// QuoteAccount quotes an account for GRANT and the statements below.
func QuoteAccount(user, host string) string { return quoteText(user) + "@" + quoteText(host) }

// SplitAccount returns the parts of an account that [Config.Account] returned.
func SplitAccount(account string) (user, host string, ok bool) {
	user, host, ok = strings.Cut(account, "'@'")
	return strings.TrimPrefix(user, "'"), strings.TrimSuffix(host, "'"), ok
}

// CreateAccount returns the statement that creates an account, and DropAccount the one that drops
// it if it exists.
func CreateAccount(account, password string) string {
	return "CREATE USER " + account + " IDENTIFIED BY " + quoteText(password)
}

// DropAccount is described at CreateAccount.
func DropAccount(account string) string { return "DROP USER IF EXISTS " + account }

// ShowTables returns the statement that lists the tables of a database.
func ShowTables(database string) string { return "SHOW TABLES FROM " + quoteName(database) }

// denied matches the server's message about a table (ER_TABLEACCESS_DENIED_ERROR): MariaDB quotes database
// and table, MySQL the table alone. The account in the message has the client's host, not the host of the
// grants.
var denied = regexp.MustCompile("^([A-Z]+(?:[, ]+[A-Z]+)*) command denied to user '[^']*'@'[^']*' for table .*?([$A-Za-z0-9_-]+)[`']$")

// Denied returns the privileges that an ErrAccessDenied is about, as in GRANT, and the
// table. ok is false if it is not about a table.
func Denied(err error) (privileges, table string, ok bool) {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return "", "", false
	}
	found := denied.FindStringSubmatch(server.Message)
	if found == nil {
		return "", "", false
	}
	return found[1], found[2], true
}

// Grant returns the statement that gives privileges on a table to an account, both as
// Denied and Account return them.
func Grant(privileges, database, table, account string) string {
	return "GRANT " + privileges + " ON " + quoteName(database) + "." + quoteName(table) + " TO " + account
}
