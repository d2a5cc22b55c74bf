package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// redisTimeout limits how long a request waits for Redis, which normally answers
// within a millisecond. The parameter read_timeout of the URL overrides it.
const redisTimeout = 100 * time.Millisecond

// parseRedis parses a URL. The error may quote it.
func parseRedis(text string) (*redis.Options, error) {
	options, err := redis.ParseURL(text)
	if err != nil {
		return nil, err
	}
	// No retries: if Redis fails, the request is counted in this process.
	options.MaxRetries, options.DialerRetries = -1, 1
	if options.ReadTimeout <= 0 {
		options.ReadTimeout = redisTimeout
	}
	options.DialTimeout, options.WriteTimeout, options.PoolTimeout = options.ReadTimeout, options.ReadTimeout, options.ReadTimeout
	// A lost route breaks all connections silently. By the next attempt, those that were open when Redis
	// failed have been idle for longer than this, so they are not tried one by one.
	if options.ConnMaxIdleTime == 0 {
		options.ConnMaxIdleTime = ratelimit.RetryInterval / 2
	}
	options.ContextTimeoutEnabled = true
	options.ClientName, options.DisableIdentity = "bookside", true
	options.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	return options, nil
}

// openRedis returns nil if no Redis is configured. It connects with the first command.
func openRedis(c settings.Config) (*redis.Client, error) {
	if c.RateLimit.Redis == "" {
		return nil, nil
	}
	options, err := parseRedis(c.RateLimit.Redis)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, nil, "%s: cannot be read", settings.Redis)
	}
	logging.Disable() // its lines are not JSON, and errors are returned anyway
	return redis.NewClient(options), nil
}

// TryRedis runs a script as the rate limiter does, if Redis is configured.
func TryRedis(ctx context.Context, c settings.Config) error {
	client, err := openRedis(c)
	if client == nil || err != nil {
		return err
	}
	err = redis.NewScript("return 1").Run(ctx, client, nil).Err()
	return errors.Join(err, client.Close())
}

// sharedCounts returns nil if no Redis is configured.
func (s *Server) sharedCounts(ctx context.Context, db *wpdb.DB) (shared *ratelimit.SharedCounter, stop func() error, err error) {
	client, err := openRedis(s.Config)
	if err != nil {
		return nil, nil, err
	}
	if client == nil {
		return nil, func() error { return nil }, nil
	}
	site, err := s.siteName(ctx, db)
	if err != nil {
		return nil, nil, errors.Join(err, client.Close())
	}
	options := client.Options()
	s.Log.Info("requests are counted in Redis", "address", options.Addr)
	return ratelimit.NewSharedCounter(client, site, options.ReadTimeout, s.Now, s.Log), client.Close, nil
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
