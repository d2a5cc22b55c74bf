package setup

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// software is a web server for which setup knows the line to include.
type software struct {
	name, title string
	folders     []string          // with its configuration
	files       map[string]string // samples, and where setup writes them
	line, place string            // the line to include, and what it belongs into
	also        string            // what else to do; "" for nothing
	reload      string            // commands
}

// webServers are those whose line setup knows. The lines tolerate that the file is gone after an undo, because
// a web server with an invalid configuration does not start again.
var webServers = []software{{
	name: "nginx", title: "nginx", folders: []string{"/etc/nginx"},
	files: map[string]string{"nginx/bookside-routes.conf": "/etc/bookside/nginx/routes.conf"},
	line:  "include /etc/bookside/nginx/*.conf;", place: "the server block",
	reload: "nginx -t && nginx -s reload",
}, {
	name: "apache", title: "Apache", folders: []string{"/etc/apache2", "/etc/httpd"},
	files: map[string]string{"apache/bookside-routes.conf": "/etc/bookside/apache/routes.conf"},
	line:  "IncludeOptional /etc/bookside/apache/*.conf", place: "the VirtualHost",
	also:   "It needs the modules proxy_http, rewrite and headers; on Debian: a2enmod proxy_http rewrite headers\n",
	reload: "apachectl configtest && apachectl graceful",
}, {
	name: "caddy", title: "Caddy", folders: []string{"/etc/caddy"},
	files: map[string]string{"caddy/bookside-routes.caddy": "/etc/bookside/caddy/routes.caddy", "caddy/bookside-log.caddy": "/etc/bookside/caddy/log.caddy"},
	line:  "import /etc/bookside/caddy/routes*", place: "the block",
	also:   "Add this one to the global options, unless they have a log, so that no key is in Caddy's log of errors:\n\n  import /etc/bookside/caddy/log*\n\n",
	reload: "caddy reload --config /etc/caddy/Caddyfile",
}}

// softwareOf returns a web server by its name; another one has nothing but that.
func softwareOf(name string) software {
	if i := slices.IndexFunc(webServers, func(w software) bool { return w.name == name }); i >= 0 {
		return webServers[i]
	}
	return software{name: name}
}

// chooseWebServer returns the web server that answers at the site's address on this machine. One that
// redirects to https changes the address.
func (s *Setup) chooseWebServer(ctx context.Context, home *url.URL) (software, error) {
	got, err := ask(ctx, s.Host.localClient(), http.MethodGet, home.String()+"/", "")
	if to := got.redirect; to != nil && home.Scheme == "http" && to.Scheme == "https" && to.Hostname() == home.Hostname() {
		home.Scheme, home.Host = to.Scheme, to.Host
		s.say("It redirects to %s.\n", home)
	}
	name, _, _ := strings.Cut(strings.ToLower(got.server), "/")
	if ctx.Err() == nil {
		err = nil // it may be elsewhere, or not run yet
	}
	return softwareOf(cmp.Or(s.WebServer, name)), err
}

var (
	// unused matches the folders of what is not in use.
	unused = regexp.MustCompile(`-(?:available|disabled)$`)
	// rootLine matches the directory of a site.
	rootLine = regexp.MustCompile(`(?im)^[^#\n]*?\b(?:root|DocumentRoot)\s+(?:\*\s+)?["']?(/[^\s;"']+)`)
	// namesLine matches the names of a site: of nginx, of Apache, or in the line that begins a block of Caddy.
	namesLine = regexp.MustCompile(`(?i)^[^#]*?\bserver_?(?:name|alias)\s+([^;]+)|^([^\s#{}()@].*)\{$`)
	nameEnd   = regexp.MustCompile(`[\s,"']+`)
)

// configuration returns the texts of a web server's configuration by file.
func (w software) configuration(files fs.FS) map[string]string {
	found := map[string]string{}
	for _, folder := range w.folders {
		_ = fs.WalkDir(files, relative(folder), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // what is unreadable is not found
			case entry.IsDir() && unused.MatchString(name):
				return fs.SkipDir
			case isFile(files, name):
				if text, err := fs.ReadFile(files, name); err == nil {
					found["/"+name] = string(text)
				}
			}
			return nil
		})
	}
	return found
}

// placesOf returns the lines that name a host, each with its file.
func (w software) placesOf(files fs.FS, host string) (places []string) {
	texts := w.configuration(files)
	for _, file := range slices.Sorted(maps.Keys(texts)) {
		for i, line := range strings.Split(texts[file], "\n") {
			found := namesLine.FindStringSubmatch(strings.TrimRight(line, " \t\r"))
			if found != nil && slices.ContainsFunc(nameEnd.Split(found[1]+found[2], -1), func(name string) bool { return fits(name, host) }) {
				places = append(places, fmt.Sprintf("%s, line %d", file, i+1))
			}
		}
	}
	return places
}

// fits reports whether a name in a configuration stands for a host: a name with or without a scheme and a
// port, *.example.com, .example.com, or a regular expression of nginx.
func fits(name, host string) bool {
	if expression, ok := strings.CutPrefix(name, "~"); ok {
		matched, err := regexp.MatchString(expression, host)
		return err == nil && matched
	}
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	name, _, _ = strings.Cut(strings.ToLower(name), ":")
	matched, err := path.Match(name, host)
	return err == nil && matched || strings.HasPrefix(name, ".") && strings.HasSuffix("."+host, name)
}

// instructions say how to make the web server forward calls to Bookside.
func (s *Setup) instructions(w software, home *url.URL, listen string) string {
	if w.line == "" {
		return fmt.Sprintf("Make the web server forward these requests to http://%s, with method, path, query and body as they are:\n\n"+
			"  all paths that begin with %s\n  /?rest_route=/latepoint-api/v1/…, if clients use this form\n\n"+
			"It should set X-Forwarded-For and X-Forwarded-Proto.\n", listen, home.Path+apiPath)
	}
	text := fmt.Sprintf("Add this line to the configuration of %s, inside %s of %s:\n\n  %s\n\n", w.title, w.place, home, w.line)
	if places := w.placesOf(s.Host.files(), home.Hostname()); len(places) > 0 {
		text += "The site is named in " + strings.Join(places, "; ") + ". If a panel such as Plesk or Hestia writes this file, add the line to the directives that you enter there.\n"
	}
	text += w.also
	if s.Host.confinesWebServers() {
		text += "SELinux keeps web servers from connecting to other programs here. Allow it: setsebool -P " + selinuxBoolean + " 1\n"
	}
	return text + "Then: " + w.reload + "\n"
}

const (
	selinuxFolder = "/sys/fs/selinux"
	// selinuxBoolean controls whether web servers may connect to other programs. Where SELinux is enforced,
	// as on Fedora, they may not by default.
	selinuxBoolean = "httpd_can_network_connect"
)

// confinesWebServers reports whether SELinux keeps web servers from connecting to other programs.
func (h *Host) confinesWebServers() bool {
	enforced, _, err := h.read(selinuxFolder + "/enforce")
	values, _, unknown := h.read(selinuxFolder + "/booleans/" + selinuxBoolean) // the present value and a pending one
	return err == nil && unknown == nil && strings.TrimSpace(string(enforced)) == "1" && strings.HasPrefix(string(values), "0")
}
