package settings

import "time"

// Config holds the value of every setting, by section, and the limits that nobody sets.
type Config struct {
	DB struct {
		DSN     string
		Prefix  string // empty for the one in wp-config.php, otherwise wp_
		TLS     string
		TLSCA   string
		MaxOpen int
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
		Listen         string
		BasePaths      []string
		TrustedProxies []string
		RequestTimeout time.Duration
		CORSOrigins    []string
	}
	Admin struct {
		Listen string
		Hosts  []string
		// BaseURL has scheme and host only.
		BaseURL           string
		TrustedUserHeader string
	}
	Changes struct {
		Keep time.Duration
	}
	Requests struct {
		Keep int // 0 for none
	}
	Auth struct {
		QueryParameter string
	}
	RateLimit struct {
		LivePerMinute int
		LivePerHour   int
		TestPerMinute int
		TestPerHour   int
		Redis         string
	}
	Webhooks struct {
		Enabled      bool
		SecretKey    string
		AllowPrivate bool
	}
	Extensions struct {
		Unreachable string
		Unknown     string
	}
	Bookings struct {
		DefaultStatus string
	}
	Compat struct {
		Timestamps      string
		BookingMetaKeys []string
	}
	Log struct {
		Level   string
		Clients bool
	}
	Limits Limits
}

// Limits are times that suit every site. Tests and the demo have others.
type Limits struct {
	ConnectWait       time.Duration // for a database that is down when serve starts
	AcquireTimeout    time.Duration // while all connections are in use
	StatementTimeout  time.Duration // enforced by the database server
	HeaderTimeout     time.Duration // to receive the header of a request
	WriteTimeout      time.Duration // for the client to read a response, beyond server.request_timeout
	DrainDelay        time.Duration // after SIGTERM, while new requests are still accepted
	ShutdownTimeout   time.Duration // after that, for running requests to finish
	ConflictsInterval time.Duration // between two searches for overlapping bookings
	ChangesInterval   time.Duration // between two searches for changes made by others
	ChangesSweep      time.Duration // in which all records are compared
}

// StandardLimits are those of serve.
func StandardLimits() Limits {
	return Limits{
		ConnectWait: 30 * time.Second, AcquireTimeout: 2 * time.Second, StatementTimeout: 10 * time.Second,
		HeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, DrainDelay: time.Second, ShutdownTimeout: 15 * time.Second,
		ConflictsInterval: 5 * time.Minute, ChangesInterval: 5 * time.Second, ChangesSweep: 10 * time.Minute,
	}
}
