package adapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/sanitize"
	"bookside/wpdb"
)

// sanitize takes what may not be from texts. Those of custom fields may have
// several lines.
func (v CustomerPatch) sanitize() CustomerPatch {
	for _, text := range []**string{&v.Notes, &v.AdminNotes} {
		if *text != nil {
			*text = new(sanitize.TextareaField(**text))
		}
	}
	v.Profile, v.CustomFields = maps.Clone(v.Profile), maps.Clone(v.CustomFields)
	for name, value := range v.Profile {
		v.Profile[name] = sanitize.TextField(value)
	}
	for name, value := range v.CustomFields {
		v.CustomFields[name] = sanitize.TextareaField(value)
	}
	return v
}

// changeset returns the columns that change and are of no concern to others.
func (v CustomerPatch) changeset(c Customer) changeset {
	var e changeset
	e.text("status", v.Status, c.Status)
	e.text("notes", v.Notes, c.Notes)
	e.text("admin_notes", v.AdminNotes, c.AdminNotes)
	if v.IsGuest != nil && *v.IsGuest != c.IsGuest {
		e.set("is_guest", *v.IsGuest)
	}
	if v.AvatarImageID != nil && *v.AvatarImageID != domain.ValueOr(c.AvatarImageID, 0) {
		e.set("avatar_image_id", wpdb.NullIfZero(*v.AvatarImageID))
	}
	return e
}

// metas returns all fields without a column. Their names differ.
func (v CustomerPatch) metas() map[string]string {
	metas := make(map[string]string, len(v.Profile)+len(v.CustomFields))
	maps.Copy(metas, v.Profile)
	maps.Copy(metas, v.CustomFields)
	return metas
}

// newCustomFields returns the names of the custom fields that get a value and that nothing
// yet tells from metas of others.
func (v CustomerPatch) newCustomFields(stored Customer) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(v.CustomFields)), func(name string) bool {
		_, known := stored.CustomFields[name]
		return known || v.CustomFields[name] == "" || strings.HasPrefix(name, "cf_")
	})
}

// checkValues notes texts that do not fit, and custom fields that are none.
func (s *Site) checkValues(ctx context.Context, v CustomerPatch, p *domain.Validation) error {
	for field, sent := range map[string]*string{"notes": v.Notes, "admin_notes": v.AdminNotes} {
		if sent != nil {
			s.checkText(p, field, wpdb.Customers, field, *sent)
		}
	}
	for name, value := range v.Profile {
		s.checkText(p, name, wpdb.CustomerMeta, "meta_value", value)
	}
	if len(v.CustomFields) > maxCustomFields {
		p.Reject("custom_fields", fmt.Sprintf("At most %d at a time", maxCustomFields))
		return nil
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(v.CustomFields)) {
		field := customField(name)
		if name == "" || sanitize.TextField(name) != name {
			p.Reject(field, notAField)
		}
		s.checkText(p, field, wpdb.CustomerMeta, "meta_key", name)
		s.checkText(p, field, wpdb.CustomerMeta, "meta_value", v.CustomFields[name])
		if !p.Has(field) {
			names = append(names, name)
		}
	}
	return s.checkNames(ctx, names, p)
}

// maxCustomFields is how many custom fields one request may name: each of them
// is a statement's part, or a statement.
const maxCustomFields = 200

func customField(name string) string { return "custom_fields." + name }

const notAField = "Not a name for a custom field"

// checkNames notes names of custom fields that the platform, or a field without
// a column, has for itself. The database tells: its collation takes more letters
// for the same than their case, and the plugin finds a meta by it. The names of
// the table's own column, of which there are none here, bring the collation in.
func (s *Site) checkNames(ctx context.Context, names []string, p *domain.Validation) error {
	if len(names) == 0 {
		return nil
	}
	named := sq.Select("meta_key AS name", "0 AS sent").From(s.db.Name(wpdb.CustomerMeta)).Where("1 = 0")
	for i, name := range names {
		named = named.SuffixExpr(sq.Expr("UNION ALL SELECT ?, ?", name, i))
	}
	reserved := slices.Concat(profileKeys, platformKeys)
	stmt := sq.Select("sent").FromSelect(named, "named").Where(sq.Or{sq.Eq{"name": reserved}, sq.Like{"name": `password\_%`}})
	found, err := wpdb.All(ctx, s.db, "check names of custom fields", stmt, wpdb.Value[int])
	for _, i := range found {
		p.Reject(customField(names[i]), notAField)
	}
	return err
}

// storeCustomFieldNames keeps the names of custom fields, by which they are told from
// metas of others.
func (tx *Tx) storeCustomFieldNames(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	stmt := sq.Insert(tx.db.Name(wpdb.CustomerFields)).Options("IGNORE").Columns("meta_key")
	for _, name := range names {
		stmt = stmt.Values(name)
	}
	_, err := tx.exec(ctx, wpdb.CustomerFields, "remember custom fields", stmt)
	return err
}
