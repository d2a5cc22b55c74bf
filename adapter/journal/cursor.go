package journal

import (
	"crypto/rand"
	"regexp"
	"strconv"
	"strings"
)

// Cursor is a place in the journal: behind the entry with a number of an epoch. Numbers never
// return within an epoch; a journal that replaces another, because it was restored or all of it
// was lost, begins a new one, so that cursors of the old one are not taken for its own.
type Cursor struct {
	Epoch  string // "" for the first epoch, which began before there were others
	Number int64
}

// String is the cursor as clients keep it.
func (c Cursor) String() string {
	if c.Epoch == "" {
		return strconv.FormatInt(c.Number, 10)
	}
	return c.Epoch + "-" + strconv.FormatInt(c.Number, 10)
}

// At returns the cursor behind another entry of the same epoch.
func (c Cursor) At(number int64) Cursor { return Cursor{c.Epoch, number} }

// CursorPattern is that of cursors as text.
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
