package wpdb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Config says which database to open and how hard it may be used. Zero limits
// take the defaults named with each field.
type Config struct {
	// DSN is the data source as go-sql-driver/mysql writes it. It must name a
	// database. Session settings in it are overruled by the package's own.
	DSN string
	// Prefix is the site's table prefix, such as wp_, or wp_7_ for the seventh
	// site of a network.
	Prefix string

	MaxOpen          int           // connections at most; 10
	AcquireTimeout   time.Duration // limit of waiting for one of them; 2 s
	StatementTimeout time.Duration // server-side limit of a statement; 10 s
	LockWait         time.Duration // server-side limit of waiting for one lock, in whole seconds; 5 s
	ConnectTimeout   time.Duration // limit of a dial; 5 s
	IOTimeout        time.Duration // limit of a network read or write; 15 s

	// NoKill keeps statements that nobody waits for from being killed: they end
	// by their limits.
	NoKill bool
}

// ErrDSN is a Config.DSN that cannot be used.
var ErrDSN = errors.New("the data source name cannot be used")

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,50}$`)

// ValidPrefix reports whether a text can be a table prefix: 1 to 50 letters,
// digits and underscores.
func ValidPrefix(prefix string) bool { return prefixPattern.MatchString(prefix) }

// networkPrefix splits the prefix of a network's later sites: wp_7_ is the
// seventh site of wp_, but wp7_ a site of its own.
var networkPrefix = regexp.MustCompile(`^(.*_)[1-9][0-9]*_$`)

// SitePrefix is the table prefix of one site of a network. Site 1 (and 0, for
// "not a network") uses the base prefix itself.
func SitePrefix(base string, siteID int) string {
	if siteID < 2 {
		return base
	}
	return base + strconv.Itoa(siteID) + "_"
}

// basePrefix is the prefix of the tables a network's sites share.
func basePrefix(prefix string) string {
	m := networkPrefix.FindStringSubmatch(prefix)
	if m == nil {
		return prefix
	}
	return m[1]
}

// withDefaults fills unset limits and checks what the caller must give.
func (c Config) withDefaults() (Config, *mysql.Config, error) {
	if !ValidPrefix(c.Prefix) {
		return c, nil, fmt.Errorf("table prefix %q: only letters, digits and _ are possible", c.Prefix)
	}
	driver, err := mysql.ParseDSN(c.DSN)
	if err != nil {
		// The driver's message may quote the DSN, password included.
		return c, nil, fmt.Errorf("%w: it is written user:password@tcp(host:3306)/database; see too that the driver knows the parameters behind the ? and can read their values", ErrDSN)
	}
	if driver.DBName == "" {
		return c, nil, fmt.Errorf("%w: it has no database; it is written user:password@tcp(host:3306)/database", ErrDSN)
	}
	if c.MaxOpen == 0 {
		c.MaxOpen = 10
	}
	if c.AcquireTimeout == 0 {
		c.AcquireTimeout = 2 * time.Second
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 10 * time.Second
	}
	if c.LockWait == 0 {
		c.LockWait = 5 * time.Second
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = 5 * time.Second
	}
	if c.IOTimeout == 0 {
		c.IOTimeout = 15 * time.Second
	}
	return c, driver, nil
}
