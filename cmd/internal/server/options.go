package server

import (
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/handlers/ratelimit"
)

const mebibyte = 1 << 20

// memoryWait is how long a request waits for memory that others use: long enough
// for several heavy requests, and shorter than the time limit of a request.
const memoryWait = 5 * time.Second

// requestMemory returns the memory that all requests together may use, in
// bytes: the configured amount, otherwise two thirds of the runtime's limit,
// which is math.MaxInt64 if GOMEMLIMIT is not set. The rest is for connections
// and the program itself.
func requestMemory(c settings.Config, limit int64) int64 {
	switch {
	case c.Server.MemoryMiB > 0:
		return int64(c.Server.MemoryMiB) * mebibyte
	case limit == math.MaxInt64:
		return 2 * handlers.MinMemory
	default:
		return max(limit/3*2, handlers.MinMemory)
	}
}

// connectionShare divides the memory of requests: connections may use an
// additional quarter of it.
const connectionShare = 4

func handlerOptions(c settings.Config) (handlers.Options, error) {
	o := handlers.Options{
		BasePaths:           c.Server.BasePaths,
		QueryParameter:      c.Auth.QueryParameter,
		SiteTimestamps:      c.Compat.Timestamps == "site",
		RequestTimeout:      c.Server.RequestTimeout,
		MaxConcurrent:       c.Server.MaxConcurrent,
		MaxWaiting:          c.Changes.Waiting,
		MaxExports:          c.Lists.MaxExports,
		Memory:              requestMemory(c, debug.SetMemoryLimit(-1)),
		MemoryWait:          memoryWait,
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
