package wpdb

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"
)

// TLS says whether connections to a server are encrypted.
type TLS string

// The modes.
const (
	TLSAuto     TLS = "auto"     // as the DSN's parameter tls says; without it verify if there is a TLSCA, else required unless the server is on this machine
	TLSOff      TLS = "off"      // plain text
	TLSRequired TLS = "required" // encrypted, but any certificate will do
	TLSVerify   TLS = "verify"   // and the certificate must be valid for the server's host name

	tlsPreferred TLS = "preferred" // encrypted if the server offers it; only as the DSN's parameter
)

// TLSModes are the modes of [Config.TLS].
func TLSModes() []TLS { return []TLS{TLSAuto, TLSOff, TLSRequired, TLSVerify} }

// Errors about the encryption of connections.
var (
	// ErrTLS is the error of TLS settings that cannot be followed.
	ErrTLS = errors.New("settings of TLS")
	// ErrNoTLS is the error of a server that does not offer TLS where it is required.
	ErrNoTLS = errors.New("the server does not offer TLS")
	// ErrCertificate is the error of a server whose certificate cannot be verified.
	ErrCertificate = errors.New("the server's certificate is not valid")
	// ErrTLSDemanded is the error of an account or a server that rejects plain text.
	ErrTLSDemanded = errors.New("the server demands TLS")
)

// dsnModes are the modes for the values of the DSN's parameter tls, as the driver stores it.
var dsnModes = map[string]TLS{"true": TLSVerify, "skip-verify": TLSRequired, "preferred": tlsPreferred, "false": TLSOff}

// setTLS configures the driver's encryption.
func (c Config) setTLS(d *mysql.Config) error {
	mode := c.TLS
	if mode == "" {
		mode = TLSAuto
	}
	if mode == TLSAuto {
		mode = c.autoTLS(d)
	}
	if c.TLSCA != "" && mode != TLSVerify {
		return fmt.Errorf("%w: certificates of authorities are named, but nothing is verified (%s)", ErrTLS, mode)
	}
	d.TLSConfig, d.TLS, d.AllowFallbackToPlaintext = "", nil, mode == tlsPreferred
	switch mode {
	case TLSOff:
	case TLSRequired, tlsPreferred:
		d.TLS = unverified()
	case TLSVerify:
		if d.Net == "unix" {
			return fmt.Errorf("%w: a socket has no host name that a certificate could be valid for; with a socket, %s encrypts", ErrTLS, TLSRequired)
		}
		roots, err := c.authorities()
		if err != nil {
			return err
		}
		d.TLS = &tls.Config{ServerName: hostOf(d.Addr), RootCAs: roots, MinVersion: tls.VersionTLS12}
	default:
		return fmt.Errorf("%w: there is no mode %q", ErrTLS, mode)
	}
	return nil
}

// autoTLS returns what auto means for a server.
func (c Config) autoTLS(d *mysql.Config) TLS {
	switch {
	case d.TLSConfig != "":
		return dsnModes[d.TLSConfig] // the driver has rejected all others
	case c.TLSCA != "":
		return TLSVerify
	case onThisMachine(d):
		return TLSOff
	default:
		return TLSRequired
	}
}

func unverified() *tls.Config {
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // that is what the mode means
}

// authorities returns the certificates of Config.TLSCA, or nil for those of the system.
func (c Config) authorities() (*x509.CertPool, error) {
	if c.TLSCA == "" {
		return nil, nil //nolint:nilnil // as crypto/tls has it
	}
	content, err := os.ReadFile(c.TLSCA)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTLS, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%w: %s has no certificate in PEM", ErrTLS, c.TLSCA)
	}
	return pool, nil
}

// onThisMachine reports whether the connection cannot be intercepted between us and the server.
func onThisMachine(d *mysql.Config) bool {
	host := hostOf(d.Addr)
	address, err := netip.ParseAddr(host)
	return d.Net == "unix" || strings.EqualFold(host, "localhost") || err == nil && address.Unmap().IsLoopback()
}

func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// parameterName matches a name that can be shown: anything else may be part of a password.
var parameterName = regexp.MustCompile(`^[A-Za-z_]{1,40}$`)

// checkParameters returns an error for parameters that the driver would ignore or would send as session
// variables, which this package sets itself.
func checkParameters(dsn string, d *mysql.Config) error {
	_, text, _ := strings.Cut(dsn[strings.LastIndexByte(dsn, '/')+1:], "?")
	for parameter := range strings.SplitSeq(text, "&") {
		name, _, valued := strings.Cut(parameter, "=")
		_, unknown := d.Params[name]
		switch {
		case parameter == "":
		case !parameterName.MatchString(name):
			return fmt.Errorf("%w: after ? it has something that is no parameter", ErrDSN)
		case !valued:
			return fmt.Errorf("%w: its parameter %s has no value; write %s=…", ErrDSN, name, name)
		case unknown:
			return fmt.Errorf("%w: there is no parameter %s%s", ErrDSN, name, meant(name))
		}
	}
	return nil
}

// meant suggests the DSN parameter that matters most: mistyping it would mean plain text.
func meant(name string) string {
	lower := strings.ToLower(name)
	letters := []byte(lower)
	slices.Sort(letters)
	if string(letters) == "lst" || strings.Contains(lower, "ssl") || strings.Contains(lower, "tls") {
		return "; did you mean tls?"
	}
	return "; the settings of the session are Bookside's own"
}

// Encryption is how the connections to a server are protected.
type Encryption struct {
	Version  string // of TLS, such as TLS 1.3; empty for plain text
	Verified bool   // whether the server's certificate is verified
	Local    bool   // whether the server is on this machine, reached by a socket or by loopback
}

// encryption records what was negotiated with a server.
type encryption struct {
	verified, local bool
	version         atomic.Uint32 // of the latest connection; 0 for plain text
}

func newEncryption(d *mysql.Config) *encryption {
	return &encryption{verified: d.TLS != nil && !d.TLS.InsecureSkipVerify, local: onThisMachine(d)}
}

// note is called at the end of each handshake.
func (e *encryption) note(state tls.ConnectionState) error {
	e.version.Store(uint32(state.Version))
	return nil
}

// Encryption returns how the connections are protected, or nil for a pool from New.
func (db *DB) Encryption() *Encryption {
	if db.encryption == nil {
		return nil
	}
	found := &Encryption{Verified: db.encryption.verified, Local: db.encryption.local}
	if version := db.encryption.version.Load(); version != 0 {
		found.Version = tls.VersionName(uint16(version)) //nolint:gosec // it was one
	}
	return found
}
