package main

import (
	"fmt"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/structs"

	"bookside/wpdb"
)

// config is the whole configuration. A key is a section and a name, such as
// db.dsn; each is documented in settings.
type config struct {
	DB struct {
		DSN              string        `koanf:"dsn"`
		Prefix           string        `koanf:"prefix"` // empty for the one in wp-config.php, else wp_
		TLS              string        `koanf:"tls"`
		TLSCA            string        `koanf:"tls_ca"`
		MaxOpen          int           `koanf:"max_open"`
		AcquireTimeout   time.Duration `koanf:"acquire_timeout"`
		ConnectWait      time.Duration `koanf:"connect_wait"`
		StatementTimeout time.Duration `koanf:"statement_timeout"`
		KillAbandoned    bool          `koanf:"kill_abandoned"`
		Prepare          bool          `koanf:"prepare"`
	} `koanf:"db"`
	WordPress struct {
		Config string `koanf:"config"`
		SiteID int    `koanf:"site_id"`
		// Empty for the constants in wp-config.php, else the site's options.
		Home    string `koanf:"home"`
		SiteURL string `koanf:"site_url"`
		Content string `koanf:"content"` // empty for that of wp-config.php
	} `koanf:"wordpress"`
	Server struct {
		Listen          string        `koanf:"listen"`
		BasePaths       []string      `koanf:"base_paths"`
		TrustedProxies  []string      `koanf:"trusted_proxies"`
		MaxConcurrent   int           `koanf:"max_concurrent"`
		MemoryMiB       int           `koanf:"memory_mib"` // 0 for a share of the runtime's memory limit
		HeaderTimeout   time.Duration `koanf:"header_timeout"`
		RequestTimeout  time.Duration `koanf:"request_timeout"`
		WriteTimeout    time.Duration `koanf:"write_timeout"`
		DrainDelay      time.Duration `koanf:"drain_delay"`
		ShutdownTimeout time.Duration `koanf:"shutdown_timeout"`
		CORSOrigins     []string      `koanf:"cors_origins"`
	} `koanf:"server"`
	Admin struct {
		Listen   string   `koanf:"listen"`
		KeysPage bool     `koanf:"keys_page"`
		Hosts    []string `koanf:"hosts"`
		PProf    bool     `koanf:"pprof"`
	} `koanf:"admin"`
	Conflicts struct {
		Interval time.Duration `koanf:"interval"`
	} `koanf:"conflicts"`
	Changes struct {
		Interval time.Duration `koanf:"interval"`
		Sweep    time.Duration `koanf:"sweep"`
		Keep     time.Duration `koanf:"keep"`
		Waiting  int           `koanf:"max_waiting"`
	} `koanf:"changes"`
	Auth struct {
		QueryParameter      string `koanf:"query_parameter"`
		FailedKeysPerMinute int    `koanf:"failed_keys_per_minute"`
	} `koanf:"auth"`
	RateLimit struct {
		Enabled       bool   `koanf:"enabled"`
		LivePerMinute int    `koanf:"live_per_minute"`
		LivePerHour   int    `koanf:"live_per_hour"`
		TestPerMinute int    `koanf:"test_per_minute"`
		TestPerHour   int    `koanf:"test_per_hour"`
		Redis         string `koanf:"redis"`
	} `koanf:"rate_limit"`
	MCP struct {
		Enabled bool `koanf:"enabled"`
	} `koanf:"mcp"`
	Lists struct {
		ExactCountMS int           `koanf:"exact_count_ms"`
		CountMaxAge  time.Duration `koanf:"count_max_age"`
		MaxExports   int           `koanf:"max_exports"`
	} `koanf:"lists"`
	Mail struct {
		Enabled  bool   `koanf:"enabled"`
		From     string `koanf:"from"`
		FromName string `koanf:"from_name"`
		SMTP     struct {
			Host     string `koanf:"host"`
			Port     int    `koanf:"port"`
			TLS      string `koanf:"tls"`
			User     string `koanf:"user"`
			Password string `koanf:"password"`
		} `koanf:"smtp"`
	} `koanf:"mail"`
	Webhooks struct {
		Enabled      bool   `koanf:"enabled"`
		SecretKey    string `koanf:"secret_key"`
		AllowPrivate bool   `koanf:"allow_private"`
	} `koanf:"webhooks"`
	Compat struct {
		Timestamps      string   `koanf:"timestamps"`
		BookingMetaKeys []string `koanf:"booking_meta_keys"`
	} `koanf:"compat"`
	Log struct {
		Level   string `koanf:"level"`
		Format  string `koanf:"format"`
		Clients bool   `koanf:"clients"`
	} `koanf:"log"`
}

const (
	keyDSN          = "db.dsn"
	keySecretKey    = "webhooks.secret_key"
	keyMailPassword = "mail.smtp.password"
	keyRedis        = "rate_limit.redis"
	keyPrefix       = "db.prefix"
	keyTLS          = "db.tls"
	keyTLSCA        = "db.tls_ca"
	keyWPConfig     = "wordpress.config"
	keyContent      = "wordpress.content"
	keyListen       = "server.listen"
	defaultPrefix   = "wp_"
)

func defaultConfig() config {
	var c config
	c.DB.TLS = string(wpdb.TLSAuto)
	c.DB.MaxOpen = 10
	c.DB.AcquireTimeout = 2 * time.Second
	c.DB.ConnectWait = 30 * time.Second
	c.DB.StatementTimeout = 10 * time.Second
	c.DB.KillAbandoned = true
	c.DB.Prepare = true
	c.Server.Listen = "127.0.0.1:8080"
	c.Server.BasePaths = []string{"/wp-json/latepoint-api/v1", "/v1"}
	c.Server.TrustedProxies = []string{}
	c.Server.MaxConcurrent = 256
	c.Server.HeaderTimeout = 10 * time.Second
	c.Server.RequestTimeout = 15 * time.Second
	c.Server.WriteTimeout = 10 * time.Second
	c.Server.DrainDelay = time.Second
	c.Server.ShutdownTimeout = 15 * time.Second
	c.Server.CORSOrigins = []string{}
	c.Admin.Listen = "127.0.0.1:8081"
	c.Admin.KeysPage = true
	c.Admin.Hosts = []string{}
	c.Conflicts.Interval = 5 * time.Minute
	c.Changes.Interval, c.Changes.Sweep, c.Changes.Keep = 5*time.Second, 10*time.Minute, 30*24*time.Hour
	c.Changes.Waiting = 1000
	c.Auth.QueryParameter = "api_key"
	c.Auth.FailedKeysPerMinute = 100
	c.RateLimit.Enabled = true
	c.RateLimit.LivePerMinute, c.RateLimit.LivePerHour = 60, 3600
	c.RateLimit.TestPerMinute, c.RateLimit.TestPerHour = 100, 1000
	c.MCP.Enabled = true
	c.Lists.ExactCountMS, c.Lists.CountMaxAge = 20, 5*time.Second
	c.Lists.MaxExports = 4
	c.Webhooks.Enabled = true
	c.Mail.SMTP.Port, c.Mail.SMTP.TLS = 587, mailStartTLS
	c.Compat.Timestamps = "stored"
	c.Compat.BookingMetaKeys = []string{}
	c.Log.Level, c.Log.Format = "info", formatAuto
	return c
}

// masked returns the configuration as YAML without its secrets.
func (c config) masked() (string, error) {
	c.DB.DSN = maskDSN(c.DB.DSN)
	c.RateLimit.Redis = maskRedis(c.RateLimit.Redis)
	if c.Mail.SMTP.Password != "" {
		c.Mail.SMTP.Password = "***"
	}
	if c.Webhooks.SecretKey != "" {
		c.Webhooks.SecretKey = "***"
	}
	sections, err := structs.Provider(c, "koanf").Read()
	if err != nil {
		return "", fmt.Errorf("print configuration: %w", err)
	}
	text, err := yaml.Parser().Marshal(sections)
	if err != nil {
		return "", fmt.Errorf("print configuration: %w", err)
	}
	return string(text), nil
}
