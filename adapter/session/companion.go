package session

import (
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

// Companion is what the companion, which makes WordPress take our locks, has noted about itself.
type Companion struct {
	Version string
	Seen    time.Time // to about a day, if the site has visitors or we reach it
}

// companionSilence is how long a companion is silent only if it was removed, or nobody reaches WordPress.
const companionSilence = 3 * 24 * time.Hour

// Silent reports whether the companion is taken for removed at an instant, with all that it has reported.
func (c Companion) Silent(now time.Time) bool { return now.Sub(c.Seen) > companionSilence }

// Companion returns nil if the site never loaded the companion, or it was deactivated.
func (s *Session) Companion() *Companion {
	version, at, _ := strings.Cut(wpdb.PlainText(s.options[domain.OptionCompanion]), " ")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil
	}
	return &Companion{Version: version, Seen: time.Unix(seconds, 0)}
}

// reported returns an option in which the companion has reported something, in words; none of a companion that is gone.
func (s *Session) reported(option string) []string {
	words := strings.Fields(wpdb.PlainText(s.options[option]))
	if c := s.Companion(); len(words) > 0 && (c == nil || c.Silent(s.Now)) {
		return nil
	}
	return words
}
