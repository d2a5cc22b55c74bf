package settings

import "time"

// Config holds the value of every setting, by section.
type Config struct {
	DB struct {
		DSN              string
		Prefix           string // empty for the one in wp-config.php, otherwise wp_
		TLS              string
		TLSCA            string
		MaxOpen          int
		AcquireTimeout   time.Duration
		ConnectWait      time.Duration
		StatementTimeout time.Duration
		KillAbandoned    bool
		Prepare          bool
	}
	WordPress struct {
		Config string
		SiteID int
		// Empty for the constants in wp-config.php, otherwise the site's options.
		Home    string
		SiteURL string
		Content string // empty for the one in wp-config.php
		// Loopback is where this machine reaches WordPress; empty for the site's own address.
		Loopback string
	}
	Server struct {
		Listen          string
		BasePaths       []string
		TrustedProxies  []string
		MaxConcurrent   int
		HeaderTimeout   time.Duration
		RequestTimeout  time.Duration
		WriteTimeout    time.Duration
		DrainDelay      time.Duration
		ShutdownTimeout time.Duration
		CORSOrigins     []string
	}
	Admin struct {
		Listen   string
		KeysPage bool
		ReadOnly bool
		Hosts    []string
		// BaseURL has scheme and host only.
		BaseURL           string
		TrustedUserHeader string
		PProf             bool
	}
	Conflicts struct {
		Interval time.Duration
	}
	Changes struct {
		Interval time.Duration
		Sweep    time.Duration
		Keep     time.Duration
		Waiting  int
	}
	Requests struct {
		Keep int // 0 for none
	}
	Auth struct {
		QueryParameter      string
		FailedKeysPerMinute int
	}
	RateLimit struct {
		Enabled       bool
		LivePerMinute int
		LivePerHour   int
		TestPerMinute int
		TestPerHour   int
		Redis         string
	}
	MCP struct {
		Enabled bool
	}
	Lists struct {
		ExactCountMS int
		CountMaxAge  time.Duration
		MaxExports   int
	}
	Webhooks struct {
		Enabled      bool
		SecretKey    string
		AllowPrivate bool
	}
	Extensions struct {
		Ask         string
		Cache       time.Duration
		Unreachable string
		Unknown     string
	}
	Compat struct {
		Timestamps      string
		BookingMetaKeys []string
	}
	Log struct {
		Level   string
		Format  string
		Clients bool
	}
}
