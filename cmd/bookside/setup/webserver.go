package setup

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Software is a web server.
type Software string

// The web servers whose configurations are understood.
const (
	Nginx  Software = "nginx"
	Apache Software = "Apache"
	Caddy  Software = "Caddy"
)

// Server is a site in the configuration of a web server: a server block of nginx, a VirtualHost
// of Apache, or a site block of Caddy.
type Server struct {
	Software Software
	File     string
	Line     int
	At       int      // offset of the first line inside
	Names    []string // host names; none for any
	Roots    []string // directories
	Log      string   // of requests, or logsNothing; "" if there is none of its own
	Bookside bool     // it already has calls go to Bookside
}

// configuration is what is known of a web server's configuration.
type configuration struct {
	software Software
	main     string // path of the main file
	servers  []Server
	included []string // patterns of the files that are included, absolute
	bookside bool     // it mentions Bookside, outside of its sites
	log      string   // nginx: the log of sites without one of their own, or logsNothing; "" for the usual one
	global   int      // Caddy: offset inside the block of global options; -1 if there is none
	logs     bool     // Caddy: the global options have a log
	// unreadable says why it cannot be parsed; nothing is known of its sites then.
	unreadable error
}

// mains are the main files of web servers, with their packages' paths.
var mains = []struct {
	software Software
	file     string
	parse    func(files fs.FS, main string) (configuration, error)
}{
	{Nginx, "/etc/nginx/nginx.conf", parseNginx},
	{Apache, "/etc/apache2/apache2.conf", parseApache},
	{Apache, "/etc/httpd/conf/httpd.conf", parseApache},
	{Caddy, "/etc/caddy/Caddyfile", parseCaddy},
}

// parseConfigurations parses the configurations of all web servers.
func parseConfigurations(files fs.FS) (found []configuration) {
	for _, m := range mains {
		if _, err := fs.Stat(files, relative(m.file)); err != nil {
			continue
		}
		c, err := m.parse(files, m.file)
		if err != nil {
			c = configuration{unreadable: err}
		}
		c.software, c.main = m.software, m.file
		for i := range c.servers {
			c.servers[i].Software = m.software
		}
		found = append(found, c)
	}
	return found
}

// maxIncludes limits how deep files include each other, which may be without an end.
const maxIncludes = 20

// readAll reads the files that match a pattern, which stands at a place of a configuration.
func readAll(files fs.FS, from, pattern string, read func(name string) error) error {
	names, err := glob(files, pattern)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", from, pattern, err)
	}
	for _, name := range names {
		if err := read(name); err != nil {
			return err
		}
	}
	return nil
}

// includes reports whether a file would be included, if it existed.
func (c configuration) includes(file string) bool {
	return slices.ContainsFunc(c.included, func(pattern string) bool {
		matches, err := path.Match(pattern, file)
		return err == nil && matches
	})
}

// logsNothing is in place of the log of a site that has none on purpose.
const logsNothing = "off"

// logOf returns the log of the first of some sites that has one; logsNothing if none has.
func (c configuration) logOf(servers []Server) string {
	log := logsNothing
	for _, server := range servers {
		if log == logsNothing {
			log = cmp.Or(server.Log, c.log)
		}
	}
	return log
}

// relative returns an absolute path as an fs.FS has it.
func relative(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

// glob returns the files that a pattern matches, with absolute paths in order. A pattern without
// wildcards is itself, whether the file exists or not.
func glob(files fs.FS, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	found, err := fs.Glob(files, relative(pattern))
	for i := range found {
		found[i] = "/" + found[i]
	}
	return found, err
}

// nextLine returns the offset of the line after the one that contains an offset.
func nextLine(content string, offset int) int {
	if i := strings.IndexByte(content[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(content)
}

// place names a line of a file in an error.
func place(file string, line int) string { return fmt.Sprintf("%s, line %d", file, line) }

func lineOf(content string, offset int) int { return strings.Count(content[:offset], "\n") + 1 }
