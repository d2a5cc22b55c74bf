package wpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// usualSockets are the paths at which packages of MySQL and MariaDB create the socket that PHP uses for
// localhost.
var usualSockets = []string{
	"/run/mysqld/mysqld.sock",
	"/var/run/mysqld/mysqld.sock",
	"/var/lib/mysql/mysql.sock",
	"/tmp/mysql.sock",
}

// NoSocketError is a DB_HOST of localhost on a machine where none of the usual sockets belongs to the
// database.
type NoSocketError struct {
	Line int // in the file; 0 if DB_HOST is not set there
}

func (e *NoSocketError) Error() string {
	text := "DB_HOST is localhost, which means a socket as in PHP, and none that belongs, with its directory, to root, to the database's user (" +
		strings.Join(databaseUsers, ", ") + ") or to this one is at " + strings.Join(usualSockets, ", ")
	if e.Line == 0 {
		return text
	}
	return fmt.Sprintf("line %d: %s", e.Line, text)
}

// databaseUsers are the users that packages run the server as.
var databaseUsers = []string{"mysql", "mariadb"}

// owners are user ids. The owner of a socket receives the password that is sent there, so a socket that was
// merely found counts only if nobody else could have put it there.
type owners map[int]bool

// trustedOwners are root, the database's user and the user who runs this program.
func trustedOwners() owners {
	trusted := owners{0: true, os.Geteuid(): true}
	for _, name := range databaseUsers {
		if u, err := user.Lookup(name); err == nil {
			if id, err := strconv.Atoi(u.Uid); err == nil {
				trusted[id] = true
			}
		}
	}
	return trusted
}

// haveSocket reports whether there is a socket at a path that belongs to these owners. Its directory must
// be theirs too, and so must a link that leads to it and the link's directory.
func (o owners) haveSocket(path string) bool {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	info, err := os.Lstat(target)
	return err == nil && info.Mode()&fs.ModeSocket != 0 && o.have(path) && o.have(target)
}

// have reports whether these owners have a file and its directory, and others cannot replace it.
func (o owners) have(path string) bool {
	file, err := os.Lstat(path)
	directory, missing := os.Stat(filepath.Dir(path))
	if err != nil || missing != nil {
		return false
	}
	user, _ := ownersOf(file)
	keeper, _ := ownersOf(directory)
	replaceable := directory.Mode().Perm()&0o002 != 0 && directory.Mode()&fs.ModeSticky == 0
	return o[user] && o[keeper] && !replaceable
}

// parseDBHost parses a DB_HOST as WordPress and mysqli do: host, host:port, an IPv6 address with or without
// brackets, host:/socket or :/socket, each optionally with mysqli's prefix p:. It returns network and
// address in the driver's form. As in PHP, localhost (which an empty host means too) is always a socket,
// with or without a port: the one given, otherwise the first of the usual ones that belongs to the
// database. If there is none, the error is a *NoSocketError. It never falls back to TCP, where any user of
// the machine may listen for the password. Other errors do not contain s.
func parseDBHost(s string, isSocket func(path string) bool) (network, address string, err error) {
	host, socket := s, ""
	if before, after, ok := strings.Cut(s, ":/"); ok {
		host, socket = before, "/"+after
	}
	if rest, ok := strings.CutPrefix(host, "p:"); ok && !dbPortPattern.MatchString(rest) { // in p:3306 the host is p
		host = rest
	}
	host, port, err := splitDBHost(host)
	if err != nil {
		return "", "", err
	}
	if host == "" || strings.EqualFold(host, "localhost") {
		if socket != "" {
			return "unix", socket, nil
		}
		i := slices.IndexFunc(usualSockets, isSocket)
		if i < 0 {
			return "", "", &NoSocketError{}
		}
		return "unix", usualSockets[i], nil
	}
	return "tcp", net.JoinHostPort(host, cmp.Or(port, "3306")), nil
}

var (
	errDBHost     = errors.New("is not of the form host, host:port, [address]:port or host:/socket")
	dbHostPattern = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
	dbPortPattern = regexp.MustCompile(`^[0-9]+$`)
)

// splitDBHost splits host:port. It wraps no error of another package, because that would quote s.
func splitDBHost(s string) (host, port string, err error) {
	host = s
	bare := strings.TrimSuffix(strings.TrimPrefix(s, "["), "]")
	switch {
	case isIPv6(bare) && len(s)-len(bare) != 1: // brackets, both or none
		return bare, "", nil
	case strings.Contains(s, ":"):
		if host, port, err = net.SplitHostPort(s); err != nil {
			return "", "", errDBHost
		}
	}
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return "", "", errDBHost
	}
	if !dbHostPattern.MatchString(host) && !isIPv6(host) {
		return "", "", errDBHost
	}
	return host, port, nil
}

func isIPv6(s string) bool {
	addr, err := netip.ParseAddr(s)
	return err == nil && addr.Is6() && addr.Zone() == ""
}
