package wpdb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// Create is the right to make a table; ours need it until they are there.
const Create Right = "CREATE"

// toWrite are the rights needed on tables beyond reading them. To lock rows of
// a table takes the right to update it, also where that is never done.
var toWrite = map[Table][]Right{
	Users:         {Insert, Update}, // of customers
	Usermeta:      {Insert, Update},
	Activities:    {Insert},
	Agents:        {Update},
	BookingMeta:   {Insert, Delete},
	Bookings:      {Insert, Update, Delete},
	Coupons:       {Insert, Update, Delete},
	CustomerMeta:  {Insert, Update, Delete},
	Customers:     {Insert, Update, Delete},
	Locations:     {Update},
	OrderInvoices: {Insert, Update},
	OrderItems:    {Insert, Update, Delete},
	OrderMeta:     {Insert, Update, Delete},
	Orders:        {Insert, Update, Delete},
	ProcessJobs:   {Insert, Delete},
	ServiceMeta:   {Insert, Update, Delete},
	Services:      {Insert, Update},
	Transactions:  {Insert, Update, Delete},
}

// RightsToWrite are the rights that requests which write need on the table, all
// of them together.
func (t Table) RightsToWrite() []Right {
	if _, own := ownTables[t]; own {
		return []Right{Insert, Update, Delete}
	}
	return toWrite[t]
}

// Tables are all tables that are ever read or written, of WordPress, of the
// plugin and our own. Sites lack some.
func Tables() []Table {
	return slices.Concat([]Table{Options, Users, Usermeta, Sitemeta}, PluginTables(), OwnTables())
}

// Grants are the statements that give an account, such as 'user'@'host', every
// right that is needed on the tables of a database, and none besides. exists
// tells which tables are there, by their full names: others can be granted
// nothing, but for ours, which are to be created.
func Grants(database, account, prefix string, exists func(name string) bool) []string {
	site := New(nil, prefix)
	var statements []string
	for _, t := range Tables() {
		rights := append([]Right{Select}, t.RightsToWrite()...)
		if !exists(site.FullName(t)) {
			if _, own := ownTables[t]; !own {
				continue
			}
			rights = append(rights, Create)
		}
		statements = append(statements, fmt.Sprintf("GRANT %s ON %s.%s TO %s", listRights(rights), quoteName(database), site.Name(t), account))
	}
	return statements
}

func listRights(rights []Right) string {
	words := make([]string, len(rights))
	for i, right := range rights {
		words[i] = string(right)
	}
	return strings.Join(words, ", ")
}

// quoteName quotes a name for SQL.
func quoteName(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

// quoteText quotes a text for a statement that takes no parameters.
func quoteText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(text) + "'"
}

// Account is the account that the server takes us for, quoted for GRANT, and
// the database.
func (db *DB) Account(ctx context.Context) (account, database string, err error) {
	stmt := sq.Select("CURRENT_USER()", "DATABASE()")
	type identity struct{ user, database string }
	who, _, err := One(ctx, db, "ask for the account", stmt, func(row Scanner) (i identity, err error) {
		err = row.Scan(&i.user, &i.database)
		return i, err
	})
	at := strings.LastIndexByte(who.user, '@')
	if err != nil || at < 0 {
		return who.user, who.database, err
	}
	return quoteText(who.user[:at]) + "@" + quoteText(who.user[at+1:]), who.database, nil
}
