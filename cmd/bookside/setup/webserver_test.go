package setup

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// tree returns files by absolute path.
func tree(files map[string]string) fstest.MapFS {
	found := fstest.MapFS{}
	for name, content := range files {
		found[relative(name)] = &fstest.MapFile{Data: []byte(content)}
	}
	return found
}

func TestParseConfigurations(t *testing.T) {
	t.Parallel()
	const debianNginx = "http {\n  include /etc/nginx/conf.d/*.conf;\n  include sites-enabled/*;\n}\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  []Server // without At
	}{
		{"nginx", map[string]string{
			"/etc/nginx/nginx.conf": debianNginx,
			"/etc/nginx/sites-enabled/site": "# server { root /no; }\nserver {\n  listen 80;\n  server_name a.example b.example;\n  return 301 https://$host$request_uri;\n}\n" +
				"server {\n  server_name a.example;\n  root \"/srv/my site\";\n  access_log /var/log/a.log combined;\n  location / { try_files $uri '/x;y{' /${z}; }\n}\n",
		}, []Server{
			{File: "/etc/nginx/sites-enabled/site", Line: 2, Names: []string{"a.example", "b.example"}},
			{File: "/etc/nginx/sites-enabled/site", Line: 7, Names: []string{"a.example"}, Roots: []string{"/srv/my site"}, Log: "/var/log/a.log"},
		}},
		{"nginx, root in a location and in an included file", map[string]string{
			"/etc/nginx/nginx.conf":         "http { server { location / { root /srv/a/; } include snippets/more.conf; server_name _; } upstream x { server 10.0.0.1; } }",
			"/etc/nginx/snippets/more.conf": "root /srv/b;\n",
		}, []Server{{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/a", "/srv/b"}}}},
		{"nginx, with Bookside by hand", map[string]string{
			"/etc/nginx/nginx.conf": "http { server { root /srv/a; location /wp-json/latepoint-api/v1/ { proxy_pass http://bookside$bookside_uri; } } }",
		}, []Server{{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/a"}, Bookside: true}}},
		{"nginx, logs", map[string]string{
			"/etc/nginx/nginx.conf": "http { server { root /srv/a; location = /favicon.ico { access_log off; } } server { root /srv/b; access_log off; } server { root /srv/c; access_log syslog:server=h; access_log /x; } }",
		}, []Server{
			{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/a"}},
			{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/b"}, Log: "off"},
			{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/c"}, Log: "syslog:server=h"},
		}},
		{"nginx, Lua", map[string]string{
			"/etc/nginx/nginx.conf": "http { server { content_by_lua_block { if x then y = {1} end } root /srv/a; } }",
		}, []Server{{File: "/etc/nginx/nginx.conf", Line: 1, Roots: []string{"/srv/a"}}}},
		{"Apache", map[string]string{
			"/etc/apache2/apache2.conf": "IncludeOptional sites-enabled/*.conf\nIncludeOptional mods-enabled/*.load\n",
			"/etc/apache2/sites-enabled/a.conf": "<VirtualHost *:80>\n\tServerName a.example\n\tRedirect permanent / https://a.example/\n</VirtualHost>\n" +
				"# <VirtualHost *:443>\n<IfModule ssl>\n<virtualhost *:443>\n\tservername a.example\n\tServerAlias www.a.example \\\n\t\tb.example\n\tDocumentRoot \"/srv/my site/\"\n\tCustomLog ${APACHE_LOG_DIR}/access.log combined\n</VirtualHost>\n</IfModule>\n",
		}, []Server{
			{File: "/etc/apache2/sites-enabled/a.conf", Line: 1, Names: []string{"a.example"}},
			{File: "/etc/apache2/sites-enabled/a.conf", Line: 7, Names: []string{"a.example", "www.a.example", "b.example"}, Roots: []string{"/srv/my site"}, Log: "${APACHE_LOG_DIR}/access.log"},
		}},
		{"Apache of Red Hat", map[string]string{
			"/etc/httpd/conf/httpd.conf": "ServerRoot \"/etc/httpd\"\nIncludeOptional conf.d/*.conf\n",
			"/etc/httpd/conf.d/a.conf":   "<VirtualHost *:80>\nDocumentRoot /srv/a\nInclude routes.conf\n</VirtualHost>\n",
			"/etc/httpd/routes.conf":     "ProxyPass /wp-json/latepoint-api/v1 http://127.0.0.1:8080/wp-json/latepoint-api/v1\n",
		}, []Server{{File: "/etc/httpd/conf.d/a.conf", Line: 1, Roots: []string{"/srv/a"}, Bookside: true}}},
		{"Caddy", map[string]string{
			"/etc/caddy/Caddyfile": "{\n\tlog {\n\t\tformat json\n\t}\n}\n(snippet) {\n\troot * /no\n}\nimport sites/*\n\na.example, https://b.example:8443 {\n\troot * /srv/a\n\tphp_fastcgi unix//run/php.sock\n\thandle /x* {\n\t\troot \"/srv/x y\"\n\t}\n}\n",
			"/etc/caddy/sites/c":   ":80 { # any\n\troot /srv/c # below\n\timport /etc/caddy/bookside-routes.caddy\n}\n",
		}, []Server{
			{File: "/etc/caddy/sites/c", Line: 1, Roots: []string{"/srv/c"}, Bookside: true},
			{File: "/etc/caddy/Caddyfile", Line: 11, Names: []string{"a.example", "b.example"}, Roots: []string{"/srv/a", "/srv/x y"}},
		}},
		{"none", map[string]string{"/etc/passwd": ""}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var got []Server
			for _, c := range parseConfigurations(tree(test.files)) {
				if c.unreadable != nil {
					t.Errorf("%s: %v", c.main, c.unreadable)
				}
				for _, s := range c.servers {
					if content := test.files[s.File]; s.At > 0 && content[s.At-1] != '\n' && s.At != len(content) {
						t.Errorf("%s: %d is within a line", s.File, s.At)
					}
					s.At, s.Software = 0, ""
					got = append(got, s)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("servers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNginxLogsLikeTheSite: calls to Bookside are logged where the site's are, and not at all if those are
// not.
func TestNginxLogsLikeTheSite(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, http, servers, want string }{
		{"nothing said", "", "server {}", "access_log /var/log/nginx/access.log bookside;"},
		{"all sites", "access_log /srv/all.log;", "server {}", "access_log /srv/all.log bookside;"},
		{"one site", "access_log /srv/all.log;", "server { access_log /srv/a.log combined; }", "access_log /srv/a.log bookside;"},
		{"off", "access_log /srv/all.log;", "server { access_log off; }", "access_log off;"},
		{"off for all sites", "access_log off;", "server {}", "access_log off;"},
		{"off, but not for this site", "access_log off;", "server { access_log /srv/a.log; }", "access_log /srv/a.log bookside;"},
		{"off in a location", "", "server { location = /robots.txt { access_log off; } }", "access_log /var/log/nginx/access.log bookside;"},
		{"off for one of two", "", "server { access_log off; } server { access_log /srv/a.log; }", "access_log /srv/a.log bookside;"},
		{"off for both", "", "server { access_log off; } server { access_log off; }", "access_log off;"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := parseNginx(tree(map[string]string{"/etc/nginx/nginx.conf": "http { include /etc/nginx/conf.d/*.conf; " + test.http + " " + test.servers + " }"}), "/etc/nginx/nginx.conf")
			if err != nil {
				t.Fatal(err)
			}
			s := Setup{home: &url.URL{Scheme: "https", Host: "a.example"}, Options: Options{Listen: defaultListen}}
			changes, err := s.nginxChanges(c, c.servers)
			if err != nil {
				t.Fatal(err)
			}
			routes := string(changes[1].(*File).content)
			if !strings.Contains(routes, "\n    "+test.want+"\n") || strings.Count(routes, "access_log ") != 1 {
				t.Errorf("no %q in %s", test.want, routes)
			}
		})
	}
}

// TestProgramOf: the program is the one that systemd runs.
func TestProgramOf(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, unit string
		present    []string
		want       string
	}{
		{"by its name", "[Service]\nExecStart=bookside serve\n", []string{localProgram, packagedProgram}, localProgram},
		{"by its name, packaged", "[Service]\nExecStart=bookside serve\n", []string{packagedProgram}, packagedProgram},
		{"by its path", "[Service]\nExecStart=/usr/bin/bookside serve\n", []string{localProgram, packagedProgram}, packagedProgram},
		{"in a drop-in", "[Service]\nExecStart=/usr/bin/bookside serve\n# /etc/x.conf\n[Service]\nExecStart=\nExecStart=-/opt/bookside serve\n", []string{packagedProgram}, "/opt/bookside"},
		{"no unit yet", "", []string{localProgram}, localProgram},
		{"nowhere", "", nil, "bookside"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if got := programOf(test.unit, test.present); got != test.want {
				t.Errorf("%s, not %s", got, test.want)
			}
		})
	}
}

// TestInvalidConfigurations: a configuration that cannot be parsed is an error with file and line, and
// never a half-read site. The configurations of other web servers are read nevertheless.
func TestInvalidConfigurations(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, file, content, want string }{
		{"nginx, open block", "/etc/nginx/nginx.conf", "http {\n  server {\n", "/etc/nginx/nginx.conf, line 3: ends within a directive"},
		{"nginx, closed too often", "/etc/nginx/nginx.conf", "http {}\n}\n", "/etc/nginx/nginx.conf, line 2: has a } too many"},
		{"nginx, open quote", "/etc/nginx/nginx.conf", "http { server {} root 'x; }", "/etc/nginx/nginx.conf, line 1: ends within a directive"},
		{"nginx, endless include", "/etc/nginx/nginx.conf", "\ninclude nginx.conf;", "/etc/nginx/nginx.conf, line 2: nginx.conf includes itself"},
		{"nginx, pattern", "/etc/nginx/nginx.conf", "\ninclude a[;", "/etc/nginx/nginx.conf, line 2: /etc/nginx/a[: syntax error in pattern"},
		{"Apache, endless include", "/etc/apache2/apache2.conf", "<VirtualHost *>\n</VirtualHost>\nInclude apache2.conf", "/etc/apache2/apache2.conf, line 3: apache2.conf includes itself"},
		{"Apache, pattern", "/etc/apache2/apache2.conf", "<VirtualHost *>\n</VirtualHost>\nInclude a[", "/etc/apache2/apache2.conf, line 3: /etc/apache2/a[: syntax error in pattern"},
		{"Caddy, open block", "/etc/caddy/Caddyfile", "b.example {\n}\na.example {\n", "/etc/caddy/Caddyfile, line 3: a block has no end"},
		{"Caddy, open quote", "/etc/caddy/Caddyfile", "a.example {\n\troot \"x\n}\n", "/etc/caddy/Caddyfile, line 2: a quote has no end"},
		{"Caddy, endless import", "/etc/caddy/Caddyfile", "b.example {\n}\nimport Caddyfile", "/etc/caddy/Caddyfile, line 3: Caddyfile imports itself"},
		{"Caddy, pattern", "/etc/caddy/Caddyfile", "b.example {\n}\nimport a[", "/etc/caddy/Caddyfile, line 3: /etc/caddy/a[: syntax error in pattern"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{"/etc/httpd/conf/httpd.conf": "<VirtualHost *>\n</VirtualHost>\n", test.file: test.content}
			var read []string // files whose sites are known
			for _, c := range parseConfigurations(tree(files)) {
				if c.main == test.file {
					wantError(t, c.unreadable, test.want)
				}
				for _, server := range c.servers {
					read = append(read, server.File)
				}
			}
			if diff := cmp.Diff([]string{"/etc/httpd/conf/httpd.conf"}, read); diff != "" {
				t.Errorf("sites (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFindSites(t *testing.T) {
	t.Parallel()
	const debianConfigFile = "<?php $debian_file = '/etc/wordpress/config-'.strtolower($debian_server).'.php';"
	servers := []configuration{{software: Nginx, servers: []Server{
		{File: "a", Names: []string{"a.example"}, Roots: []string{"/usr/share/wordpress"}},
		{File: "any", Roots: []string{"/usr/share/wordpress"}},
		{File: "odd", Roots: []string{"/data/odd"}},
	}}}
	for _, test := range []struct {
		name      string
		directory string
		files     []string
		want      []string // directory, settings, servers
	}{
		{"usual place", "", []string{"/var/www/html/wp-load.php", "/var/www/html/wp-config.php"}, []string{"/var/www/html /var/www/html/wp-config.php"}},
		{"settings above", "", []string{"/var/www/html/wp-load.php", "/var/www/wp-config.php"}, []string{"/var/www/html /var/www/wp-config.php"}},
		{"not installed", "", []string{"/var/www/html/wp-load.php"}, nil},
		{"no WordPress", "", []string{"/var/www/html/wp-config.php"}, nil},
		{"as a web server says", "", []string{"/data/odd/wp-load.php", "/data/odd/wp-config.php"}, []string{"/data/odd /data/odd/wp-config.php odd"}},
		{"below what a web server says", "", []string{"/data/odd/blog/wp-load.php", "/data/odd/blog/wp-config.php"}, []string{"/data/odd/blog /data/odd/blog/wp-config.php odd"}},
		{"several", "", []string{"/srv/a/wp-load.php", "/srv/a/wp-config.php", "/home/b/public_html/wp-load.php", "/home/b/public_html/wp-config.php"},
			[]string{"/home/b/public_html /home/b/public_html/wp-config.php", "/srv/a /srv/a/wp-config.php"}},
		{"named", "/srv/a/", []string{"/srv/a/wp-load.php", "/srv/a/wp-config.php", "/srv/b/wp-load.php", "/srv/b/wp-config.php"}, []string{"/srv/a /srv/a/wp-config.php"}},
		{"of Debian", "", []string{"/usr/share/wordpress/wp-load.php", "/usr/share/wordpress/wp-config.php", "/etc/wordpress/config-a.example.php", "/etc/wordpress/config-b.example.php", "/etc/wordpress/config-default.php"},
			[]string{"/usr/share/wordpress /etc/wordpress/config-a.example.php a", "/usr/share/wordpress /etc/wordpress/config-b.example.php any", "/usr/share/wordpress /etc/wordpress/config-default.php a any"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, name := range test.files {
				files[name] = ""
			}
			if _, debian := files["/usr/share/wordpress/wp-config.php"]; debian {
				files["/usr/share/wordpress/wp-config.php"] = debianConfigFile
			}
			sites, err := findSites(tree(files), servers, test.directory)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, site := range sites {
				text := site.Dir + " " + site.Config
				for _, server := range site.Servers {
					text += " " + server.File
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("sites (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLinkedSites: a directory with two names is one site.
func TestLinkedSites(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	err := errors.Join(os.MkdirAll(filepath.Join(root, "usr/share/wordpress"), 0o755), os.MkdirAll(filepath.Join(root, "var/www"), 0o755),
		os.WriteFile(filepath.Join(root, "usr/share/wordpress/wp-load.php"), nil, 0o644), os.WriteFile(filepath.Join(root, "usr/share/wordpress/wp-config.php"), nil, 0o644),
		os.Symlink("../../usr/share/wordpress", filepath.Join(root, "var/www/blog")))
	if err != nil {
		t.Fatal(err)
	}
	servers := []configuration{{servers: []Server{{File: "blog", Roots: []string{"/var/www/blog"}}, {File: "other", Roots: []string{"/srv"}}}}}
	sites, err := findSites(os.DirFS(root), servers, "")
	if err != nil || len(sites) != 1 || len(sites[0].Servers) != 1 || sites[0].Servers[0].File != "blog" {
		t.Errorf("%v: %v", err, sites)
	}
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	const before = "http {\n\tserver {\n\t\tlisten 80;\n\t}\n}\n"
	at := len("http {\n\tserver {\n")
	inserted, err := insertBlock(before, at, []string{"include x;"})
	if err != nil {
		t.Fatal(err)
	}
	const want = "http {\n\tserver {\n\t\t# begin: bookside setup\n\t\tinclude x;\n\t\t# end: bookside setup\n\t\tlisten 80;\n\t}\n}\n"
	if inserted != want {
		t.Errorf("inserted:\n%s", inserted)
	}
	if got, whole := removeBlocks("# mine\n" + inserted + "# mine too"); !whole || got != "# mine\n"+before+"# mine too" {
		t.Errorf("removed:\n%s", got)
	}
	for _, marker := range []string{blockBegin, blockEnd} {
		damaged := strings.Replace(inserted, "\t\t"+marker+"\n", "", 1)
		for _, content := range []string{damaged, damaged + inserted, inserted + damaged} {
			if got, whole := removeBlocks(content); whole || got != content {
				t.Errorf("without %q:\n%s", marker, got)
			}
		}
	}
	if _, err := insertBlock(before, at+1, nil); err == nil {
		t.Error("inserted within a line")
	}
}
