// Some tables have values that PHP unserialises. A text stored there unchanged
// could become an object of any class that the site has loaded. So everything
// that is written to them goes through MaybeSerialize, and everything that is
// read from them through MaybeUnserialize.
//
// WordPress treats its options and the metadata of users, posts and terms this
// way, and the plugin its settings and sessions (OsSettingsHelper,
// OsSessionsHelper). The plugin's own metadata, of bookings, customers, agents,
// services and orders, is plain text (OsMetaModel), and so are its JSON
// columns.

package wpdb

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// phpTables are such tables, without their prefix.
var phpTables = []string{"usermeta", "postmeta", "termmeta", "commentmeta", "blogmeta", "sitemeta", "options", "latepoint_settings", "latepoint_sessions"}

// phpTable matches the name of such a table in a statement, with any prefix.
var phpTable = regexp.MustCompile(`(?i)\b\w*(?:` + strings.Join(phpTables, "|") + `)\b`)

// PHPValue is a value for such a table: a PHPText or a PHPRole.
type PHPValue interface {
	// stored returns the value as WordPress stores it (maybe_serialize).
	stored() string
}

// PHPText is a text. If WordPress would mistake it for a serialised value, it
// is serialised once more, so that it reads as the text again.
type PHPText string

func (t PHPText) stored() string {
	if isSerialized(string(t), false) {
		return serializeText(string(t))
	}
	return string(t)
}

// PHPRole is the capabilities of a user with this role alone: an array of the role and true.
type PHPRole string

func (r PHPRole) stored() string { return "a:1:{" + serializeText(string(r)) + "b:1;}" }

// serializeText is PHP's serialize for a text.
func serializeText(text string) string { return fmt.Sprintf(`s:%d:"%s";`, len(text), text) }

// MaybeSerialize returns a value as WordPress stores it (maybe_serialize).
func MaybeSerialize(value PHPValue) string { return value.stored() }

// MaybeUnserialize returns the value that WordPress reads from a stored text
// (maybe_unserialize), as described at UnserializePHP. A text that is not
// serialised is returned unchanged.
func MaybeUnserialize(stored string) (any, error) {
	if !isSerialized(stored, true) {
		return stored, nil
	}
	return UnserializePHP(strings.Trim(stored, phpBlanks))
}

// PlainText returns the text that WordPress reads from a stored one. Arrays and
// unreadable values are returned as they are stored.
func PlainText(stored string) string {
	value, err := MaybeUnserialize(stored)
	if err != nil {
		return stored
	}
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "1"
		}
		return ""
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return stored
}

// phpBlanks are the characters that PHP's trim removes.
const phpBlanks = " \t\n\r\x00\x0b"

var (
	serializedLength       = regexp.MustCompile(`^[saOE]:[0-9]+:`)
	serializedNumber       = regexp.MustCompile(`^[bid]:[0-9.E+-]+;`)
	serializedNumberStrict = regexp.MustCompile(`^[bid]:[0-9.E+-]+;$`)
)

// isSerialized reports whether WordPress takes a text for a serialised value
// (is_serialized). With strict it also checks the end of the text, as WordPress
// does before reading; without it more texts match, as before writing.
func isSerialized(text string, strict bool) bool {
	text = strings.Trim(text, phpBlanks)
	if text == "N;" {
		return true
	}
	if len(text) < 4 || text[1] != ':' {
		return false
	}
	semicolon, brace := strings.IndexByte(text, ';'), strings.IndexByte(text, '}')
	switch last := text[len(text)-1]; {
	case strict && last != ';' && last != '}':
		return false
	case !strict && (semicolon < 0 && brace < 0 || semicolon >= 0 && semicolon < 3 || brace >= 0 && brace < 4):
		return false
	}
	switch text[0] {
	case 's':
		if strict && text[len(text)-2] != '"' || !strict && !strings.Contains(text, `"`) {
			return false
		}
		return serializedLength.MatchString(text)
	case 'a', 'O', 'E':
		return serializedLength.MatchString(text)
	case 'b', 'i', 'd':
		if strict {
			return serializedNumberStrict.MatchString(text)
		}
		return serializedNumber.MatchString(text)
	}
	return false
}

// UserMeta is a meta of a WordPress user.
type UserMeta struct {
	Key   string
	Value PHPValue
}

// AddUserMeta adds metadata to a user who has none with these keys
// (add_user_meta).
func (db *DB) AddUserMeta(ctx context.Context, user int64, metas ...UserMeta) error {
	stmt := sq.Insert(db.Name(Usermeta)).Columns("user_id", "meta_key", "meta_value")
	for _, m := range metas {
		stmt = stmt.Values(user, m.Key, MaybeSerialize(m.Value))
	}
	_, err := db.changePHPTable(ctx, "insert user meta", stmt)
	return err
}

// UpdateUserMeta sets metadata of a user, adding it if necessary
// (update_user_meta).
func (db *DB) UpdateUserMeta(ctx context.Context, user int64, meta UserMeta) error {
	stmt := sq.Update(db.Name(Usermeta)).Set("meta_value", MaybeSerialize(meta.Value)).Where(sq.Eq{"user_id": user, "meta_key": meta.Key})
	result, err := db.changePHPTable(ctx, "update user meta", stmt)
	if err != nil || result.Rows > 0 {
		return err
	}
	return db.AddUserMeta(ctx, user, meta)
}

// UpdateOwnOption sets an option that the companion has stored, if it exists. WordPress may have another value
// in its cache.
func (db *DB) UpdateOwnOption(ctx context.Context, name string, value PHPText) error {
	stmt := sq.Update(db.Name(Options)).Set("option_value", MaybeSerialize(value)).Where(sq.Eq{"option_name": name})
	_, err := db.changePHPTable(ctx, "update an option of ours", stmt)
	return err
}

// changePHPTable is Exec for those of these tables that we write.
func (db *DB) changePHPTable(ctx context.Context, op string, stmt sq.Sqlizer) (Result, error) {
	c, err := buildChange(op, stmt)
	if err != nil {
		return Result{}, err
	}
	return c.apply(ctx, db)
}

// refusePHPTables returns an error if the statement names a table whose values
// PHP unserialises.
func (c change) refusePHPTables() error {
	lower := strings.ToLower(c.text)
	named := func(table string) bool { return strings.Contains(lower, table) }
	if !slices.ContainsFunc(phpTables, named) {
		return nil // without the expression, which takes longer than everything else that a statement needs here
	}
	if table := phpTable.FindString(c.text); table != "" {
		return fmt.Errorf("%s: not allowed: PHP unserialises the values of %s", c.op, table)
	}
	return nil
}
