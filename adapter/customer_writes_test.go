package adapter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/customers"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
)

// customerSite returns a site at the moment of the recording, with changes.
func customerSite(t *testing.T, of fixtures.Site, changes ...string) (*session.Session, *fixtures.Database) {
	t.Helper()
	return siteOver(t, fixtures.New(t, of), changes...)
}

// siteWithUsers is like customerSite, with customers who are WordPress users.
func siteWithUsers(t *testing.T, of fixtures.Site, changes ...string) (*session.Session, *fixtures.Database) {
	t.Helper()
	database := fixtures.New(t, of)
	database.MakeCustomersUsers(t)
	return siteOver(t, database, changes...)
}

func siteOver(t *testing.T, database *fixtures.Database, changes ...string) (*session.Session, *fixtures.Database) {
	t.Helper()
	for _, statement := range changes {
		database.Execute(t, statement)
	}
	db := wpdbtest.Open(t, database, 2)
	expect.NoError(t, db.CreateOwnTables(t.Context()))
	site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	return site, database
}

// invalidFields returns the fields that a CodeValidationFailed lists.
func invalidFields(t *testing.T, where string, err error) []string {
	t.Helper()
	var known *domain.Error
	if !errors.As(err, &known) || known.Code != domain.CodeValidationFailed {
		t.Fatalf("%s: error %v", where, err)
	}
	return slices.Sorted(maps.Keys(known.Fields))
}

func customerNamed(first, last, email string) records.CustomerFields {
	return records.CustomerFields{FirstName: &first, LastName: &last, Email: &email}
}

// capabilities are what WordPress stores about a user's roles, and whether the user is more than a
// customer.
var capabilities = map[string]struct {
	serialised string
	privileged bool
}{
	"subscriber":                      {`a:1:{s:10:"subscriber";b:1;}`, false},
	"customer of a shop":              {`a:1:{s:8:"customer";b:1;}`, false},
	"customer of the plugin":          {`a:1:{s:18:"latepoint_customer";b:1;}`, false},
	"all three":                       {`a:3:{s:10:"subscriber";b:1;s:8:"customer";b:1;s:18:"latepoint_customer";b:1;}`, false},
	"no role":                         {`a:0:{}`, true},
	"nothing stored":                  {``, true},
	"agent":                           {`a:1:{s:15:"latepoint_agent";b:1;}`, true},
	"contributor":                     {`a:1:{s:11:"contributor";b:1;}`, true},
	"author":                          {`a:1:{s:6:"author";b:1;}`, true},
	"editor":                          {`a:1:{s:6:"editor";b:1;}`, true},
	"shop manager":                    {`a:1:{s:12:"shop_manager";b:1;}`, true},
	"administrator":                   {`a:1:{s:13:"administrator";b:1;}`, true},
	"subscriber and editor":           {`a:2:{s:10:"subscriber";b:1;s:6:"editor";b:1;}`, true},
	"administrator and customer":      {`a:2:{s:13:"administrator";b:1;s:8:"customer";b:1;}`, true},
	"a right of their own":            {`a:2:{s:10:"subscriber";b:1;s:14:"manage_options";b:1;}`, true},
	"a role that was taken away":      {`a:2:{s:10:"subscriber";b:1;s:6:"editor";b:0;}`, true},
	"another case":                    {`a:1:{s:10:"Subscriber";b:1;}`, true},
	"a list without names":            {`a:1:{i:0;s:10:"subscriber";}`, true},
	"no array":                        {`s:10:"subscriber";`, true},
	"cut off":                         {`a:1:{s:10:"subscr`, true},
	"no serialised value":             {`administrator`, true},
	"an object":                       {`O:8:"stdClass":0:{}`, true},
	"a customer here, an editor else": {"", true}, // see below
}

// TestPrivilegedUsersAreGuarded: the permission to write customers gives no access to a user with more
// privileges than a customer: whether by e-mail, name, link, or a new customer with the same e-mail.
func TestPrivilegedUsersAreGuarded(t *testing.T) {
	fixtures.SkipUnderRace(t)
	t.Parallel()
	s, database := siteWithUsers(t, fixtures.SiteA().WithFewBookings(),
		"INSERT INTO wp_users (ID, user_login, user_email, user_nicename) VALUES (900, 'mallory', 'mallory@example.test', 'mallory')")
	original := database.Snapshot(t)
	execute := func(statement string, arguments ...any) {
		t.Helper()
		_, err := database.SQL.ExecContext(t.Context(), statement, arguments...)
		expect.NoError(t, err)
	}
	for name, c := range capabilities {
		original.Restore(t)
		execute("DELETE FROM wp_usermeta WHERE user_id IN (7, 900)")
		for _, user := range []int{7, 900} {
			execute("INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (?, 'first_name', 'Old'), (?, 'last_name', 'Old')", user, user)
			if strings.HasSuffix(name, "else") {
				execute("INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (?, 'wp_capabilities', ?), (?, 'wp_3_capabilities', ?)",
					user, capabilities["subscriber"].serialised, user, capabilities["editor"].serialised)
			} else if c.serialised != "" {
				execute("INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (?, 'wp_capabilities', ?)", user, c.serialised)
			}
		}
		before := original.Again(t)
		users := func() (changed []string) {
			for _, change := range fixtures.Changes(before, before.Again(t)) {
				if change.Table == "users" || change.Table == "usermeta" {
					changed = append(changed, change.Table+" "+string(change.Op))
				}
			}
			return changed
		}
		email := "five.new@example.test"
		_, err := txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: records.CustomerFields{Email: &email, Phone: new("1")}})
		if c.privileged {
			expect.Equal(t, []string{"email"}, invalidFields(t, name, err), name)
			expect.Empty(t, fixtures.Changes(before, before.Again(t)), name, ": e-mail changed")
		} else if got := users(); err != nil || !slices.Equal(got, []string{"users update"}) {
			t.Errorf("%s: e-mail: %v, changed %v", name, err, got)
		}
		before.Restore(t)

		if _, err := txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: records.CustomerFields{FirstName: new("New"), LastName: new("New")}}); err != nil {
			t.Errorf("%s: name: %v", name, err)
		}
		if got, want := len(users()), map[bool]int{true: 0, false: 2}[c.privileged]; got != want {
			t.Errorf("%s: name changed %d rows of the user, want %d", name, got, want)
		}
		before.Restore(t)

		created, err := txCreate(t.Context(), s, customers.Create, customers.Patch{CustomerFields: customerNamed("New", "New", "new@example.test"), WordPressUserID: new(int64(900)), UserField: "cms_user_id"})
		if c.privileged {
			expect.Equal(t, []string{"cms_user_id"}, invalidFields(t, name, err), name)
		} else if got := users(); err != nil || len(got) != 0 || created.IsGuest || created.WordPressUserID == nil || *created.WordPressUserID != 900 {
			t.Errorf("%s: link: %v, changed %v, customer %+v", name, err, got, created)
		}
		before.Restore(t)

		created, err = txCreate(t.Context(), s, customers.Create, customers.Patch{CustomerFields: customerNamed("New", "New", "MALLORY@example.test")})
		linked := created.WordPressUserID != nil && *created.WordPressUserID == 900
		if err != nil || linked == c.privileged || created.IsGuest != c.privileged || len(users()) != 0 {
			t.Errorf("%s: same e-mail: linked %t, guest %t, users %v (%v)", name, linked, created.IsGuest, users(), err)
		}
	}
}

// TestPrivilegedUsersOfANetworkAreGuarded: users are shared by the sites of a network.
// Super admins, and users who are more than a customer on any site, are guarded.
func TestPrivilegedUsersOfANetworkAreGuarded(t *testing.T) {
	t.Parallel()
	s, database := siteWithUsers(t, fixtures.Prefixed())
	var id, user int64
	err := database.SQL.QueryRowContext(t.Context(), "SELECT id, wordpress_user_id FROM wpx_7_latepoint_customers WHERE wordpress_user_id IS NOT NULL ORDER BY id LIMIT 1").Scan(&id, &user)
	expect.NoError(t, err)
	before := database.Snapshot(t)
	for name, c := range map[string]struct {
		change     string
		privileged bool
	}{
		"a customer":                  {"UPDATE wpx_users SET display_name = 'x' WHERE ID = ?", false},
		"a customer of another site":  {"INSERT INTO wpx_usermeta (user_id, meta_key, meta_value) VALUES (?, 'wpx_3_capabilities', 'a:1:{s:10:\"subscriber\";b:1;}')", false},
		"the editor of another site":  {"INSERT INTO wpx_usermeta (user_id, meta_key, meta_value) VALUES (?, 'wpx_3_capabilities', 'a:1:{s:6:\"editor\";b:1;}')", true},
		"the editor of the main site": {"INSERT INTO wpx_usermeta (user_id, meta_key, meta_value) VALUES (?, 'wpx_capabilities', 'a:1:{s:6:\"editor\";b:1;}')", true},
		"a super admin":               {"UPDATE wpx_sitemeta AS m, wpx_users AS u SET m.meta_value = CONCAT('a:1:{i:0;s:', LENGTH(u.user_login), ':\"', UPPER(u.user_login), '\";}') WHERE m.meta_key = 'site_admins' AND u.ID = ?", true},
	} {
		t.Run(name, func(t *testing.T) {
			before.Restore(t)
			if _, err := database.SQL.ExecContext(t.Context(), c.change, user); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			_, err := txUpdate(t.Context(), s, customers.Update, id, customers.Patch{CustomerFields: records.CustomerFields{Email: new("taken.over@example.test")}})
			if c.privileged {
				invalidFields(t, name, err)
				return
			}
			var email string
			if scanErr := database.SQL.QueryRowContext(t.Context(), "SELECT user_email FROM wpx_users WHERE ID = ?", user).Scan(&email); err != nil || scanErr != nil || email != "taken.over@example.test" {
				t.Errorf("%s: %v, %v, e-mail %q", name, err, scanErr, email)
			}
		})
	}
}

// TestNewCustomersGetUsersIfTheSiteWantsThem: a site that makes customers users creates a user with each,
// unless WordPress could not store one.
func TestNewCustomersGetUsersIfTheSiteWantsThem(t *testing.T) {
	t.Parallel()
	const setting = "DELETE FROM wp_latepoint_settings WHERE name IN ('wp_users_as_customers', 'default_wp_role_for_customer')"
	for name, c := range map[string]struct {
		setup         []string
		customer      customers.Patch
		users, metas  int
		role          string
		linked, guest bool
	}{
		"switched off":   {setup: []string{setting}, customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, guest: true},
		"nearly on":      {setup: []string{setting, settle("wp_users_as_customers", "ON")}, customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, guest: true},
		"switched on":    {customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, users: 1, metas: 13, role: `a:1:{s:18:"latepoint_customer";b:1;}`, linked: true, guest: true},
		"another role":   {setup: []string{settle("default_wp_role_for_customer", "subscriber")}, customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, users: 1, metas: 13, role: `a:1:{s:10:"subscriber";b:1;}`, linked: true, guest: true},
		"no guest":       {customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test"), IsGuest: new(false)}, users: 1, metas: 13, role: `a:1:{s:18:"latepoint_customer";b:1;}`, linked: true},
		"without e-mail": {customer: customers.Patch{CustomerFields: records.CustomerFields{FirstName: new("A"), LastName: new("B")}}, guest: true},
		"a long e-mail":  {customer: customers.Patch{CustomerFields: customerNamed("A", "B", strings.Repeat("a", 50)+"@example.test")}, guest: true},
		"long names":     {customer: customers.Patch{CustomerFields: customerNamed(strings.Repeat("ü", 200), strings.Repeat("ü", 200), "a@example.test")}, guest: true},
		"emoji where users have none": {
			setup:    []string{"ALTER TABLE wp_users CONVERT TO CHARACTER SET utf8mb3"},
			customer: customers.Patch{CustomerFields: customerNamed("A 😀", "B", "a@example.test")}, guest: true,
		},
		"a login that is taken by a guest of another e-mail": {
			setup: []string{
				"INSERT INTO wp_users (ID, user_login, user_email) VALUES (900, 'a@example.test', 'other@example.test')",
				`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (900, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}')`,
			},
			customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, linked: true,
		},
		"a user of another customer": {
			setup:    []string{"UPDATE wp_users SET user_email = 'a@example.test' WHERE ID = 7"},
			customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, guest: true,
		},
		"a nice name that is taken": {
			setup:    []string{"INSERT INTO wp_users (ID, user_login, user_nicename) VALUES (900, 'x', 'aexample-test'), (901, 'y', 'aexample-test-2')"},
			customer: customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test")}, users: 1, metas: 13, role: `a:1:{s:18:"latepoint_customer";b:1;}`, linked: true, guest: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, database := siteWithUsers(t, fixtures.SiteA().WithFewBookings(), c.setup...)
			before := database.Snapshot(t)
			created, err := txCreate(t.Context(), s, customers.Create, c.customer)
			expect.NoError(t, err)
			if (created.WordPressUserID != nil) != c.linked || created.IsGuest != c.guest {
				t.Errorf("user %v, guest %t", created.WordPressUserID, created.IsGuest)
			}
			users, metas, role := 0, 0, ""
			for _, change := range fixtures.Changes(before, before.Again(t)) {
				switch change.Table {
				case "users":
					users++
					if n := change.Values["user_nicename"]; strings.HasPrefix(name, "a nice name") && n != "aexample-test-3" {
						t.Errorf("nice name %v", n)
					}
				case "usermeta":
					metas++
					if change.Values["meta_key"] == "wp_capabilities" {
						role = fmt.Sprint(change.Values["meta_value"])
					}
				}
			}
			if users != c.users || metas != c.metas || role != c.role {
				t.Errorf("%d users, %d metas, role %q; want %d, %d, %q", users, metas, role, c.users, c.metas, c.role)
			}
		})
	}
}

// A long e-mail fits the customer but not the linked user.
func TestEmailThatTheUserCannotHaveIsRejected(t *testing.T) {
	t.Parallel()
	s, database := siteWithUsers(t, fixtures.SiteA().WithFewBookings(), "INSERT INTO wp_users (ID, user_login, user_email) VALUES (900, 'x', 'taken@example.test')")
	before := database.Snapshot(t)
	long := strings.Repeat("a", 60) + "@" + strings.Repeat("b", 50) + ".test"
	for _, email := range []string{long, "taken@example.test"} {
		t.Run(email, func(t *testing.T) {
			_, err := txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: records.CustomerFields{Email: &email}})
			expect.Equal(t, []string{"email"}, invalidFields(t, email, err), email)
		})
	}
	expect.Empty(t, fixtures.Changes(before, before.Again(t)), "changed")
	for _, email := range []string{long, "taken@example.test"} {
		t.Run("without a user "+email, func(t *testing.T) { // customer 9 has no user
			if _, err := txUpdate(t.Context(), s, customers.Update, 9, customers.Patch{CustomerFields: records.CustomerFields{Email: &email}}); err != nil {
				t.Errorf("%s: %v", email, err)
			}
		})
	}
}

// TestUsersStayWhereCustomersAreNone: on a site whose customers are not users, a customer's linked user
// keeps name and address, whoever else has the new ones. A user with more than a customer's rights is
// guarded there as well, because the setting may be turned on again.
func TestUsersStayWhereCustomersAreNone(t *testing.T) {
	t.Parallel()
	s, database := customerSite(t, fixtures.SiteA().WithFewBookings(), "INSERT INTO wp_users (ID, user_login, user_email) VALUES (900, 'x', 'taken@example.test')")
	before := database.Snapshot(t)
	_, err := txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: customerNamed("A", "B", "taken@example.test")})
	expect.NoError(t, err)
	changed := map[string]int{}
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		changed[change.Table]++
	}
	expect.Equal(t, map[string]int{"latepoint_customers": 1, "latepoint_activities": 1}, changed, "rows changed")
	_, err = database.SQL.ExecContext(t.Context(), "UPDATE wp_usermeta SET meta_value = ? WHERE user_id = 7 AND meta_key = 'wp_capabilities'", capabilities["editor"].serialised)
	expect.NoError(t, err)
	_, err = txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: records.CustomerFields{Email: new("another@example.test")}})
	invalidFields(t, "an editor", err)
}

// One user belongs to one customer, however many want it at once.
func TestUserIsLinkedOnce(t *testing.T) {
	t.Parallel()
	r := newRivals(t, "INSERT INTO wp_users (ID, user_login, user_email) VALUES (900, 'x', 'x@example.test')",
		`INSERT INTO wp_usermeta (user_id, meta_key, meta_value) VALUES (900, 'wp_capabilities', 'a:1:{s:10:"subscriber";b:1;}')`)
	created := make(chan int64, 50)
	var tries []func(context.Context, *session.Session) error
	for i := range cap(created) {
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			c, err := txCreate(ctx, s, customers.Create, customers.Patch{
				CustomerFields: customerNamed("A", "B", fmt.Sprintf("a%d@example.test", i)), WordPressUserID: new(int64(900)), UserField: "wordpress_user_id",
			})
			if err == nil {
				created <- c.ID
			} else if domain.CodeOf(err) == domain.CodeValidationFailed {
				return nil
			}
			return err
		})
	}
	r.run(tries)
	expect.Equal(t, 1, len(created), "customers with the user")
}

// TestDeleteCustomerDeletesTheirRows: deleting a customer deletes their rows, except those that the plugin
// leaves. Other customers' bookings in their orders prevent it.
func TestDeleteCustomerDeletesTheirRows(t *testing.T) {
	t.Parallel()
	s, database := customerSite(t, fixtures.SiteA(),
		"INSERT INTO wp_latepoint_process_jobs (object_id, object_model_type, status) VALUES (10, 'order', 'scheduled'), (10, 'booking', 'scheduled'), (268, 'customer', 'scheduled')",
		"UPDATE wp_latepoint_bookings SET customer_id = 9 WHERE customer_id = 268")
	before := database.Snapshot(t)
	var known *domain.Error
	if err := txDelete(t.Context(), s, customers.Delete, 268); !errors.As(err, &known) || known.Code != domain.CodeCustomerHasBookings || known.Count != 4 {
		t.Errorf("bookings of others: %v", err)
	}
	expect.Empty(t, fixtures.Changes(before, before.Again(t)), "changed")
	database.Execute(t, "DELETE FROM wp_latepoint_bookings WHERE id IN (10, 703, 1707, 1713)")
	if err := txDelete(t.Context(), s, customers.Delete, 268); !errors.As(err, &known) || known.Code != domain.CodeCustomerHasPayments || known.Count != 3 {
		t.Errorf("successful payments: %v", err)
	}
	database.Execute(t, "UPDATE wp_latepoint_transactions SET status = 'failed' WHERE customer_id = 268")
	before = database.Snapshot(t)
	expect.NoError(t, txDelete(t.Context(), s, customers.Delete, 268))
	got := map[string]int{}
	for _, change := range fixtures.Changes(before, before.Again(t)) {
		got[change.Table+" "+string(change.Op)]++
	}
	want := map[string]int{
		"latepoint_customers delete": 1, "latepoint_customer_meta delete": 1, "latepoint_orders delete": 4, "latepoint_order_items delete": 4,
		"latepoint_order_meta delete": 8, "latepoint_transactions delete": 3, "latepoint_process_jobs delete": 1,
	}
	expect.Equal(t, want, got, "rows")
	if err := txDelete(t.Context(), s, customers.Delete, 268); domain.CodeOf(err) != domain.CodeNotFound {
		t.Errorf("again: %v", err)
	}
}

// TestDeletedCustomersHaveNoBookings: while customers are deleted, others book for them, move bookings to
// them and name them by e-mail. No booking is left without its customer, and each attempt ends in success
// or in an error that explains the failure.
func TestDeletedCustomersHaveNoBookings(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	const owners = 16
	ids := make([]int64, owners)
	for i := range ids {
		created, err := txCreate(t.Context(), r.sites[0], customers.Create, customers.Patch{CustomerFields: customerNamed("A", "B", fmt.Sprintf("a%d@example.test", i))})
		expect.NoError(t, err)
		ids[i] = created.ID
	}
	pending := records.StatusPending
	var tries []func(context.Context, *session.Session) error
	allow := func(err error, codes ...domain.Code) error {
		if slices.Contains(codes, domain.CodeOf(err)) {
			return nil
		}
		return err
	}
	for i, id := range ids {
		at := availability.Moment{Day: parseDay(t, "2027-02-05"), Minutes: 600}
		booking := bookings.New{ServiceID: 4, AgentID: 5, LocationID: new(int64(1)), Start: at, Attendees: 1, Status: &pending}
		tries = append(tries, func(ctx context.Context, s *session.Session) error {
			return allow(txDelete(ctx, s, customers.Delete, id), domain.CodeCustomerHasBookings)
		})
		switch i % 4 {
		case 0, 1:
			tries = append(tries, func(ctx context.Context, s *session.Session) error {
				booking.CustomerID = id
				_, err := txCreate(ctx, s, bookings.Create, booking)
				return allow(err, domain.CodeInvalidRequest)
			})
		case 2:
			tries = append(tries, func(ctx context.Context, s *session.Session) error {
				booking.Customer = customerNamed("A", "B", fmt.Sprintf("a%d@example.test", i))
				_, err := txCreate(ctx, s, bookings.Create, booking)
				return allow(err, domain.CodeInvalidRequest)
			})
		default:
			tries = append(tries, func(ctx context.Context, s *session.Session) error {
				_, err := txUpdate(ctx, s, bookings.Update, 7, bookings.Patch{CustomerID: &id})
				return allow(err, domain.CodeInvalidRequest)
			}, func(ctx context.Context, s *session.Session) error {
				_, err := txUpdate(ctx, s, customers.Update, id, customers.Patch{CustomerFields: records.CustomerFields{Phone: new("1")}, CustomFields: map[string]string{"cf_a": "1"}})
				return allow(err, domain.CodeNotFound)
			})
		}
	}
	expect.Equal(t, len(tries), r.run(tries), "ended well")
	for what, query := range map[string]string{
		"bookings without a customer": "SELECT COUNT(*) FROM wp_latepoint_bookings AS b LEFT JOIN wp_latepoint_customers AS c ON c.id = b.customer_id WHERE c.id IS NULL AND b.created_at = '2026-11-21 00:43:00'",
		"moved to nobody":             "SELECT COUNT(*) FROM wp_latepoint_bookings AS b LEFT JOIN wp_latepoint_customers AS c ON c.id = b.customer_id WHERE c.id IS NULL AND b.id = 7",
		"orders without a customer":   "SELECT COUNT(*) FROM wp_latepoint_orders AS o LEFT JOIN wp_latepoint_customers AS c ON c.id = o.customer_id WHERE c.id IS NULL AND o.created_at = '2026-11-21 00:43:00'",
		"metas of nobody":             "SELECT COUNT(*) FROM wp_latepoint_customer_meta AS m LEFT JOIN wp_latepoint_customers AS c ON c.id = m.object_id WHERE c.id IS NULL AND m.created_at = '2026-11-21 00:43:00'",
	} {
		var n int
		if err := r.database.SQL.QueryRowContext(t.Context(), query).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d %s (%v)", n, what, err)
		}
	}
}

// TestCustomerSurvivesEveryCut cuts the link at each statement of a new customer with a WordPress user, and
// of a change of both: afterwards there is all of it, or nothing.
func TestCustomerSurvivesEveryCut(t *testing.T) {
	t.Parallel()
	fields := map[string]string{"cf_a": "1", "colour": "blue"}
	for name, lost := range map[string]bool{"before the server has it": true, "before the answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database := fixtures.New(t, fixtures.SiteA().WithFewBookings())
			database.MakeCustomersUsers(t)
			dsn, proxy := fixtures.NewFaultProxy(t, database.DSN)
			db := wpdbtest.OpenDSN(t, dsn, database.Prefix, 1)
			expect.NoError(t, db.CreateOwnTables(t.Context()))
			platform := session.NewPlatform(db, fixtures.RecordedNow)
			before := database.Snapshot(t)
			for what, c := range map[string]struct {
				try  func(*session.Session) error
				rows int
			}{
				"create": {func(s *session.Session) error {
					_, err := txCreate(t.Context(), s, customers.Create, customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test"), CustomFields: fields})
					return err
				}, 19}, // customer, history, user, 13 of the user's metas, 2 metas, a remembered name
				"update": {func(s *session.Session) error {
					_, err := txUpdate(t.Context(), s, customers.Update, 5, customers.Patch{CustomerFields: customerNamed("A", "B", "a@example.test"), CustomFields: fields})
					return err
				}, 8}, // customer, history, user, 2 of the user's metas, 2 metas, a remembered name
			} {
				for n := 0; ; n++ {
					site, err := platform.Session(t.Context()) // before the link is cut
					expect.NoError(t, err)
					proxy.Arm(fixtures.Fault{Skip: n, Lost: lost})
					writeErr := c.try(site)
					untouched := proxy.Disarm() > 0
					rows := len(fixtures.Changes(before, before.Again(t)))
					if rows != 0 && rows != c.rows || writeErr == nil && rows == 0 {
						t.Errorf("%s, statement %d: %d rows changed, error %v", what, n, rows, writeErr)
					}
					before.Restore(t)
					if untouched {
						if writeErr != nil || n < 8 {
							t.Errorf("%s: %d statements were cut, then %v", what, n, writeErr)
						}
						break
					}
				}
			}
		})
	}
}
