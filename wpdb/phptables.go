// The tables whose values PHP unserialises. A text stored there as it is can
// become an object of any class that the site has loaded, so that everything
// that is written to them passes MaybeSerialize, and everything that is read
// from them MaybeUnserialize.
//
// WordPress reads its options and the metas of users, posts and terms this way,
// the plugin its settings and sessions (OsSettingsHelper, OsSessionsHelper). The
// plugin's own metas, of bookings, customers, agents, services and orders, are
// plain texts (OsMetaModel), and so are its columns of JSON.

package wpdb

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// phpTable finds the name of such a table in a statement, whatever its prefix.
var phpTable = regexp.MustCompile(`(?i)\b\w*(?:(?:user|post|term|comment|blog|site)meta|options|latepoint_(?:settings|sessions))\b`)

// PHPValue is what such a table is given: a PHPText or a *PHPArray.
type PHPValue interface {
	// stored is the value as WordPress stores it (maybe_serialize).
	stored() string
}

// PHPText is a text. One that WordPress would take for something serialised is
// serialised once more, so that it reads as the text again.
type PHPText string

func (t PHPText) stored() string {
	if isSerialized(string(t), false) {
		return serializePHP(string(t))
	}
	return string(t)
}

func (a *PHPArray) stored() string { return serializePHP(a) }

// MaybeSerialize is a value as WordPress stores it (maybe_serialize).
func MaybeSerialize(value PHPValue) string { return value.stored() }

// MaybeUnserialize is the value that WordPress reads from what is stored
// (maybe_unserialize), as UnserializePHP describes it. A text that was not
// serialised is itself.
func MaybeUnserialize(stored string) (any, error) {
	if !isSerialized(stored, true) {
		return stored, nil
	}
	return UnserializePHP(strings.Trim(stored, phpBlanks))
}

// PlainText is the text that WordPress reads from what is stored. Arrays, and
// what cannot be read, stay as they are stored.
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

// phpBlanks are what PHP's trim takes off.
const phpBlanks = " \t\n\r\x00\x0b"

var (
	serializedLength       = regexp.MustCompile(`^[saOE]:[0-9]+:`)
	serializedNumber       = regexp.MustCompile(`^[bid]:[0-9.E+-]+;`)
	serializedNumberStrict = regexp.MustCompile(`^[bid]:[0-9.E+-]+;$`)
)

// isSerialized tells whether WordPress takes a text for something serialised
// (is_serialized). Strict looks at the end of the text too, as WordPress does
// before it reads; without it more texts count, as before it writes.
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

// AddUserMeta adds metas of a user who has none of these keys (add_user_meta).
func (db *DB) AddUserMeta(ctx context.Context, user int64, metas ...UserMeta) error {
	stmt := sq.Insert(db.Name(Usermeta)).Columns("user_id", "meta_key", "meta_value")
	for _, m := range metas {
		stmt = stmt.Values(user, m.Key, MaybeSerialize(m.Value))
	}
	_, err := db.changeUserMeta(ctx, "insert user meta", stmt)
	return err
}

// UpdateUserMeta stores a meta of a user, who may not have it yet
// (update_user_meta).
func (db *DB) UpdateUserMeta(ctx context.Context, user int64, meta UserMeta) error {
	stmt := sq.Update(db.Name(Usermeta)).Set("meta_value", MaybeSerialize(meta.Value)).Where(sq.Eq{"user_id": user, "meta_key": meta.Key})
	result, err := db.changeUserMeta(ctx, "update user meta", stmt)
	if err != nil || result.Rows > 0 {
		return err
	}
	return db.AddUserMeta(ctx, user, meta)
}

// changeUserMeta is Exec for the one table of these that we write.
func (db *DB) changeUserMeta(ctx context.Context, op string, stmt sq.Sqlizer) (Result, error) {
	c, err := buildChange(op, stmt)
	if err != nil {
		return Result{}, err
	}
	return c.apply(ctx, db)
}

// refusePHPTables refuses a statement that names a table whose values PHP
// unserialises.
func (c change) refusePHPTables() error {
	if table := phpTable.FindString(c.text); table != "" {
		return fmt.Errorf("%s: refused: PHP unserialises what %s holds", c.op, table)
	}
	return nil
}
