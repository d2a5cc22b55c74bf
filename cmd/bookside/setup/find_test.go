package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestFindSites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		directory string
		files     []string
		want      []string // directory, settings, name
	}{
		{"usual place", "", []string{"/var/www/html/wp-load.php", "/var/www/html/wp-config.php"}, []string{"/var/www/html /var/www/html/wp-config.php"}},
		{"settings above", "", []string{"/var/www/html/wp-load.php", "/var/www/wp-config.php"}, []string{"/var/www/html /var/www/wp-config.php"}},
		{"not installed", "", []string{"/var/www/html/wp-load.php"}, nil},
		{"no WordPress", "", []string{"/var/www/html/wp-config.php"}, nil},
		{"as nginx says", "", []string{"/data/odd/wp-load.php", "/data/odd/wp-config.php"}, []string{"/data/odd /data/odd/wp-config.php"}},
		{"below what Apache says", "", []string{"/data/two/blog/wp-load.php", "/data/two/blog/wp-config.php"}, []string{"/data/two/blog /data/two/blog/wp-config.php"}},
		{"as Caddy says", "", []string{"/data/three/wp-load.php", "/data/three/wp-config.php"}, []string{"/data/three /data/three/wp-config.php"}},
		{"in a comment", "", []string{"/data/four/wp-load.php", "/data/four/wp-config.php"}, nil},
		{"several", "", []string{"/srv/a/wp-load.php", "/srv/a/wp-config.php", "/home/b/public_html/wp-load.php", "/home/b/public_html/wp-config.php"},
			[]string{"/home/b/public_html /home/b/public_html/wp-config.php", "/srv/a /srv/a/wp-config.php"}},
		{"named", "/srv/a/", []string{"/srv/a/wp-load.php", "/srv/a/wp-config.php", "/srv/b/wp-load.php", "/srv/b/wp-config.php"}, []string{"/srv/a /srv/a/wp-config.php"}},
		{"of Debian", "", []string{"/usr/share/wordpress/wp-load.php", "/usr/share/wordpress/wp-config.php", "/etc/wordpress/config-a.example.php", "/etc/wordpress/config-default.php"},
			[]string{"/usr/share/wordpress as a.example /etc/wordpress/config-a.example.php", "/usr/share/wordpress /etc/wordpress/config-default.php"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			files := fstest.MapFS{
				"etc/nginx/sites-enabled/a": {Data: []byte("server { root /data/odd; } # root /data/four;\n")}, "etc/nginx/sites-available/b": {Data: []byte("server { root /data/four; }\n")},
				"etc/apache2/a.conf": {Data: []byte("  documentroot \"/data/two\"\n# DocumentRoot /data/four\n")}, "etc/caddy/Caddyfile": {Data: []byte("a {\n\troot * /data/three\n}\n")},
			}
			for _, name := range test.files {
				files[relative(name)] = &fstest.MapFile{}
				if name == "/usr/share/wordpress/wp-config.php" {
					files[relative(name)].Data = []byte("<?php $debian_file = '/etc/wordpress/config-'.strtolower($debian_server).'.php';")
				}
			}
			sites, err := findSites(files, test.directory)
			expect.NoError(t, err)
			var got []string
			for _, site := range sites {
				got = append(got, site.String()+" "+site.Config)
			}
			expect.Equal(t, test.want, got, "sites")
		})
	}
}

// TestLinkedSites: a directory with two names is one site.
func TestLinkedSites(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, folder := range []string{"usr/share/wordpress", "var/www"} {
		expect.NoError(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	for _, name := range []string{"wp-load.php", "wp-config.php"} {
		expect.NoError(t, os.WriteFile(filepath.Join(root, "usr/share/wordpress", name), nil, 0o644))
	}
	expect.NoError(t, os.Symlink("../../usr/share/wordpress", filepath.Join(root, "var/www/blog")))
	sites, err := findSites(os.DirFS(root), "")
	if err != nil || len(sites) != 1 {
		t.Errorf("%v: %v", err, sites)
	}
}

// TestNames: the names in configurations are those that people write.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, hosts := range map[string]string{
		"example.com": "example.com", "Example.com:443": "example.com", "https://example.com:8443": "example.com", "*.example.com": "www.example.com",
		".example.com": "example.com www.example.com", `~^(?<sub>www\.)?example\.com$`: "example.com www.example.com", "_": "", "": "", "~(": "",
	} {
		for _, host := range []string{"example.com", "www.example.com", "anexample.com"} {
			if want := strings.Contains(" "+hosts+" ", " "+host+" "); fits(name, host) != want {
				t.Errorf("%s stands for %s: %t", name, host, !want)
			}
		}
	}
}
