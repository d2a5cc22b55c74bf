package customers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// LinkedUser is a WordPress user who is, or may be, linked to a customer.
type LinkedUser struct {
	id         int64
	privileged bool // has a role other than those of customers, or no role at all
}

// harmlessRoles are the roles that WordPress, the plugin and shops give to customers.
var harmlessRoles = map[string]bool{"latepoint_customer": true, "subscriber": true, "customer": true}

// loadLinkedUser reads the user linked to a customer, nil for none. A user whose roles cannot
// be read counts as privileged, and so does one without a role on this site
// (OsCustomerHelper::is_wp_user_safe_for_customer_link, LatePoint 5.6.5).
func loadLinkedUser(ctx context.Context, s *session.Session, customer int64) (*LinkedUser, error) {
	stmt := usersWithRoles(s).Join(s.DB.As(wpdb.Customers, "c") + " ON c.wordpress_user_id = u.ID").Where(sq.Eq{"c.id": customer})
	return oneUser(ctx, s, stmt)
}

// userNamed finds the user with an e-mail address or login, nil for none.
func userNamed(ctx context.Context, s *session.Session, email string) (*LinkedUser, error) {
	return oneUser(ctx, s, usersWithRoles(s).Where(sq.Or{sq.Eq{"u.user_email": email}, sq.Eq{"u.user_login": email}}))
}

// usersWithRoles selects users with their roles, one row for each site of a network: an editor on any of
// its sites must not be taken over.
func usersWithRoles(s *session.Session) sq.SelectBuilder {
	return sq.Select("u.ID", "u.user_login", "m.meta_key", "m.meta_value").From(s.DB.As(wpdb.Users, "u")).
		LeftJoin(s.DB.As(wpdb.Usermeta, "m")+" ON m.user_id = u.ID AND m.meta_key LIKE ?", "%capabilities").OrderBy("u.ID")
}

// oneUser returns the first user that a SELECT finds, or nil. A super admin of a network needs no role.
func oneUser(ctx context.Context, s *session.Session, stmt sq.SelectBuilder) (*LinkedUser, error) {
	type role struct {
		user              int64
		login, key, roles string
	}
	rows, err := wpdb.All(ctx, s.DB, "read user", stmt, wpdb.Into(func(r *role) []any {
		return []any{&r.user, &r.login, wpdb.OrZero(&r.key), wpdb.OrZero(&r.roles)}
	}))
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	user := &LinkedUser{id: rows[0].user, privileged: true}
	hasRole := false
	for _, r := range rows {
		if r.user != user.id {
			continue
		}
		roles, harmless := harmlessRolesIn(r.roles)
		if !harmless {
			return user, nil
		}
		hasRole = hasRole || roles > 0 && strings.EqualFold(r.key, s.DB.Prefix()+"capabilities")
	}
	if !hasRole {
		return user, nil
	}
	admins, err := s.DB.SuperAdmins(ctx)
	user.privileged = slices.ContainsFunc(admins, func(admin string) bool { return strings.EqualFold(admin, rows[0].login) })
	return user, err
}

// harmlessRolesIn counts the roles in a serialised array of role => true. harmless reports whether all of
// them are customers' roles.
func harmlessRolesIn(serialised string) (count int, harmless bool) {
	if serialised == "" {
		return 0, true
	}
	value, err := wpdb.MaybeUnserialize(serialised)
	roles, ok := value.(map[any]any)
	if err != nil || !ok {
		return 0, false
	}
	for role := range roles {
		name, ok := role.(string)
		if !ok || !harmlessRoles[name] {
			return 0, false
		}
		count++
	}
	return count, true
}

// connectUser links a new customer to a WordPress user if the site's customers are users
// (the plugin's save_connected_wordpress_user): to an existing user who is no more than a
// customer and not linked to another, otherwise to a new one with the customer's own
// password hash.
func connectUser(ctx context.Context, tx *session.Tx, w session.WriteSettings, id int64, c records.BookingCustomer, password string) error {
	if w.Settings[session.SettingUsersAsCustomers] != session.On || c.Email == "" {
		return nil
	}
	user, err := userNamed(ctx, tx.Session, c.Email)
	if err != nil {
		return err
	}
	if user == nil {
		created, err := insertUser(ctx, tx, w, c, password)
		if err != nil || created == 0 {
			return err
		}
		return tx.Update(ctx, wpdb.Customers, id, session.Row{{Name: "wordpress_user_id", Value: created}})
	}
	if user.privileged {
		return nil
	}
	if err := tx.LockRows(ctx, wpdb.Users, []int64{user.id}); err != nil {
		return err
	}
	stmt := sq.Select("1").From(tx.DB.Name(wpdb.Customers)).Where(sq.Eq{"wordpress_user_id": user.id}).Limit(1)
	_, exists, err := wpdb.One(ctx, tx.DB, "find customer of user", stmt, wpdb.Value[int64])
	if err != nil || exists {
		return err
	}
	return tx.Update(ctx, wpdb.Customers, id, session.Row{{Name: "wordpress_user_id", Value: user.id}, {Name: "is_guest", Value: 0}})
}

// The longest texts that WordPress stores for a user, in characters.
const (
	maxLogin     = 60
	maxNicename  = 50
	maxUserEmail = 100
	maxUserName  = 250
)

// insertUser adds a user with the meta that WordPress gives to new users (wp_insert_user). It returns id 0
// if the tables, which may be older than the plugin's, cannot hold the user, or if the login that WordPress
// derives from the e-mail address belongs to another user.
func insertUser(ctx context.Context, tx *session.Tx, w session.WriteSettings, c records.BookingCustomer, password string) (int64, error) {
	login := text.UserLogin(c.Email)
	first, last := text.UserName(c.FirstName), text.UserName(c.LastName)
	name := cmp.Or(strings.TrimSpace(first+" "+last), login)
	if len(login) > maxLogin || len(c.Email) > maxUserEmail || utf8.RuneCountInString(name) > maxUserName {
		return 0, nil
	}
	if login != c.Email { // the e-mail address itself is not a login yet
		other, err := userNamed(ctx, tx.Session, login)
		if err != nil || other != nil {
			return 0, err
		}
	}
	nicename, err := freeNicename(ctx, tx.Session, login)
	if err != nil || nicename == "" {
		return 0, err
	}
	stmt := sq.Insert(tx.DB.Name(wpdb.Users)).
		Columns("user_login", "user_pass", "user_nicename", "user_email", "user_url", "user_registered", "user_activation_key", "user_status", "display_name").
		Values(login, password, nicename, c.Email, "", domain.Stamp(tx.Now), "", 0, name)
	result, err := tx.Exec(ctx, wpdb.Users, "insert user", stmt)
	if errors.Is(err, wpdb.ErrBadValue) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	role := cmp.Or(w.Settings[session.SettingCustomerRole], "latepoint_customer")
	metas := []wpdb.UserMeta{
		{Key: "nickname", Value: wpdb.PHPText(login)},
		{Key: "first_name", Value: wpdb.PHPText(first)},
		{Key: "last_name", Value: wpdb.PHPText(last)},
		{Key: "description", Value: wpdb.PHPText("")},
		{Key: "rich_editing", Value: wpdb.PHPText("true")},
		{Key: "syntax_highlighting", Value: wpdb.PHPText("true")},
		{Key: "comment_shortcuts", Value: wpdb.PHPText("false")},
		{Key: "admin_color", Value: wpdb.PHPText("modern")},
		{Key: "use_ssl", Value: wpdb.PHPText("0")},
		{Key: "show_admin_bar_front", Value: wpdb.PHPText("true")},
		{Key: "locale", Value: wpdb.PHPText("")},
		{Key: tx.DB.Prefix() + "capabilities", Value: wpdb.PHPRole(role)},
		{Key: tx.DB.Prefix() + "user_level", Value: wpdb.PHPText("0")},
	}
	return result.ID, writeUserMeta(tx, func() error { return tx.DB.AddUserMeta(ctx, result.ID, metas...) })
}

// writeUserMeta runs a write of user meta, as Exec does for other tables.
func writeUserMeta(tx *session.Tx, write func() error) error {
	if err := session.RequireTransactions(tx.Session, wpdb.Usermeta); err != nil {
		return err
	}
	return session.WriteError(tx.Session, wpdb.Usermeta, write())
}

// updateUserEmail changes a user's e-mail address (wp_update_user), and invalidates a password reset
// requested at the old one. WordPress would store an & in the address as &amp;, a different address that
// the plugin would copy at the next login. Here it stays an &.
func updateUserEmail(ctx context.Context, tx *session.Tx, user int64, email string) error {
	stmt := sq.Update(tx.DB.Name(wpdb.Users)).Set("user_email", email).Set("user_activation_key", "").Where(sq.Eq{"ID": user})
	_, err := tx.Exec(ctx, wpdb.Users, "update user", stmt)
	return err
}

// saveUserName stores a part of a user's name, unless the table cannot store its
// characters.
func saveUserName(ctx context.Context, tx *session.Tx, user int64, key, name string) error {
	err := writeUserMeta(tx, func() error {
		return tx.DB.UpdateUserMeta(ctx, user, wpdb.UserMeta{Key: key, Value: wpdb.PHPText(text.UserName(name))})
	})
	if errors.Is(err, wpdb.ErrBadValue) {
		return nil
	}
	return err
}

var (
	nicenameStrip = regexp.MustCompile(`[^a-z0-9_\s-]`)
	nicenameGaps  = regexp.MustCompile(`[\s-]+`)
)

// freeNicename returns the form of a login used in URLs (sanitize_title), with a number appended if it is
// taken.
func freeNicename(ctx context.Context, s *session.Session, login string) (string, error) {
	base := strings.ReplaceAll(strings.ToLower(login[:min(len(login), maxNicename)]), ".", "-")
	base = strings.Trim(nicenameGaps.ReplaceAllString(nicenameStrip.ReplaceAllString(base, ""), "-"), "-")
	stmt := sq.Select("user_nicename").From(s.DB.Name(wpdb.Users)).Where(sq.Or{sq.Eq{"user_nicename": base}, sq.Like{"user_nicename": base + "-%"}})
	existing, err := wpdb.All(ctx, s.DB, "find nice names", stmt, wpdb.Value[string])
	if err != nil {
		return "", err
	}
	used := map[string]bool{}
	for _, name := range existing {
		used[strings.ToLower(name)] = true
	}
	name := base
	for n := 2; used[name]; n++ {
		suffix := fmt.Sprintf("-%d", n)
		name = base[:min(len(base), maxNicename-len(suffix))] + suffix
	}
	return name, nil
}
