package wpconfig

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// parse reads a wp-config.php of this content beside WordPress.
func parse(t testing.TB, src string, isSocket func(path string) bool) (Config, error) {
	t.Helper()
	return newSite(t)(src, isSocket)
}

// newSite returns parse for a site of its own.
func newSite(t testing.TB) func(src string, isSocket func(path string) bool) (Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "wp-config.php")
	for _, name := range []string{path, filepath.Join(filepath.Dir(path), "wp-settings.php")} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return func(src string, isSocket func(path string) bool) (Config, error) {
		if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
			t.Fatal(err)
		}
		return read(path, isSocket)
	}
}

func noSocket(string) bool  { return false }
func anySocket(string) bool { return true }

// wantConfig is the result of parsing testConfig.
var wantConfig = Config{
	Name: "shop", User: "shop_user", Password: "it's $ecret", Network: "tcp", Address: "db.example:3307",
	TablePrefix: "wp_",
}

const testConfig = `<?php
/**
 * define( 'DB_NAME', 'in a comment' );
 */
define( 'DB_NAME', 'shop' );
define( 'DB_USER', "shop_user" );
define( 'DB_PASSWORD', 'it\'s $ecret' );
define( 'DB_HOST', 'db.example:3307' );
define( 'DB_CHARSET', 'utf8mb4' );
define( 'DB_COLLATE', '' );
define( 'AUTH_KEY', 'a "quoted" // key ?> # of <<<signs' );
$table_prefix = 'wp_';
define( 'WP_DEBUG', false );
if ( ! defined( 'ABSPATH' ) ) {
	define( 'ABSPATH', __DIR__ . '/' );
}
require_once ABSPATH . 'wp-settings.php';
`

// withCredentials returns a file with the credentials of wantConfig and more lines.
func withCredentials(more string) string {
	return `<?php const DB_NAME = 'shop', DB_USER = 'shop_user', DB_PASSWORD = 'it\'s $ecret';
define('DB_HOST', 'db.example:3307'); define('DB_CHARSET', 'utf8mb4');
` + more
}

func TestParse(t *testing.T) {
	t.Parallel()
	prefixed := func(prefix string) Config { c := wantConfig; c.TablePrefix = prefix; return c }
	named := func(name string) Config { c := wantConfig; c.Name = name; return c }
	content := wantConfig
	content.Content = "/srv/content"
	network := wantConfig
	network.Multisite = true
	at := func(home, siteURL string) Config { c := wantConfig; c.Home, c.SiteURL = home, siteURL; return c }
	// renamed is testConfig with another line for DB_NAME.
	renamed := func(line string) string {
		return strings.Replace(testConfig, `define( 'DB_NAME', 'shop' );`, line, 1)
	}
	for name, tc := range map[string]struct {
		src  string
		want Config
	}{
		"as WordPress writes it":      {testConfig, wantConfig},
		"with carriage returns":       {strings.ReplaceAll(testConfig, "\n", "\r\n"), wantConfig},
		"with a byte order mark":      {"\uFEFF" + testConfig, wantConfig},
		"constants and no prefix":     {withCredentials(``), wantConfig},
		"text before the tag":         {"#!/usr/bin/php\n<?xml define('DB_NAME','no'); php " + testConfig, wantConfig},
		"tag of capital letters":      {strings.Replace(testConfig, "<?php", "<?PHP", 1), wantConfig},
		"letter case and blanks":      {renamed("DEFINE\n(\t'DB_NAME'/* of */,# the\n'shop'// wantConfig\n)\n;"), wantConfig},
		"silenced":                    {renamed(`@define('DB_NAME', 'shop');`), wantConfig},
		"comma at the end":            {renamed(`define('DB_NAME', 'shop',);`), wantConfig},
		"tag instead of semicolon":    {renamed("define('DB_NAME', 'shop') ?>\n define('DB_NAME', 'text');\n<?php"), wantConfig},
		"certain again after a block": {renamed(`if ($x): header('X: y'); endif; define('DB_NAME', 'shop'); define('DB_NAME', 'late');`), wantConfig},
		"not another letter case":     {renamed(`define('db_name', 'a'); define('DB_NAME', 'shop');`), wantConfig},
		"not after the end":           {renamed(`define('DB_NAME', 'shop');`) + "?> define('DB_USER', 'text');", wantConfig},

		"line comments end at the tag": {renamed("// a ?> define('DB_NAME', 'b'); <?php # c ?> <?php define('DB_NAME', 'shop'); // ?"), wantConfig},
		"computed in the same const":   {renamed(`const DB_X = 'a' . A[implode(['b', 'c'])], DB_NAME = 'shop';`), wantConfig},
		"comment never closed":         {testConfig + "/* define('DB_NAME', ", wantConfig},

		"escapes of single quotes":  {renamed(`define('DB_NAME', 'a\\\'b\n\$c');`), named(`a\'b\n\$c`)},
		"escapes of double quotes":  {renamed(`define("DB_NAME", "\n\t\r\v\e\f\\\$\"\'\q\\x41{ $");`), named("\n\t\r\v\x1b\f\\$\"\\'\\q\\x41{ $")},
		"dollars that are plain":    {renamed(`define("DB_NAME", "a$1 $ b$");`), named("a$1 $ b$")},
		"newline in a string":       {renamed("define('DB_NAME', 'a\nb');"), named("a\nb")},
		"not UTF-8":                 {renamed("define(\"DB_NAME\", \"\xff\");"), named("\xff")},
		"last prefix holds":         {withCredentials(`$table_prefix = getenv('P'); $table_prefix = 'a_'; $table_prefix = 'Site7_';`), prefixed("Site7_")},
		"prefix that is only read":  {withCredentials(`$table_prefix = 'a_'; if ($table_prefix == 'b_') strlen($table_prefix . 'c'); define('U', $table_prefix . 'users');`), prefixed("a_")},
		"prefix and then a network": {withCredentials(`$table_prefix = 'wp_'; define('WP_ALLOW_MULTISITE', true); define('MULTISITE', TRUE);`), network},
		"network by number":         {withCredentials(`define('MULTISITE', 1);`), network},
		"network by a text":         {withCredentials(`define('MULTISITE', 'true');`), network},
		"network by subdomains":     {withCredentials(`define('SUBDOMAIN_INSTALL', false);`), network},
		"no network by a text":      {withCredentials(`define('MULTISITE', '');`), wantConfig},
		"addresses":                 {withCredentials(`define('WP_HOME', 'https://a.example'); const WP_SITEURL = "https://a.example/wp";`), at("https://a.example", "https://a.example/wp")},
		"other character set":       {withCredentials(`define('DB_CHARSET', 'latin1');`), wantConfig},
		"content":                   {withCredentials(`define('WP_CONTENT_DIR', '/srv/content');`), content},
		"first address holds":       {withCredentials(`define('WP_HOME', 'https://a.example'); define('WP_HOME', 'https://b.example');`), at("https://a.example", "")},
		"one of two addresses":      {withCredentials(`if ($x) { define('WP_HOME', 'https://a.example'); } else { define('WP_HOME', 'https://b.example'); }`), wantConfig},
		"computed address":          {withCredentials(`define('WP_HOME', 'https://' . $_SERVER['HTTP_HOST']); define('WP_SITEURL', WP_HOME . '/wp');`), wantConfig},
		"half computed addresses":   {withCredentials(`define('WP_HOME', 'https://a.example'); define('WP_SITEURL', WP_HOME . $_SERVER['X']);`), at("https://a.example", "")},
		"one address for both":      {withCredentials(`define('WP_HOME', 'https://a.example'); define('WP_SITEURL', WP_HOME . '/wp');`), at("https://a.example", "https://a.example/wp")},
		"addresses in a network":    {withCredentials(`define('WP_HOME', 'https://a.example'); define('MULTISITE', true);`), network},
		"no network":                {withCredentials(`define('MULTISITE', false);`), wantConfig},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, tc.src, anySocket)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("configuration (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseDefaults(t *testing.T) {
	t.Parallel()
	isFirst := func(path string) bool { return path == usualSockets[0] }
	got, err := parse(t, `<?php define('DB_NAME', 'shop'); define('DB_USER', 'root'); define('DB_PASSWORD', '');`, isFirst)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Name: "shop", User: "root", Network: "unix", Address: usualSockets[0], TablePrefix: "wp_"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestParseReportsUnreadableSettings(t *testing.T) {
	t.Parallel()
	// In each case, the value or a part of it is the word "hidden".
	for name, tc := range map[string]struct {
		more string // from line 3 on
		line int
		name string
		says string
	}{
		"function":             {`define('DB_NAME', getenv('hidden'));`, 3, "DB_NAME", "line 3: DB_NAME is computed, so that only PHP knows its value"},
		"concatenation":        {`define('DB_NAME', 'hidden' . $_ENV['b']);`, 3, "DB_NAME", "computed"},
		"choice":               {`define('DB_NAME', $x ? 'hidden' : 'b');`, 3, "DB_NAME", "computed"},
		"fraction":             {`define('DB_NAME', 1.7);`, 3, "DB_NAME", "computed"},
		"truth":                {`define('DB_NAME', true);`, 3, "DB_NAME", "is not a text"},
		"variable in a string": {`define('DB_NAME', "hidden$x");`, 3, "DB_NAME", "computed"},
		"braces in a string":   {`define('DB_NAME', "hidden{$x['y']}");`, 3, "DB_NAME", "computed"},
		"heredoc":              {"define('DB_NAME', <<<A\nhidden\nA);", 3, "", "heredoc"},
		"shell command":        {"define('DB_NAME', `hidden`);", 3, "", "shell command"},
		"attribute":            {"#[A]\ndefine('DB_NAME', 'hidden');", 3, "", "attribute"},
		"code in a string":     {`define('DB_NAME', "hidden{$x["y"]}");`, 3, "", "code in it"},
		"quotes in a string":   {`define('DB_NAME', "hidden{$x['"']}");`, 3, "", "code in it"},
		"bytes by number":      {`define('DB_NAME', "hidden\x41");`, 3, "DB_NAME", "computed"},
		"class":                {`class A { const DB_NAME = 'a'; } define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"other function":       {`function f() {} f(); define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"end of the file":      {`define('DB_NAME', 'hidden'`, 3, "", "not closed"},
		"end of a statement":   {`define('DB_NAME', 'hidden')`, 3, "", "does not end"},
		"other bracket":        {`define('DB_NAME', 'hidden'};`, 3, "", "not open"},
		"jump":                 {`goto a; a: define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"short tag":            {"?>\n<? define('DB_NAME', 'hidden');", 4, "", "write <?php"},
		"computed if not yet":  {`if (!defined('DB_NAME')) { define('DB_NAME', getenv('hidden')); } define('DB_NAME', 'a');`, 3, "DB_NAME", "computed"},
		"one of two":           {"if ($x) {\ndefine('DB_NAME', 'hidden');\n} else {\ndefine('DB_NAME', 'b'); }", 6, "DB_NAME", "in some cases only"},
		"alternative syntax":   {"if ($x):\necho 1; define('DB_NAME', 'hidden');\nelse:\necho 2; define('DB_NAME', 'b'); endif;", 6, "DB_NAME", "in some cases only"},
		"missing":              {`define('DB', 'hidden');`, 0, "DB_NAME", "DB_NAME is not defined"},
		"not followed":         {`define('DB', 'hidden'); include 'db.php';`, 3, "DB_NAME", "cannot be followed"},
		"method":               {`$a->define('DB_NAME', 'a'); define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"static method":        {`A::define('DB_NAME', 'a'); define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"other namespace":      {`x\define('DB_NAME', 'a'); define('DB_NAME', 'hidden');`, 3, "DB_NAME", "runs here"},
		"loop":                 {`foreach (parse_ini_file('hidden') as $k => $v) define($k, $v);`, 3, "DB_NAME", "runs here"},
		"in a function's name": {`function define('DB_NAME', 'hidden') {}`, 0, "DB_NAME", "not defined"},
		"name is computed":     {`define('DB_' . $_ENV['NAME'], 'hidden');`, 3, "DB_NAME", "runs here"},
		"outside of the tags":  {`?> define('DB_NAME', 'hidden');`, 0, "DB_NAME", "not defined"},
		"empty":                {`define('DB_NAME', '');`, 3, "DB_NAME", "empty"},
		"host":                 {`define('DB_NAME', 'a'); define('DB_HOST', 'hidden:x');`, 3, "DB_HOST", "host:port"},
		"host in some cases":   {`define('DB_NAME', 'a'); if ($x) define('DB_HOST', 'hidden');`, 3, "DB_HOST", "in some cases only"},
		"host not followed":    {`define('DB_NAME', 'a'); include 'hidden.php';`, 3, "DB_HOST", "cannot be followed"},
		"character set":        {"define('DB_NAME', 'a'); define('DB_HOST', 'db');\ndefine('DB_CHARSET', 'latin1'); $x = 'hidden';", 4, "DB_CHARSET", "set it to utf8mb4"},
		"no character set":     {`define('DB_NAME', 'a'); define('DB_HOST', 'db'); define('DB_CHARSET', 'hidden');`, 3, "DB_CHARSET", "neither utf8 nor utf8mb4"},
		"network":              {`define('DB_NAME', 'a'); define('DB_HOST', 'db'); define('MULTISITE', getenv('hidden'));`, 3, "MULTISITE", "computed"},
		"prefix computed":      {`define('DB_NAME', 'a'); $table_prefix = getenv('hidden');`, 3, "$table_prefix", "computed"},
		"prefix appended to":   {"define('DB_NAME', 'a'); $table_prefix = 'hidden';\n$table_prefix .= $b;", 4, "$table_prefix", "computed"},
		"prefix by default":    {`define('DB_NAME', 'a'); $table_prefix = $_ENV['P'] ?? 'hidden';`, 3, "$table_prefix", "computed"},
		"prefix in a function": {`define('DB_NAME', 'a'); define('DB_HOST', 'db'); function f() {} $table_prefix = f('hidden', 'b');`, 3, "$table_prefix", "runs here"},
		"prefix one of two":    {"define('DB_NAME', 'a'); $table_prefix = 'hidden';\nif ($x) $table_prefix = 'b';", 4, "$table_prefix", "computed"},
		"prefix set later":     {"define('DB_NAME', 'a'); define('DB_HOST', 'db');\nspl_autoload_register('f'); $table_prefix = 'a_'; class_exists('X'); function f() { $GLOBALS['table_prefix'] = 'hidden_'; }", 4, "$table_prefix", "runs here"},
		"prefix set globally":  {"define('DB_NAME', 'a'); define('DB_HOST', 'db');\nset_error_handler('f'); $table_prefix = 'a_'; $y = $x; function f() { global $table_prefix; $table_prefix = 'hidden_'; }", 4, "$table_prefix", "runs here"},
		"prefix by reference":  {`define('DB_NAME', 'a'); $table_prefix = 'a_'; $x = str_replace('hidden', 'b', 'aab', $table_prefix);`, 3, "$table_prefix", "computed"},
		"prefix by a filter":   {`define('DB_NAME', 'a'); define('DB_HOST', 'db'); $table_prefix = 'a_'; filter_var('x', FILTER_CALLBACK, ['options' => 'hidden']);`, 3, "$table_prefix", "runs here"},
		"prefix with a hyphen": {`define('DB_NAME', 'a'); $table_prefix = 'hidden-';`, 3, "$table_prefix", "letters, digits and _"},
		"no prefix":            {"define('DB_NAME', 'hidden');\nrequire ABSPATH . 'wp-settings.php';", 0, "$table_prefix", "not set"},
		"prefix taken away":    {"define('DB_NAME', 'hidden'); $table_prefix = 'a_';\nunset($table_prefix); require ABSPATH . 'wp-settings.php';", 4, "$table_prefix", "computed"},
		"no end":               {"define('DB_NAME', 'hidden');\ndie('Maintenance');", 4, "", "ends PHP"},
		"nothing to include":   {"define('DB_NAME', 'hidden');\nrequire __DIR__ . '/missing.php';", 4, "", "does not exist"},
		"string never closed":  {"\ndefine('DB_NAME', 'hidden);\n", 4, "", "does not end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, "<?php const DB_USER = 'u', DB_PASSWORD = 'p';\n\n"+tc.more, anySocket)
			var rejected *Error
			if !errors.As(err, &rejected) {
				t.Fatalf("error %v, want an *Error", err)
			}
			if rejected.Line != tc.line || rejected.Name != tc.name || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("error %q with line %d and name %q, want line %d, name %q and %q in the text",
					err, rejected.Line, rejected.Name, tc.line, tc.name, tc.says)
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}

func TestParseReturnsTheRestWithoutPrefix(t *testing.T) {
	t.Parallel()
	got, err := parse(t, withCredentials(`define('MULTISITE', true); $table_prefix = getenv('P');`), anySocket)
	want := wantConfig
	want.TablePrefix, want.Multisite = "", true
	if diff := cmp.Diff(want, got); err == nil || diff != "" {
		t.Errorf("error %v, configuration (-want +got):\n%s", err, diff)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	write := func(content string) string {
		path := filepath.Join(t.TempDir(), "wp-config.php")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	got, err := Read(write(testConfig))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantConfig, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	full := testConfig + strings.Repeat("#", maxSize-len(testConfig))
	if _, err := Read(write(full)); err != nil {
		t.Errorf("a file of 1 MiB: %v", err)
	}
	if _, err := Read(write(full + "#")); err == nil {
		t.Error("a file of more than 1 MiB was read")
	}
	var rejected *Error
	if _, err := Read(write("<?php")); !errors.As(err, &rejected) {
		t.Errorf("an empty file: error %v, want an *Error", err)
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: error %v, want fs.ErrNotExist", err)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

func TestParseDBHost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in               string
		sockets          []string // existing sockets
		network, address string
	}{
		"host":                        {"db.example", nil, "tcp", "db.example:3306"},
		"host and port":               {"db.example:3307", nil, "tcp", "db.example:3307"},
		"host and no port":            {"db_1:", nil, "tcp", "db_1:3306"},
		"address":                     {"10.0.0.7", usualSockets, "tcp", "10.0.0.7:3306"},
		"own address is no socket":    {"127.0.0.1", usualSockets, "tcp", "127.0.0.1:3306"},
		"IPv6":                        {"2001:db8::7", nil, "tcp", "[2001:db8::7]:3306"},
		"IPv6 in brackets":            {"[::1]", nil, "tcp", "[::1]:3306"},
		"IPv6 and port":               {"[::1]:3307", nil, "tcp", "[::1]:3307"},
		"IPv4 in IPv6":                {"::ffff:10.0.0.7", nil, "tcp", "[::ffff:10.0.0.7]:3306"},
		"socket":                      {":/run/db.sock", nil, "unix", "/run/db.sock"},
		"localhost and socket":        {"localhost:/run/db.sock", usualSockets, "unix", "/run/db.sock"},
		"localhost, port and socket":  {"localhost:3307:/run/db.sock", nil, "unix", "/run/db.sock"},
		"socket with colons":          {"localhost:/cloudsql/shop:eu:db", nil, "unix", "/cloudsql/shop:eu:db"},
		"other host and socket":       {"db.example:/run/db.sock", nil, "tcp", "db.example:3306"},
		"localhost by a socket":       {"LocalHost", usualSockets, "unix", usualSockets[0]},
		"localhost by another socket": {"localhost", usualSockets[2:], "unix", usualSockets[2]},
		"localhost and port":          {"localhost:3307", usualSockets, "unix", usualSockets[0]},
		"nothing":                     {"", usualSockets, "unix", usualSockets[0]},
		"only a port":                 {":3307", usualSockets, "unix", usualSockets[0]},
		"persistent":                  {"p:db.example:3307", nil, "tcp", "db.example:3307"},
		"persistent IPv6":             {"p:[::1]:3307", nil, "tcp", "[::1]:3307"},
		"host p":                      {"p:3307", nil, "tcp", "p:3307"},
		"host p and socket":           {"p:/run/db.sock", nil, "tcp", "p:3306"},
		"persistent socket":           {"p::/run/db.sock", nil, "unix", "/run/db.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exists := func(path string) bool { return slices.Contains(tc.sockets, path) }
			network, address, err := parseDBHost(tc.in, exists)
			if err != nil {
				t.Fatal(err)
			}
			if network != tc.network || address != tc.address {
				t.Errorf("got %s %s, want %s %s", network, address, tc.network, tc.address)
			}
		})
	}
}

// TestLocalhostIsNeverTCP: without a socket, any user of the machine may listen at 127.0.0.1, and nothing
// proves that the listener is the database.
func TestLocalhostIsNeverTCP(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"localhost", "LocalHost", "localhost:3307", "localhost:", "", ":3307", "p:localhost", "p:localhost:3306"} {
		network, address, err := parseDBHost(host, noSocket)
		var none *NoSocketError
		if !errors.As(err, &none) {
			t.Errorf("%q: %s %s, error %v", host, network, address, err)
			continue
		}
		for _, socket := range usualSockets {
			if !strings.Contains(err.Error(), socket) {
				t.Errorf("%q: the error does not name %s: %v", host, socket, err)
			}
		}
	}
	got, err := parse(t, "<?php\nconst DB_NAME = 'shop', DB_USER = 'u', DB_PASSWORD = 'p';\ndefine('DB_HOST', 'localhost');\n$table_prefix = f();", noSocket)
	var none *NoSocketError
	if !errors.As(err, &none) || none.Line != 3 || got.Name != "shop" || got.Address != "" {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestParseDBHostRejectsOtherForms(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"port of letters":     "hidden:abc",
		"port zero":           "hidden:0",
		"port too large":      "hidden:65536",
		"port with a sign":    "hidden:+1",
		"only a path":         "/hidden.sock",
		"blank":               "hidden ",
		"colons":              "hidden:1:2",
		"bracket not closed":  "[::1",
		"bracket not opened":  "::1]",
		"zone":                "fe80::1%hidden",
		"brackets of no IPv6": "[hidden/]:3306",
		"data source name":    "user:hidden@tcp(db.example:3306)/shop",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network, address, err := parseDBHost(in, anySocket)
			if err == nil {
				t.Fatalf("got %s %s, want an error", network, address)
			}
			if strings.Contains(err.Error(), "hidden") {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
}

// newSocket listens on a socket in a new directory, which also has a link to it.
func newSocket(t *testing.T) (dir, path, link string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "bookside") // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	path, link = filepath.Join(dir, "db.sock"), filepath.Join(dir, "link.sock")
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(listener.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	})
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	return dir, path, link
}

// TestSocketsOfOthers: no password is sent to a socket that anybody else could have put there.
func TestSocketsOfOthers(t *testing.T) {
	t.Parallel()
	dir, path, link := newSocket(t)
	us := owners{os.Geteuid(): true}
	if us.haveSocket(path+"x") || us.haveSocket(dir) {
		t.Error("a file that is no socket passes for one")
	}
	for name, c := range map[string]struct {
		mode    fs.FileMode // of the directory
		trusted owners
		want    bool
	}{
		"ours":                                 {0o755, us, true},
		"among others":                         {0o755, owners{os.Geteuid(): true, os.Geteuid() + 1: true}, true},
		"another user's":                       {0o755, owners{os.Geteuid() + 1: true}, false},
		"where all may write":                  {0o777, us, false},
		"where all may write, as they do /tmp": {0o777 | fs.ModeSticky, us, true},
	} {
		if err := os.Chmod(dir, c.mode); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{path, link} {
			if got := c.trusted.haveSocket(p); got != c.want {
				t.Errorf("%s, %s: %t, want %t", name, filepath.Base(p), got, c.want)
			}
		}
	}
}

// TestPlantedSocket: another user's socket in a world-writable directory of root's, such as /tmp, does not
// count as localhost, nor does that user's link to a good one.
func TestPlantedSocket(t *testing.T) {
	t.Parallel()
	fixtures.RequireRoot(t, "only root can give a file to somebody else")
	dir, path, link := newSocket(t)
	if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	const stranger = 4242
	if err := os.Lchown(link, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if o := trustedOwners(); !o.haveSocket(path) || o.haveSocket(link) {
		t.Errorf("root's socket %t, a stranger's link to it %t", o.haveSocket(path), o.haveSocket(link))
	}
	if err := os.Chown(path, stranger, stranger); err != nil {
		t.Fatal(err)
	}
	if trustedOwners().haveSocket(path) {
		t.Error("a stranger's socket is taken for the database's")
	}
}

// FuzzParse: whatever the file is, the settings are complete, or there is an *Error.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		testConfig, withCredentials(`$table_prefix = "a\x5f";`), "<?php \"{$a[\"${b}\"]}\" <<<A\n{$b}\nA; <<<'B'\n\\B\nB;",
		"<?php if (1): define('DB_NAME', 'a'); endif; # ?> <?= `x` #[A] // \n /* ",
	} {
		f.Add([]byte(seed))
	}
	parse := newSite(f)
	f.Fuzz(func(t *testing.T, src []byte) {
		c, err := parse(string(src), anySocket)
		var rejected *Error
		if err != nil && !errors.As(err, &rejected) {
			t.Fatalf("error %v, want an *Error", err)
		}
		if err == nil && (c.Name == "" || c.User == "" || c.Address == "" || !wpdb.ValidPrefix(c.TablePrefix)) {
			t.Fatalf("incomplete: %+v", c)
		}
	})
}

// FuzzPassword: every quoted password is returned unchanged.
func FuzzPassword(f *testing.F) {
	for _, seed := range []string{`it's`, `\`, `\\'`, `$a {$b} ${c}`, "?>\n//", "\xff", `\u{41}`, `"`} {
		f.Add(seed)
	}
	single := strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	double := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "\x1b", `\e`, "\n", `\n`, "A", `\101`, "B", `\x42`, "é", `\u{e9}`)
	parse := newSite(f)
	f.Fuzz(func(t *testing.T, password string) {
		for _, literal := range []string{`'` + single.Replace(password) + `'`, `"` + double.Replace(password) + `"`} {
			src := "<?php const DB_NAME = 'a', DB_USER = 'b'; define('DB_PASSWORD', " + literal + ");"
			c, err := parse(src, anySocket)
			if err != nil || c.Password != password {
				t.Fatalf("%s was read as %q, error %v", literal, c.Password, err)
			}
		}
	})
}

// FuzzParseDBHost: an address can be dialled and parses to itself.
func FuzzParseDBHost(f *testing.F) {
	for _, seed := range []string{"", "localhost", "p:db:3306", "[::1]:3306", "::1", ":/a:/b", "a:1:/b", "fe80::1%eth0", "p"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		network, address, err := parseDBHost(s, anySocket)
		if err != nil || network == "unix" {
			return
		}
		if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
			t.Fatalf("%q gave the address %q: %v", s, address, err)
		}
		if _, again, err := parseDBHost(address, anySocket); err != nil || again != address {
			t.Fatalf("%q gave %q, and that %q: %v", s, address, again, err)
		}
	})
}

// TestClientFlags: TLS flags in MYSQL_CLIENT_FLAGS are obeyed, however they are written.
func TestClientFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]wpdb.TLS{
		``: "",
		`define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL);`:                                           wpdb.TLSRequired,
		`define( 'MYSQL_CLIENT_FLAGS', \MYSQLI_CLIENT_SSL );`:                                        wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', 2048);`:                                                        wpdb.TLSRequired,
		`const MYSQL_CLIENT_FLAGS = 0x800;`:                                                          wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_COMPRESS);`:                  wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_COMPRESS);`:                                      "",
		`define('MYSQL_CLIENT_FLAGS', 0);`:                                                           "",
		`define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL_DONT_VERIFY_SERVER_CERT|MYSQLI_CLIENT_SSL);`: wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL | MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT);`:    wpdb.TLSVerify,
		`if (!$local) define('MYSQL_CLIENT_FLAGS', MYSQLI_CLIENT_SSL);`:                              wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', defined('MYSQLI_CLIENT_SSL') ? MYSQLI_CLIENT_SSL : 0);`:        wpdb.TLSRequired,
		`define('MYSQL_CLIENT_FLAGS', intval($x)); define('X', 2048);`:                               "",
		`define('OTHER_FLAGS', MYSQLI_CLIENT_SSL);`:                                                  "",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			got, err := parse(t, withCredentials(line), anySocket)
			if err != nil || got.TLS != want {
				t.Errorf("%q, %v; want %q", got.TLS, err, want)
			}
			driver, err := mysql.ParseDSN(got.FormatDSN())
			if err != nil || driver.TLSConfig != map[wpdb.TLS]string{wpdb.TLSRequired: "skip-verify", wpdb.TLSVerify: "true"}[want] {
				t.Errorf("%q, %v", driver.TLSConfig, err)
			}
		})
	}
}

func TestFormatDSN(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"plain":           {Name: "shop", User: "shop_user", Password: "secret", Network: "tcp", Address: "db.example:3307"},
		"no password":     {Name: "shop", User: "shop_user", Network: "tcp", Address: "127.0.0.1:3306"},
		"a socket":        {Name: "shop", User: "shop_user", Password: "secret", Network: "unix", Address: "/run/mysqld/mysqld.sock"},
		"IPv6":            {Name: "shop", User: "shop_user", Password: "secret", Network: "tcp", Address: "[::1]:3306"},
		"marks":           {Name: "shop", User: "shop_user", Password: `a:b@c/d?e=f&g#h%i(j)\k"l'm`, Network: "tcp", Address: "127.0.0.1:3306"},
		"like an address": {Name: "shop", User: "shop_user", Password: "x@tcp(evil:1)/other?tls=skip-verify", Network: "tcp", Address: "127.0.0.1:3306"},
		"not ASCII":       {Name: "läden", User: "jörg", Password: "пароль🔑", Network: "tcp", Address: "127.0.0.1:3306"},
		"marks in a name": {Name: "a/b?c=d%e", User: "shop_user", Password: "secret", Network: "tcp", Address: "127.0.0.1:3306"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver, err := mysql.ParseDSN(c.FormatDSN())
			if err != nil {
				t.Fatal(err)
			}
			got := Config{Name: driver.DBName, User: driver.User, Password: driver.Passwd, Network: driver.Net, Address: driver.Addr}
			if diff := cmp.Diff(c, got); diff != "" {
				t.Errorf("read back otherwise: %s", diff)
			}
		})
	}
}
