package setup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bookside/bookside/wpdb"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

// Site is a WordPress installation that was found.
type Site struct {
	Dir    string // of WordPress
	Config string // the file with the database settings
	Name   string // host name that the file is for; "" for all
}

func (s Site) String() string {
	if s.Name != "" {
		return s.Dir + " as " + s.Name
	}
	return s.Dir
}

// installation is the site that Bookside is set up for.
type installation struct {
	Site
	wordpress wpconfig.Config
	prefix    string   // with the number of a site in a network
	home      *url.URL // of the site
	web       software // that serves it
}

// examine finds the site, its database, its address and its web server, and checks that it can be served.
func (s *Setup) examine(ctx context.Context) (*installation, error) {
	site, err := s.choose()
	if err != nil {
		return nil, err
	}
	s.say("WordPress: %s\nIts settings: %s\n", site, site.Config)
	i := &installation{Site: site}
	var unreadable *wpconfig.Error
	i.wordpress, err = wpconfig.Read(s.Host.path(site.Config))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, errorf("%v; only root may read it: run it with sudo", err)
	case errors.As(err, &unreadable) && unreadable.Name == wpconfig.Charset:
		return nil, err
	case err != nil:
		return nil, errorf("%v.\nSetup cannot go on by itself: configure the service by hand, with db.dsn, as INSTALL.md tells", err)
	case s.SiteID > 1 && !i.wordpress.Multisite:
		return nil, usageErrorf("--site-id: the site is not a network of sites")
	case s.SiteID == 0 && i.wordpress.Multisite:
		s.say("It is a network of sites; this is its first one. For another one: --site-id NUMBER\n")
	}
	if tls := wpdb.TLS(s.TLS); tls != "" && tls != wpdb.TLSAuto {
		i.wordpress.TLS = tls
	}
	i.prefix = wpdb.SitePrefix(i.wordpress.TablePrefix, s.SiteID)
	s.say("\n")
	if err := s.Check(ctx, s.database(i, i.wordpress.FormatDSN()), false); err != nil {
		return nil, err
	}
	if i.home, err = s.findHome(ctx, i); err != nil {
		return nil, err
	}
	s.say("\nThe address of the site: %s\n", i.home)
	i.web, err = s.chooseWebServer(ctx, i.home)
	return i, err
}

// choose returns the only site, or the one that the options name.
func (s *Setup) choose() (Site, error) {
	sites, err := findSites(s.Host.files(), s.WordPress)
	if err != nil {
		return Site{}, err
	}
	if address, err := url.Parse(s.Address); err == nil && address.Host != "" {
		if named := slices.DeleteFunc(slices.Clone(sites), func(site Site) bool { return site.Name != address.Hostname() }); len(named) > 0 {
			sites = named
		}
	}
	switch {
	case len(sites) == 1:
		return sites[0], nil
	case len(sites) == 0 && s.WordPress != "":
		return Site{}, errorf("there is no WordPress in %s, or it has no wp-config.php yet", s.WordPress)
	case len(sites) == 0:
		return Site{}, errorf("no WordPress was found in the usual places and in the directories of nginx, Apache and Caddy; name its directory: --wordpress DIRECTORY.\n" +
			"If it runs in a container or on another machine, run Bookside there, or configure it with db.dsn (INSTALL.md); on shared hosting, see WITHOUT-ROOT.md")
	}
	s.say("There are several sites:\n")
	for _, site := range sites {
		s.say("  - %s\n", site)
	}
	return Site{}, usageErrorf("there are several sites; name the directory of one: --wordpress DIRECTORY, and with several in one directory --url ADDRESS")
}

// usualPlaces are where WordPress may be if no web server names it.
var usualPlaces = []string{
	"/var/www", "/var/www/*", "/var/www/*/htdocs", "/var/www/*/public_html", "/var/www/*/public", "/var/www/*/html", "/var/www/*/web",
	"/srv/www", "/srv/www/*", "/srv/*", "/srv/*/public_html", "/usr/share/wordpress", "/usr/share/nginx/html", "/home/*/public_html", "/home/*/www",
	"/opt/bitnami/wordpress", "/var/www/vhosts/*/httpdocs", "/home/*/web/*/public_html", // the last ones are of Plesk and Hestia
}

// findSites returns the WordPress sites in the usual places and in the directories that web servers serve.
// If a directory is given, it checks only that one.
func findSites(files fs.FS, directory string) (sites []Site, err error) {
	patterns := usualPlaces
	for _, web := range webServers {
		for _, text := range web.configuration(files) {
			for _, root := range rootLine.FindAllStringSubmatch(text, -1) {
				patterns = append(slices.Clip(patterns), root[1], root[1]+"/*") // WordPress may be in a subdirectory
			}
		}
	}
	var places []string
	for _, pattern := range patterns {
		if found, err := fs.Glob(files, relative(pattern)); err == nil { // otherwise a path with brackets
			places = append(places, found...)
		}
	}
	slices.Sort(places)
	if directory != "" {
		places = []string{relative(directory)}
	}
	var seen []fs.FileInfo // a directory may be a link to another
	for _, place := range places {
		info, err := fs.Stat(files, place)
		if err != nil || slices.ContainsFunc(seen, func(other fs.FileInfo) bool { return os.SameFile(info, other) }) || !isFile(files, place+"/wp-load.php") {
			continue
		}
		seen = append(seen, info)
		found, err := sitesIn(files, "/"+place)
		if err != nil {
			return nil, err
		}
		sites = append(sites, found...)
	}
	return sites, nil
}

// debianConfig begins the names of the settings of Debian's WordPress, which has one directory for all
// sites, and their settings by host name.
const debianConfig = "/etc/wordpress/config-"

// sitesIn returns the sites of the WordPress in a directory: several for Debian's.
func sitesIn(files fs.FS, dir string) (sites []Site, err error) {
	if content, err := fs.ReadFile(files, relative(dir+"/wp-config.php")); err == nil && strings.Contains(string(content), debianConfig) {
		configs, err := fs.Glob(files, relative(debianConfig+"*.php"))
		for _, config := range configs {
			site := Site{Dir: dir, Config: "/" + config}
			if name := strings.TrimSuffix(strings.TrimPrefix(site.Config, debianConfig), ".php"); name != "default" {
				site.Name = name
			}
			sites = append(sites, site)
		}
		return sites, err
	}
	for _, config := range []string{dir + "/wp-config.php", path.Dir(dir) + "/wp-config.php"} {
		if isFile(files, relative(config)) {
			return []Site{{Dir: dir, Config: config}}, nil
		}
	}
	return nil, nil // not installed yet
}

// open opens the site's database with its own account.
func (i *installation) open(ctx context.Context) (*wpdb.DB, error) {
	return wpdb.Open(ctx, wpdb.Config{DSN: i.wordpress.FormatDSN(), Prefix: i.prefix, Home: i.wordpress.Home, SiteURL: i.wordpress.SiteURL})
}

func (s *Setup) database(i *installation, dsn string) Database {
	return Database{dsn, i.wordpress.TablePrefix, s.SiteID}
}

// findHome returns the site's address.
func (s *Setup) findHome(ctx context.Context, i *installation) (*url.URL, error) {
	address := s.Address
	if address == "" {
		db, err := i.open(ctx)
		if err != nil {
			return nil, err
		}
		options, err := db.OptionValues(ctx, "home", "siteurl")
		if err = errors.Join(err, db.Close()); err != nil {
			return nil, err
		}
		address = cmp.Or(wpdb.PlainText(options["home"]), wpdb.PlainText(options["siteurl"]))
	}
	home, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil || !plainAddress(home) {
		return nil, usageErrorf("the address of the site is %q; write it like --url https://example.com or https://example.com/blog", address)
	}
	return home, nil
}

// plainPath matches a path that has no special meaning in the configuration of any web server.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)*$`)

// plainAddress reports whether an address is that of a site, and can be written into a web server's
// configuration and, in quotes, into a shell command.
func plainAddress(u *url.URL) bool {
	return (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.Contains(u.Host, "'") && u.User == nil &&
		plainPath.MatchString(u.EscapedPath()) && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// relative returns an absolute path in the form of an fs.FS.
func relative(name string) string {
	return cmp.Or(strings.TrimPrefix(path.Clean("/"+name), "/"), ".")
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}
