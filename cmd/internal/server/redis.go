package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// newRedis returns nil if no Redis is configured.
func newRedis(c settings.Config) (*ratelimit.Redis, error) {
	if c.RateLimit.Redis == "" {
		return nil, nil
	}
	r, err := ratelimit.NewRedis(c.RateLimit.Redis)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, nil, "%s: cannot be read", settings.Redis)
	}
	return r, nil
}

// TryRedis asks Redis as the rate limiter does, if one is configured.
func TryRedis(ctx context.Context, c settings.Config) error {
	r, err := newRedis(c)
	if r == nil || err != nil {
		return err
	}
	return errors.Join(r.Try(ctx), r.Close())
}

// sharedCounts returns nil if no Redis is configured.
func (s *Server) sharedCounts(ctx context.Context, db *wpdb.DB) (shared *ratelimit.SharedCounter, stop func() error, err error) {
	r, err := newRedis(s.Config)
	if err != nil {
		return nil, nil, err
	}
	if r == nil {
		return nil, func() error { return nil }, nil
	}
	site, err := s.siteName(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, r.Close())
	}
	s.Log.Info("requests are counted in Redis", "address", r.Address)
	return ratelimit.NewSharedCounter(r, site, s.Now, s.Log), r.Close, nil
}

// siteName returns a name that all servers of a site share, whatever address they use for its database, and
// that differs between sites.
func (s *Server) siteName(ctx context.Context, db *wpdb.DB) (string, error) {
	options, err := db.OptionValues(ctx, "siteurl")
	if err != nil {
		return "", fmt.Errorf("name the site in Redis: %w", err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", options["siteurl"], s.target.Database, db.Prefix()))
	return hex.EncodeToString(sum[:8]), nil
}
