package wpdb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// toWrite are the rights needed on tables beyond reading them. To lock rows of
// a table takes the right to update it, also where that is never done.
var toWrite = map[Table][]Right{
	Users:         {Insert, Update}, // of customers
	Usermeta:      {Insert, Update},
	Activities:    {Insert},
	BookingMeta:   {Insert, Delete},
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
}

// Own tells our own tables.
func (t Table) Own() bool {
	_, own := ownTables[t]
	return own
}

// RightsToWrite are the rights that requests which write need on the table, all
// of them together.
func (t Table) RightsToWrite() []Right {
	if t.Own() {
		return []Right{Insert, Update, Delete}
	}
	return toWrite[t]
}

// Rights are all that is needed on the table; on one of ours that is not there
// also to make it.
func (t Table) Rights(there bool) []Right {
	rights := append([]Right{Select}, t.RightsToWrite()...)
	if t.Own() && !there {
		rights = append(rights, Create)
	}
	return rights
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
		if there := exists(site.FullName(t)); there || t.Own() {
			statements = append(statements, site.Grant(database, account, t, there))
		}
	}
	return statements
}

// Grant is the statement of Grants for one table.
func (db *DB) Grant(database, account string, t Table, there bool) string {
	return fmt.Sprintf("GRANT %s ON %s.%s TO %s", listRights(t.Rights(there)), quoteName(database), db.Name(t), account)
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

// Account is the account that the server takes us for, quoted for GRANT, and the
// database, on which it needs no right yet. One that is not let in at all is
// named as the configuration has it, from any host.
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
