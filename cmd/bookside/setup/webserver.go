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

// The web servers whose configurations can be parsed.
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
	Log      string   // of requests, or logsNothing; "" if it has none of its own
	Bookside bool     // it already forwards calls to Bookside
}

// configuration is what is known about a web server's configuration.
type configuration struct {
	software Software
	main     string // path of the main file
	servers  []Server
	included []string // absolute patterns of included files
	bookside bool     // it mentions Bookside, outside of its sites
	log      string   // nginx: the log of sites without their own, or logsNothing; "" for the default
	global   int      // Caddy: offset inside the block of global options; -1 if there is none
	logs     bool     // Caddy: the global options have a log
	// unreadable is why it cannot be parsed; its sites are unknown then.
	unreadable error
}

// mains are the main files of web servers, at the paths of their packages.
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

// maxIncludes limits how deeply files include each other, which may be endless.
const maxIncludes = 20

// readAll reads the files that match a pattern, which occurs at a place in a configuration.
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

// includes reports whether a file would be included if it existed.
func (c configuration) includes(file string) bool {
	return slices.ContainsFunc(c.included, func(pattern string) bool {
		matches, err := path.Match(pattern, file)
		return err == nil && matches
	})
}

// logsNothing stands for the log of a site that deliberately has none.
const logsNothing = "off"

// logOf returns the log of the first of some sites that has one, or logsNothing.
func (c configuration) logOf(servers []Server) string {
	log := logsNothing
	for _, server := range servers {
		if log == logsNothing {
			log = cmp.Or(server.Log, c.log)
		}
	}
	return log
}

// relative returns an absolute path in the form of an fs.FS.
func relative(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

// glob returns the files that a pattern matches, with absolute paths in order. A pattern without wildcards
// is returned as it is, whether or not the file exists.
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

// place describes a line of a file in an error.
func place(file string, line int) string { return fmt.Sprintf("%s, line %d", file, line) }

func lineOf(content string, offset int) int { return strings.Count(content[:offset], "\n") + 1 }
