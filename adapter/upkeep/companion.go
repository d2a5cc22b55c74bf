package upkeep

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/session"
)

// Companion is what the companion, which makes WordPress take our locks, has stored about itself.
type Companion struct {
	Version string
	Seen    time.Time // to about a day, if the site has visitors
}

// LoadCompanion returns nil if the site never loaded the companion.
func LoadCompanion(ctx context.Context, s *session.Session) (*Companion, error) {
	const option = "bookside_companion_seen"
	options, err := s.DB.OptionValues(ctx, option)
	version, at, ok := strings.Cut(options[option], " ")
	if err != nil || !ok {
		return nil, err
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // somebody else's option, or none
	}
	return &Companion{Version: version, Seen: time.Unix(seconds, 0)}, nil
}
