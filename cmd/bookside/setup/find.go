package setup

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Site is a WordPress installation that was found.
type Site struct {
	Dir     string   // of WordPress
	Config  string   // the file with the database settings
	Name    string   // host name that the file is for; "" for all
	Servers []Server // that serve it
}

func (s Site) String() string {
	text := s.Dir
	if s.Name != "" {
		text += " as " + s.Name
	}
	for _, server := range s.Servers {
		text += fmt.Sprintf(", %s at %s:%d", server.Software, server.File, server.Line)
	}
	return text
}

// usualPlaces are where WordPress may be if no web server names it.
var usualPlaces = []string{
	"/var/www", "/var/www/*", "/var/www/*/htdocs", "/var/www/*/public_html", "/var/www/*/public", "/var/www/*/html", "/var/www/*/web",
	"/srv/www", "/srv/www/*", "/srv/*", "/srv/*/public_html", "/usr/share/wordpress", "/usr/share/nginx/html", "/home/*/public_html", "/home/*/www",
	"/opt/bitnami/wordpress",
}

// Debian's WordPress has one directory for all sites, and their settings by host name.
const (
	debianConfigs = "/etc/wordpress/config-*.php"
	debianConfig  = "/etc/wordpress/config-"
)

// findSites returns the WordPress sites in the usual places and in the directories that web servers serve.
// If a directory is given, it checks only that one.
func findSites(files fs.FS, configurations []configuration, directory string) ([]Site, error) {
	var servers []Server
	for _, c := range configurations {
		servers = append(servers, c.servers...)
	}
	var places []string
	if directory != "" {
		places = []string{path.Clean(directory)}
	} else {
		patterns := slices.Clone(usualPlaces)
		for _, s := range servers {
			for _, root := range s.Roots {
				patterns = append(patterns, root, root+"/*") // WordPress may be in a subdirectory
			}
		}
		for _, pattern := range patterns {
			found, err := glob(files, pattern)
			if err != nil {
				continue // a path with brackets, such as an nginx variable
			}
			places = append(places, found...)
		}
		slices.Sort(places)
		places = slices.Compact(places)
	}
	var sites []Site
	for _, names := range directories(files, places) {
		found, err := sitesIn(files, names, servers)
		if err != nil {
			return nil, err
		}
		sites = append(sites, found...)
	}
	return sites, nil
}

// directories returns the WordPress directories among some places, each with all its names: one of them may
// be a link to another.
func directories(files fs.FS, places []string) (found [][]string) {
	var infos []fs.FileInfo
	for _, place := range places {
		info, err := fs.Stat(files, relative(place))
		if err != nil || !isFile(files, place+"/wp-load.php") {
			continue
		}
		if i := slices.IndexFunc(infos, func(other fs.FileInfo) bool { return os.SameFile(info, other) }); i >= 0 {
			found[i] = append(found[i], place)
			continue
		}
		infos, found = append(infos, info), append(found, []string{place})
	}
	return found
}

// sitesIn returns the sites of the WordPress in a directory with these names: several for Debian's.
func sitesIn(files fs.FS, names []string, servers []Server) ([]Site, error) {
	dir := names[0]
	var serving []Server
	for _, s := range servers {
		serves := func(root string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return name == root || strings.HasPrefix(name, root+"/") })
		}
		if slices.ContainsFunc(s.Roots, serves) {
			serving = append(serving, s)
		}
	}
	// Debian's wp-config.php reads another file.
	if content, err := fs.ReadFile(files, relative(dir+"/wp-config.php")); err == nil && strings.Contains(string(content), debianConfig) {
		configs, err := glob(files, debianConfigs)
		if err != nil {
			return nil, err
		}
		var sites []Site
		for _, config := range configs {
			name := strings.TrimSuffix(strings.TrimPrefix(config, debianConfig), ".php")
			site := Site{Dir: dir, Config: config, Name: name, Servers: serversOf(serving, name)}
			if name == "default" {
				site.Name, site.Servers = "", serving
			}
			sites = append(sites, site)
		}
		return sites, nil
	}
	for _, config := range []string{dir + "/wp-config.php", path.Dir(dir) + "/wp-config.php"} {
		if isFile(files, config) {
			return []Site{{Dir: dir, Config: config, Servers: serving}}, nil
		}
	}
	return nil, nil // not installed yet
}

// serversOf returns the servers with a host name, or those for any host if none has it.
func serversOf(servers []Server, name string) []Server {
	named := func(s Server) bool { return slices.Contains(s.Names, name) }
	if slices.ContainsFunc(servers, named) {
		return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return !named(s) })
	}
	return slices.DeleteFunc(slices.Clone(servers), func(s Server) bool { return len(s.Names) > 0 })
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, relative(name))
	return err == nil && info.Mode().IsRegular()
}
