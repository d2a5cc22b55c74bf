package server

import (
	"fmt"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// FailedKeysPerMinute is how many requests with an invalid key an address may send.
const FailedKeysPerMinute = 100

// Requests beyond these numbers are refused.
const (
	maxConcurrent = 256  // processed at the same time
	maxWaiting    = 1000 // that wait for changes at the same time
	maxExports    = 4    // lists sent as CSV or iCalendar at the same time
)

func handlerOptions(c settings.Config) (handlers.Options, error) {
	o := handlers.Options{
		BasePaths:           c.Server.BasePaths,
		QueryParameter:      c.Auth.QueryParameter,
		SiteTimestamps:      c.Compat.Timestamps == "site",
		RequestTimeout:      c.Server.RequestTimeout,
		MaxConcurrent:       maxConcurrent,
		MaxWaiting:          maxWaiting,
		MaxExports:          maxExports,
		AllowedOrigins:      c.Server.CORSOrigins,
		FailedKeysPerMinute: FailedKeysPerMinute,
		LogClients:          c.Log.Clients,
		Version:             Build().Version,
		RateLimit: ratelimit.Options{
			Enabled: true,
			Live:    ratelimit.Limits{PerMinute: int64(c.RateLimit.LivePerMinute), PerHour: int64(c.RateLimit.LivePerHour)},
			Test:    ratelimit.Limits{PerMinute: int64(c.RateLimit.TestPerMinute), PerHour: int64(c.RateLimit.TestPerHour)},
		},
	}
	for _, text := range c.Server.TrustedProxies {
		network, err := settings.ParseNetwork(text)
		if err != nil {
			return handlers.Options{}, fmt.Errorf("server.trusted_proxies: %w", err)
		}
		o.TrustedProxies = append(o.TrustedProxies, network)
	}
	return o, nil
}
