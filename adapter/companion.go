package adapter

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Companion is the plugin that makes WordPress take our locks, as it left word of itself.
type Companion struct {
	Version string
	Seen    time.Time // to about a day, if the site has visitors
}

// Companion returns nil if the site never loaded the companion.
func (s *Site) Companion(ctx context.Context) (*Companion, error) {
	const option = "bookside_companion_seen"
	options, err := s.db.OptionValues(ctx, option)
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
