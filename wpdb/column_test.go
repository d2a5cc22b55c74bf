package wpdb_test

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// TestCharactersOfColumns: a column accepts exactly the characters that the server can
// store in its character set.
func TestCharactersOfColumns(t *testing.T) {
	t.Parallel()
	db := wpdbtest.OpenConfig(t, configOf(fixtures.New(t, fixtures.Legacy())))
	var all strings.Builder
	for r := rune(1); r <= 0xffff; r++ {
		if r != '?' && (r < 0xd800 || r > 0xdfff) {
			all.WriteRune(r)
		}
	}
	all.WriteString("😀🎁\U0010ffff")
	sent := []rune(all.String())
	for _, charset := range []string{"latin1", "utf8mb3", "utf8mb4"} {
		found, err := read(t.Context(), db, "SELECT CONVERT(CONVERT(? USING "+charset+") USING utf8mb4)", all.String())
		expect.NoError(t, err, charset)
		stored := []rune(found[0])
		if len(stored) != len(sent) {
			t.Fatalf("%s: %d characters of %d came back", charset, len(stored), len(sent))
		}
		for i, r := range sent {
			column := wpdb.Column{Type: "varchar", MaxLength: 100, Charset: charset}
			first, unknown := column.Unknown("a" + string(r) + "🎁")
			if knows := !unknown || first != r; knows != (stored[i] == r) {
				t.Errorf("%s: %U: known: %t, the server made %U of it", charset, r, knows, stored[i])
			}
		}
	}
	for name, c := range map[string]struct {
		column wpdb.Column
		text   string
		want   bool
	}{
		"characters of a varchar": {wpdb.Column{Type: "varchar", MaxLength: 3, Charset: "utf8mb4"}, "äöü", true},
		"one too many":            {wpdb.Column{Type: "varchar", MaxLength: 3, Charset: "utf8mb4"}, "äöüa", false},
		"bytes of a text":         {wpdb.Column{Type: "text", MaxLength: 6, Charset: "utf8mb4"}, "äöü", true},
		"a byte too many":         {wpdb.Column{Type: "text", MaxLength: 6, Charset: "utf8mb4"}, "äöüa", false},
		"an unknown character":    {wpdb.Column{Type: "varchar", MaxLength: 3, Charset: "utf8"}, "🎁", false},
		"another character set":   {wpdb.Column{Type: "varchar", MaxLength: 3, Charset: "big5"}, "é", true},
	} {
		expect.Equal(t, c.want, c.column.Holds(c.text), name, ": holds ", c.text)
	}
}
