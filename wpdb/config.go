package wpdb

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
)

// Config says which database to open and sets limits on its use. A zero limit means the default given in
// the comment of its field.
type Config struct {
	// DSN is the data source name in the format of go-sql-driver/mysql. It must
	// name a database. Variables of the session in it are errors: the package sets its own.
	DSN string
	// Prefix is the site's table prefix, such as wp_, or wp_7_ for the seventh
	// site of a network.
	Prefix string
	// Home and SiteURL are the constants WP_HOME and WP_SITEURL of the site, which
	// WordPress puts in place of its options home and siteurl; empty for none.
	Home, SiteURL string
	// Content is the path of the site's directory wp-content; empty if it is not known.
	Content string

	TLS   TLS    // whether connections are encrypted; TLSAuto
	TLSCA string // path of a file with the certificates of authorities, in PEM; empty for those of the system

	MaxOpen          int           // maximum number of connections; 10
	AcquireTimeout   time.Duration // limit for waiting for one of them; 2 s
	StatementTimeout time.Duration // server-side limit of a statement; 10 s
	LockWait         time.Duration // server-side limit for waiting for a lock, in whole seconds; 5 s
	ConnectTimeout   time.Duration // limit of a dial; 5 s
	IOTimeout        time.Duration // limit of a network read or write; 5 s more than that of a statement

	// GiveUp makes every statement fail once the server has not answered one within IOTimeout. It is for
	// programs with a person waiting: each further statement would wait as long.
	GiveUp bool
}

// constants returns the values that WordPress puts in place of options, which end
// without a slash (_config_wp_home and _config_wp_siteurl, WordPress 7.0.4).
func (c Config) constants() map[string]string {
	values := map[string]string{}
	if c.Home != "" {
		values["home"] = strings.TrimRight(c.Home, `/\`)
	}
	if c.SiteURL != "" {
		values["siteurl"] = strings.TrimRight(c.SiteURL, `/\`)
	}
	return values
}

// ErrDSN is the error of an invalid Config.DSN.
var ErrDSN = errors.New("invalid data source name")

var prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_]{1,50}$`)

// ValidPrefix reports whether a text can be a table prefix: 1 to 50 letters,
// digits and underscores.
func ValidPrefix(prefix string) bool { return prefixPattern.MatchString(prefix) }

// networkPrefix splits the prefix of a site in a network: wp_7_ is the seventh
// site of wp_, but wp7_ is a site of its own.
var networkPrefix = regexp.MustCompile(`^(.*_)[1-9][0-9]*_$`)

// SitePrefix returns the table prefix of a site in a network. Site 1, and 0 for
// no network, has the base prefix itself.
func SitePrefix(base string, siteID int) string {
	if siteID < 2 {
		return base
	}
	return base + strconv.Itoa(siteID) + "_"
}

// basePrefix returns the prefix of the tables that the sites of a network
// share.
func basePrefix(prefix string) string {
	m := networkPrefix.FindStringSubmatch(prefix)
	if m == nil {
		return prefix
	}
	return m[1]
}

// parseDSN returns an error where the driver panics: on a parameter that the driver no longer supports.
func parseDSN(dsn string) (parsed *mysql.Config, err error) {
	defer func() {
		if recover() != nil {
			err = ErrDSN
		}
	}()
	return mysql.ParseDSN(dsn)
}

// withDefaults sets the defaults and validates the configuration.
func (c Config) withDefaults() (Config, *mysql.Config, error) {
	if !ValidPrefix(c.Prefix) {
		return c, nil, fmt.Errorf("table prefix %q: write 1 to 50 letters, digits and _", c.Prefix)
	}
	driver, err := parseDSN(c.DSN)
	if err != nil {
		// The driver's message may quote the DSN, including the password.
		return c, nil, fmt.Errorf("%w: write user:password@tcp(host:3306)/database; parameters after ? must be those of the driver, with valid values", ErrDSN)
	}
	if driver.DBName == "" {
		return c, nil, fmt.Errorf("%w: it names no database; write user:password@tcp(host:3306)/database", ErrDSN)
	}
	if err := checkParameters(c.DSN, driver); err != nil {
		return c, nil, err
	}
	if err := c.setTLS(driver); err != nil {
		return c, nil, err
	}
	c.MaxOpen = cmp.Or(c.MaxOpen, 10)
	c.AcquireTimeout = cmp.Or(c.AcquireTimeout, 2*time.Second)
	c.StatementTimeout = cmp.Or(c.StatementTimeout, 10*time.Second)
	c.LockWait = cmp.Or(c.LockWait, 5*time.Second)
	c.ConnectTimeout = cmp.Or(c.ConnectTimeout, 5*time.Second)
	c.IOTimeout = cmp.Or(c.IOTimeout, c.StatementTimeout+5*time.Second) // the server has to time out first, because it reports why
	return c, driver, nil
}
