package server

import (
	"fmt"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

func handlerOptions(c settings.Config) (handlers.Options, error) {
	o := handlers.Options{
		BasePaths:           c.Server.BasePaths,
		QueryParameter:      c.Auth.QueryParameter,
		SiteTimestamps:      c.Compat.Timestamps == "site",
		RequestTimeout:      c.Server.RequestTimeout,
		MaxConcurrent:       c.Server.MaxConcurrent,
		MaxWaiting:          c.Changes.Waiting,
		MaxExports:          c.Lists.MaxExports,
		AllowedOrigins:      c.Server.CORSOrigins,
		FailedKeysPerMinute: c.Auth.FailedKeysPerMinute,
		LogClients:          c.Log.Clients,
		MCP:                 c.MCP.Enabled,
		Version:             Build().Version,
		RateLimit: ratelimit.Options{
			Enabled: c.RateLimit.Enabled,
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
