package customers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// newCustomFields returns the names of the custom fields that get a value and are not yet
// known as custom fields.
func (v Patch) newCustomFields(stored records.Customer) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.CustomFields)), func(name string) bool {
		_, known := stored.CustomFields[name]
		return known || v.CustomFields[name] == "" || strings.HasPrefix(name, "cf_")
	})
}

// checkValues rejects texts that their columns cannot hold, and invalid custom fields. stored are the
// customer's custom fields.
func checkValues(ctx context.Context, s *session.Session, v Patch, stored map[string]string, p *domain.Validation) error {
	for field, sent := range map[string]*string{"notes": v.Notes, "admin_notes": v.AdminNotes} {
		if sent != nil {
			s.CheckText(p, field, wpdb.Customers, field, *sent)
		}
	}
	for name, value := range v.Profile {
		s.CheckText(p, name, wpdb.CustomerMeta, "meta_value", value)
	}
	if len(v.CustomFields) > maxCustomFields {
		p.Reject("custom_fields", fmt.Sprintf("At most %d at a time", maxCustomFields))
		return nil
	}
	if before, after := v.sizes(stored); after > before && after > maxFieldsSize {
		p.Reject("custom_fields", fmt.Sprintf("All of a customer may have at most %d bytes together", maxFieldsSize))
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.CustomFields)) {
		field := customField(name)
		if name == "" || text.Field(name) != name {
			p.Reject(field, notAField)
		}
		s.CheckText(p, field, wpdb.CustomerMeta, "meta_key", name)
		s.CheckText(p, field, wpdb.CustomerMeta, "meta_value", v.CustomFields[name])
		if !p.Has(field) {
			names = append(names, name)
		}
	}
	return checkNames(ctx, s, names, p)
}

// maxCustomFields is how many custom fields a request may name: each costs a statement or part of one.
const maxCustomFields = 200

// maxFieldsSize is how many bytes the names and values of a customer's custom fields may have in total:
// lists, changes and webhooks send all of them.
const maxFieldsSize = 256 << 10

// sizes returns the total size of the custom fields before and after the patch.
func (v Patch) sizes(stored map[string]string) (before, after int) {
	for name, value := range stored {
		before += len(name) + len(value)
		if _, sent := v.CustomFields[name]; !sent {
			after += len(name) + len(value)
		}
	}
	for name, value := range v.CustomFields {
		if value != "" {
			after += len(name) + len(value)
		}
	}
	return before, after
}

func customField(name string) string { return "custom_fields." + name }

const notAField = "Not a name for a custom field"

// checkNames rejects names of custom fields that are reserved for the plugin or for fields without a
// column, and names under which others store data about customers: once written here, a name is a custom
// field of all customers, and the API shows it. The database compares the names, because the plugin finds
// meta by its collation, which ignores more than case. A SELECT of the table's own column that returns no
// rows brings in the collation.
func checkNames(ctx context.Context, s *session.Session, names []string, p *domain.Validation) error {
	if len(names) == 0 {
		return nil
	}
	named := sq.Select("meta_key AS name", "0 AS sent").From(s.DB.Name(wpdb.CustomerMeta)).Where("1 = 0")
	for i, name := range names {
		named = named.SuffixExpr(sq.Expr("UNION ALL SELECT ?, ?", name, i))
	}
	reserved := sq.Or{sq.Eq{"name": slices.Concat(records.ProfileKeys, records.PlatformKeys)}, sq.Like{"name": `password\_%`}}
	stmt := sq.Select("sent").Column(reserved).FromSelect(named, "named").Where(sq.Or{reserved, usedByOthers(s, "name")})
	type refused struct {
		sent     int
		reserved bool
	}
	found, err := wpdb.All(ctx, s.DB, "check names of custom fields", stmt, wpdb.Into(func(r *refused) []any {
		return []any{&r.sent, &r.reserved}
	}))
	if err != nil || len(found) == 0 {
		return err
	}
	defined, err := session.DefinedFields(ctx, s, session.SettingCustomerFields)
	for _, r := range found {
		if _, ok := defined[names[r.sent]]; r.reserved || !ok {
			p.Reject(customField(names[r.sent]), notAField)
		}
	}
	return err
}

// usedByOthers is the condition that the customers' meta has a name, in any letter case, that was never
// written through the API and is not a field of the plugin's own form (cf_…). That includes a name of ours
// if others use it in other letters: the database treats them as equal. Uses the index on meta_key.
func usedByOthers(s *session.Session, name string) sq.Sqlizer {
	used := sq.Select("1").From(s.DB.As(wpdb.CustomerMeta, "m")).Where("m.meta_key = " + name).Where(sq.NotLike{"m.meta_key": `cf\_%`})
	if s.Schema.Has(wpdb.CustomerFields) {
		ours := sq.Select("1").From(s.DB.As(wpdb.CustomerFields, "f")).Where("f.meta_key = m.meta_key")
		used = used.Where(sq.Expr("NOT EXISTS (?)", ours))
	}
	return sq.Expr("EXISTS (?)", used)
}

// storeCustomFieldNames stores the names of custom fields, which distinguishes them from other meta.
func storeCustomFieldNames(ctx context.Context, tx *session.Tx, names []string) error {
	if len(names) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.DB.Name(wpdb.CustomerFields)).Options("IGNORE").Columns("meta_key")
	for _, name := range names {
		stmt = stmt.Values(name)
	}
	_, err := tx.Exec(ctx, wpdb.CustomerFields, "store custom field names", stmt)
	return err
}

// Patch has the fields of a customer to create or change. A nil field was not
// sent.
type Patch struct {
	records.CustomerFields
	Status, Notes, AdminNotes *string
	IsGuest                   *bool
	AvatarImageID             *int64 // 0 for none
	// WordPressUserID is for new customers only; UserField is the field name that was sent.
	WordPressUserID *int64
	UserField       string
	// Profile has the fields without a column, by name; "" removes a field.
	Profile map[string]string
	// CustomFields are merged with the stored ones; "" removes a field.
	CustomFields map[string]string
	domain.Validation
}

// Prefix precedes the names of a customer's fields in a booking.
const Prefix = "customer."

// RefuseInactive rejects customers who may not book. It does not tell limited callers why.
func RefuseInactive(s *session.Session, p *domain.Validation, field string, c records.BookableCustomer) {
	switch {
	case c.Status != "blocked" && c.Status != "inactive":
	case records.Limited(s):
		p.Reject(field, "This customer cannot be booked")
	default:
		p.Reject(field, "This customer is "+c.Status)
	}
}

// sanitize sanitizes the texts. Those of custom fields may have several lines.
func (v Patch) sanitize() Patch {
	for _, notes := range []**string{&v.Notes, &v.AdminNotes} {
		if *notes != nil {
			*notes = new(text.TextareaField(**notes))
		}
	}
	v.Profile, v.CustomFields = maps.Clone(v.Profile), maps.Clone(v.CustomFields)
	for name, value := range v.Profile {
		v.Profile[name] = text.Field(value)
	}
	for name, value := range v.CustomFields {
		v.CustomFields[name] = text.TextareaField(value)
	}
	return v
}

// Sanitize validates a customer and returns it as it would be stored. prefix
// precedes the names of the fields.
func Sanitize(s *session.Session, f records.CustomerFields, prefix string, p *domain.Validation) records.BookingCustomer {
	var c records.BookingCustomer
	for _, field := range []struct {
		name, column string
		sent         *string
		into         *string
		clean        func(string) string
	}{
		{prefix + "first_name", "first_name", f.FirstName, &c.FirstName, text.Field},
		{prefix + "last_name", "last_name", f.LastName, &c.LastName, text.Field},
		{prefix + "email", "email", f.Email, &c.Email, text.TrimEmail},
		{prefix + "phone", "phone", f.Phone, &c.Phone, text.Phone},
	} {
		if field.sent == nil || p.Has(field.name) {
			continue
		}
		*field.into = field.clean(*field.sent)
		s.CheckText(p, field.name, wpdb.Customers, field.column, *field.into)
		if field.column == "phone" && strings.Trim(c.Phone, "+") == "" && strings.TrimSpace(*field.sent) != "" {
			p.Reject(field.name, "Invalid phone number")
		}
		if *field.into == "" && field.column != "phone" {
			p.Reject(field.name, "May not be empty")
		}
	}
	if c.Email != "" && !text.ValidEmail(c.Email) {
		p.Reject(prefix+"email", "Invalid email")
	}
	return c
}

// PatchFields returns a customer with the fields that were sent, and the changed columns. Fields that the
// site requires cannot be emptied.
func PatchFields(s *session.Session, rules Rules, c records.BookingCustomer, sent records.CustomerFields, prefix string, p *domain.Validation) (records.BookingCustomer, session.Row) {
	wanted := Sanitize(s, sent, prefix, p)
	var columns session.Row
	for _, f := range []struct {
		name   string
		sent   *string
		have   *string
		wanted string
	}{
		{"first_name", sent.FirstName, &c.FirstName, wanted.FirstName},
		{"last_name", sent.LastName, &c.LastName, wanted.LastName},
		{"email", sent.Email, &c.Email, wanted.Email},
		{"phone", sent.Phone, &c.Phone, wanted.Phone},
	} {
		if f.sent != nil && blank(f.wanted) && slices.Contains(rules.columns, f.name) {
			p.Reject(prefix+f.name, requiredBySite)
		}
		if f.sent != nil && !p.Has(prefix+f.name) && *f.have != f.wanted {
			*f.have = f.wanted
			columns = append(columns, session.Column{Name: f.name, Value: f.wanted})
		}
	}
	return c, columns
}

// bookingCustomer returns the part of a customer that bookings show.
func bookingCustomer(c records.Customer) records.BookingCustomer {
	return records.BookingCustomer{ID: c.ID, FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone}
}

// changeset returns the changed columns, except for those that PatchFields returns.
func (v Patch) changeset(c records.Customer) session.Changeset {
	var e session.Changeset
	e.Text("status", v.Status, c.Status)
	e.Text("notes", v.Notes, c.Notes)
	e.Text("admin_notes", v.AdminNotes, c.AdminNotes)
	if v.IsGuest != nil && *v.IsGuest != c.IsGuest {
		e.Set("is_guest", *v.IsGuest)
	}
	if v.AvatarImageID != nil && *v.AvatarImageID != domain.ValueOr(c.AvatarImageID, 0) {
		e.Set("avatar_image_id", wpdb.NullIfZero(*v.AvatarImageID))
	}
	return e
}

// metas returns all fields without a column. No name occurs twice.
func (v Patch) metas() map[string]string {
	metas := make(map[string]string, len(v.Profile)+len(v.CustomFields))
	maps.Copy(metas, v.Profile)
	maps.Copy(metas, v.CustomFields)
	return metas
}
