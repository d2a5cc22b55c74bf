package journal

import (
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"
)

// Cursor is a place in the journal: after the entry with a number in an epoch. Numbers never repeat within
// an epoch. A journal that replaces another, because it was restored or lost completely, begins a new
// epoch, so that cursors of the old one are not mistaken for its own.
type Cursor struct {
	Epoch  string // "" for the first epoch, which began before epochs existed
	Number int64
}

// String returns the cursor as clients store it.
func (c Cursor) String() string {
	if c.Epoch == "" {
		return strconv.FormatInt(c.Number, 10)
	}
	return c.Epoch + "-" + strconv.FormatInt(c.Number, 10)
}

// At returns the cursor after another entry of the same epoch.
func (c Cursor) At(number int64) Cursor { return Cursor{c.Epoch, number} }

// CursorPattern matches cursors as text.
const CursorPattern = `^([a-z2-7]{8}-)?[0-9]{1,18}$`

var cursorText = regexp.MustCompile(CursorPattern)

// ParseCursor reads what String returned, or a number of the first epoch.
func ParseCursor(text string) (c Cursor, ok bool) {
	if !cursorText.MatchString(text) {
		return Cursor{}, false
	}
	number := text
	if epoch, rest, found := strings.Cut(text, "-"); found {
		c.Epoch, number = epoch, rest
	}
	n, err := strconv.ParseInt(number, 10, 64)
	c.Number = n
	return c, err == nil
}

// newEpoch returns an epoch that no other journal has had.
func newEpoch() string { return strings.ToLower(rand.Text()[:8]) }
