package wpconfig

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSites: each directory of testdata/sites is read as expected.json in it says: as PHP does, or with an error that
// names the setting that cannot be told.
func TestSites(t *testing.T) {
	t.Parallel()
	configs, err := filepath.Glob("testdata/sites/*/wp-config.php")
	if err != nil || len(configs) == 0 {
		t.Fatalf("%d sites, error %v", len(configs), err)
	}
	for _, path := range configs {
		dir := filepath.Dir(path)
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(filepath.Join(dir, "expected.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want struct{ Name, User, Host, Prefix, Error string }
			if err := json.Unmarshal(content, &want); err != nil {
				t.Fatal(err)
			}
			c, err := Read(path)
			var unknown *Error
			switch {
			case want.Error != "":
				if !errors.As(err, &unknown) || unknown.Name != want.Error || unknown.Line == 0 {
					t.Errorf("%+v, error %v, want one about %s, with its line", c, err, want.Error)
				}
			case err != nil:
				t.Error(err)
			case c.Name != want.Name || c.User != want.User || c.Address != want.Host+":3306" || c.TablePrefix != want.Prefix:
				t.Errorf("%+v, want %+v", c, want)
			}
		})
	}
}

// writeFiles writes files into a directory; a content of -> PATH is a link.
func writeFiles(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "-> "); ok {
			if err := os.Symlink(target, path); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, []byte(strings.ReplaceAll(content, "ROOT", root)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestPlaces: paths are those that PHP has, wherever the file and what it includes are.
func TestPlaces(t *testing.T) {
	t.Parallel()
	const (
		credentials = "<?php const DB_NAME = 'a', DB_USER = 'u', DB_PASSWORD = 'p', DB_HOST = 'h'; "
		load        = " require ABSPATH . 'wp-settings.php';"
		local       = "<?php $table_prefix = 'local_';"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  string // the prefix, or a part of the error
	}{
		"WordPress below": {map[string]string{"wp-config.php": credentials + "include ABSPATH . 'local.php';" + load, "core/wp-settings.php": "", "core/local.php": local}, "local_"},
		"several below":   {map[string]string{"wp-config.php": credentials + "include ABSPATH . 'local.php';" + load, "core/wp-settings.php": "", "old/wp-settings.php": ""}, "cannot be followed"},
		"a link to the file": {map[string]string{"wp-config.php": "-> etc/config.php", "wp-settings.php": "", "local.php": "<?php $table_prefix = 'no_';", "etc/local.php": local,
			"etc/config.php": credentials + "include __DIR__ . '/local.php';" + load}, "local_"},
		"ABSPATH of a link": {map[string]string{"wp-config.php": "-> etc/config.php", "wp-settings.php": "", "local.php": local, "etc/local.php": "<?php $table_prefix = 'no_';",
			"etc/config.php": credentials + "include ABSPATH . 'local.php';" + load}, "local_"},
		"ABSPATH is defined": {map[string]string{"wp-config.php": credentials + "if (!defined('ABSPATH')) define('ABSPATH', '/nowhere/'); include ABSPATH . 'local.php';" + load, "wp-settings.php": "", "local.php": local}, "local_"},
		"a link to an included file, once": {map[string]string{"wp-config.php": credentials + "include_once __DIR__ . '/a.php'; $table_prefix = $table_prefix . 'c_'; include_once __DIR__ . '/b.php';" + load,
			"wp-settings.php": "", "a.php": local, "b.php": "-> a.php"}, "local_c_"},
		"an absolute path":                {map[string]string{"site/wp-config.php": "-> ../config.php", "config.php": credentials + "include 'ROOT/elsewhere/local.php';" + load, "site/wp-settings.php": "", "elsewhere/local.php": local}, "local_"},
		"a copy of the file":              {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; if (file_exists(__DIR__ . '/local.php')) include __DIR__ . '/local.php';" + load}, "cannot be"},
		"a copy, absence":                 {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; if (file_exists('ROOT/local.php')) $table_prefix = 'no_';" + load}, "computed"},
		"a copy, elsewhere":               {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; if (__DIR__ === '/srv/a') $table_prefix = 'a_';" + load}, "computed"},
		"a plain copy":                    {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; if (!defined('ABSPATH')) define('ABSPATH', __DIR__ . '/');" + load}, "wp_"},
		"nothing above":                   {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; @include __DIR__ . '/../missing.php';" + load, "wp-settings.php": ""}, "wp_"},
		"no such directory":               {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; @include __DIR__ . '/missing/../local.php';" + load, "wp-settings.php": "", "local.php": local}, "cannot be followed"},
		"a relative path":                 {map[string]string{"wp-config.php": credentials + "include 'local.php';" + load, "wp-settings.php": "", "local.php": local}, "local_"},
		"a relative path from below":      {map[string]string{"wp-config.php": credentials + "include 'sub/a.php';" + load, "wp-settings.php": "", "sub/a.php": "<?php include 'local.php';", "sub/local.php": local}, "local_"},
		"a path of several files":         {map[string]string{"wp-config.php": credentials + "include 'sub/a.php';" + load, "wp-settings.php": "", "sub/a.php": "<?php include 'local.php';", "sub/local.php": local, "local.php": ""}, "cannot be followed"},
		"a path of the working directory": {map[string]string{"wp-config.php": credentials + "include './local.php';" + load, "wp-settings.php": "", "local.php": local}, "cannot be followed"},
		"itself":                          {map[string]string{"wp-config.php": credentials + "include __FILE__;" + load, "wp-settings.php": ""}, "too much code"},
		"itself, once":                    {map[string]string{"wp-config.php": credentials + "$table_prefix = 'wp_'; include_once __FILE__; require_once ABSPATH . 'wp-load.php';" + load, "wp-settings.php": "", "wp-load.php": "<?php $table_prefix = 'no_';"}, "wp_"},
		"broken":                          {map[string]string{"wp-config.php": credentials + "include __DIR__ . '/local.php';" + load, "wp-settings.php": "", "local.php": "<?php\n\nf("}, "local.php, line 3: a bracket"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			writeFiles(t, root, c.files)
			if _, ok := c.files["site/wp-config.php"]; ok {
				root = filepath.Join(root, "site")
			}
			got, err := Read(filepath.Join(root, "wp-config.php"))
			if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && got.TablePrefix != c.want {
				t.Errorf("prefix %q, error %v, want %q", got.TablePrefix, err, c.want)
			}
		})
	}
}

// TestUnreadableInclude: what PHP may not be able to read does not count as read.
func TestUnreadableInclude(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	writeFiles(t, root, map[string]string{"wp-settings.php": "", "local.php": "<?php $table_prefix = 'local_';",
		"wp-config.php": "<?php const DB_NAME = 'a', DB_USER = 'u', DB_PASSWORD = 'p', DB_HOST = 'h'; $table_prefix = 'wp_'; @include __DIR__ . '/local.php'; require ABSPATH . 'wp-settings.php';"})
	if err := os.Chmod(filepath.Join(root, "wp-config.php"), 0o644); err != nil {
		t.Fatal(err)
	}
	var unknown *Error
	if c, err := Read(filepath.Join(root, "wp-config.php")); !errors.As(err, &unknown) || unknown.Name != TablePrefix {
		t.Errorf("prefix %q, error %v", c.TablePrefix, err)
	}
}
