package main

import (
	"fmt"
	"time"

	"github.com/knadh/koanf/parsers/yaml"
	"github.com/knadh/koanf/providers/structs"
)

// config is the whole configuration. A key is a section and a name, such as
// db.dsn; configHelp tells people about each.
type config struct {
	DB struct {
		DSN              string        `koanf:"dsn"`
		Prefix           string        `koanf:"prefix"` // "" for the one in wp-config.php, else wp_
		MaxOpen          int           `koanf:"max_open"`
		AcquireTimeout   time.Duration `koanf:"acquire_timeout"`
		ConnectWait      time.Duration `koanf:"connect_wait"`
		StatementTimeout time.Duration `koanf:"statement_timeout"`
		KillAbandoned    bool          `koanf:"kill_abandoned"`
	} `koanf:"db"`
	WordPress struct {
		Config string `koanf:"config"`
		SiteID int    `koanf:"site_id"`
	} `koanf:"wordpress"`
	Server struct {
		Listen          string        `koanf:"listen"`
		BasePaths       []string      `koanf:"base_paths"`
		TrustedProxies  []string      `koanf:"trusted_proxies"`
		MaxConcurrent   int           `koanf:"max_concurrent"`
		MemoryMiB       int           `koanf:"memory_mib"` // 0 for what the runtime's limit leaves room for
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
	Compat struct {
		Timestamps      string   `koanf:"timestamps"`
		BookingMetaKeys []string `koanf:"booking_meta_keys"`
	} `koanf:"compat"`
	Log struct {
		Level string `koanf:"level"`
	} `koanf:"log"`
}

const (
	keyDSN          = "db.dsn"
	keyMailPassword = "mail.smtp.password"
	keyRedis        = "rate_limit.redis"
	keyPrefix       = "db.prefix"
	keyWPConfig     = "wordpress.config"
	keyListen       = "server.listen"
	defaultPrefix   = "wp_"
)

func defaultConfig() config {
	var c config
	c.DB.MaxOpen = 10
	c.DB.AcquireTimeout = 2 * time.Second
	c.DB.ConnectWait = 30 * time.Second
	c.DB.StatementTimeout = 10 * time.Second
	c.DB.KillAbandoned = true
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
	c.Auth.QueryParameter = "api_key"
	c.Auth.FailedKeysPerMinute = 100
	c.RateLimit.Enabled = true
	c.RateLimit.LivePerMinute, c.RateLimit.LivePerHour = 60, 3600
	c.RateLimit.TestPerMinute, c.RateLimit.TestPerHour = 100, 1000
	c.Mail.SMTP.Port, c.Mail.SMTP.TLS = 587, mailStartTLS
	c.Compat.Timestamps = "stored"
	c.Compat.BookingMetaKeys = []string{}
	c.Log.Level = "info"
	return c
}

// masked is the configuration as YAML, fit to be shown.
func (c config) masked() (string, error) {
	c.DB.DSN = maskDSN(c.DB.DSN)
	c.RateLimit.Redis = maskRedis(c.RateLimit.Redis)
	if c.Mail.SMTP.Password != "" {
		c.Mail.SMTP.Password = "***"
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

const configHelp = `Settings come from, each overruling those before it:
  1. the defaults below
  2. a YAML file named by --config or BOOKSIDE_CONFIG, sections and names as below
  3. the environment: db.dsn is BOOKSIDE_DB__DSN, and so on; lists separated by commas.
     BOOKSIDE_DB__DSN_FILE names a file that holds the value.
  4. flags: --set db.max_open=20, and the short forms that a command's help tells.
     Every user of the machine can see the flags of a program, so keep secrets out of them.

One of db.dsn and wordpress.config is needed. bookside serve --print-config prints the result.

db.dsn                       user:password@tcp(host:3306)/database
db.prefix                    table prefix of the site; default wp_, or what wp-config.php says
db.max_open                  connections at most; default 10
db.acquire_timeout           how long a request waits while all connections are in use; default 2s
db.connect_wait              how long serve waits for a database that is down; default 30s
db.statement_timeout         limit of one statement; default 10s
db.kill_abandoned            kill the statements of requests that were given up; default true, false behind a proxy
                             that shares connections to the server without showing it

wordpress.config             path of the site's wp-config.php, for the database and the prefix
wordpress.site_id            number of the site in a network, from 2; default 0, no network or its first site

server.listen                address of the API; default 127.0.0.1:8080
server.base_paths            paths of the API; default /wp-json/latepoint-api/v1,/v1
server.trusted_proxies       addresses and networks whose X-Forwarded-For is believed, such as 10.0.0.0/8; default none
server.max_concurrent        requests worked on at a time; those beyond get 503 at once; default 256, 0 for any number
server.memory_mib            memory that requests may use together, in MiB, from 64; those beyond wait up to 5s;
                             default 0, two thirds of the environment's GOMEMLIMIT, 128 without one
server.header_timeout        how long a client may take to send the header of a request; default 10s
server.request_timeout       limit of one request, from its header to its answer; default 15s
server.write_timeout         how long, beyond that, a client may take to read the answer; default 10s
server.drain_delay           how long requests are still taken after SIGTERM, while /readyz says stopping; default 1s
server.shutdown_timeout      how long running requests may take to end after that; default 15s
server.cors_origins          origins whose pages may call the API, such as https://example.com; default none

admin.listen                 address of /livez, /readyz, /metrics and /keys; default 127.0.0.1:8081, empty for none
admin.keys_page              serve /keys, a page to manage API keys (help admin-token); default true
admin.hosts                  names under which it may be asked, besides localhost and addresses, such as a
                             scraper's name for it; default none
admin.pprof                  serve profiles of the program there, /debug/pprof; default false

conflicts.interval           how often overlapping bookings are looked for; default 5m, 0s for never

auth.query_parameter         parameter of the URL that may carry the key; default api_key, empty for none
auth.failed_keys_per_minute  wrong keys an address may send before it is slowed; default 100, 0 for any number

rate_limit.enabled           default true
rate_limit.live_per_minute   requests of a live key in a minute; default 60
rate_limit.live_per_hour     the same in an hour; default 3600
rate_limit.test_per_minute   requests of a test key in a minute; default 100
rate_limit.test_per_hour     the same in an hour; default 1000
rate_limit.redis             Redis in which all servers of a site count together, such as
                             redis://user:password@host:6379/0; default none, each counts by itself

mail.enabled                 send notifications from here where the site itself does not; default false
mail.from                    address that they come from, such as office@example.com
mail.from_name               name beside it, such as the business's
mail.smtp.host               mail server, such as smtp.example.com
mail.smtp.port               its port; default 587, 465 is usual with tls
mail.smtp.tls                starttls, tls or none; default starttls
mail.smtp.user               user, for a server that asks for one
mail.smtp.password           password of that user; better in a file (BOOKSIDE_MAIL__SMTP__PASSWORD_FILE)

compat.timestamps            stored: as in the database, UTC; site: in the site's zone; default stored
compat.booking_meta_keys     keys of booking metadata to show besides custom fields, such as zoom_join_url; default none
log.level                    debug, info, warn or error; default info
`
