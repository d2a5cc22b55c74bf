package wpconfig

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program is a random wp-config.php, with files that it includes.
type program struct {
	random *rand.Rand
	dir    string
	plain  bool // all in it can be told
	source string
	files  map[string]string
	deep   int
	names  int

	included []string // files that may be included here, because they do not include this one
}

func pick[T any](p *program, items ...T) T { return items[p.random.IntN(len(items))] }

func (p *program) write(t *testing.T) {
	t.Helper()
	p.files = map[string]string{"wp-settings.php": "<?php report(__DIR__, true); exit;"}
	for _, name := range []string{"sub/c.php", "b.php", "a.php"} {
		p.files[name] = "<?php\n" + p.statements(3)
		p.included = append(p.included, name)
	}
	p.source = "<?php\n" + p.statements(6)
	for _, name := range []string{"DB_NAME", "DB_USER", "DB_PASSWORD", "DB_HOST"} {
		p.source += fmt.Sprintf(pick(p, "define('%s', %s);", "if (!defined('%[1]s')) define('%[1]s', %s);", "defined('%[1]s') or define('%[1]s', %s);", "DEFINE(\"%s\", %s);"), name, p.text()) + "\n"
	}
	if p.random.IntN(3) > 0 {
		p.source += "$table_prefix = " + p.text() + ";\n"
	}
	p.source += p.statements(2)
	if p.random.IntN(8) > 0 {
		p.source += pick(p, "require_once ABSPATH . 'wp-settings.php';", "require __DIR__ . '/wp-settings.php';", "require_once(dirname(__FILE__) . '/wp-settings.php');")
	}
	p.files["wp-config.php"] = p.source
	for name, content := range p.files {
		path := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *program) listing() string {
	var text strings.Builder
	for _, name := range []string{"wp-config.php", "a.php", "b.php", "sub/c.php"} {
		fmt.Fprintf(&text, "--- %s\n%s\n", name, p.files[name])
	}
	return text.String()
}

func (p *program) statements(most int) string {
	p.deep++
	defer func() { p.deep-- }()
	var text strings.Builder
	for range p.random.IntN(most) + 1 {
		text.WriteString(p.statement())
		text.WriteString(pick(p, "\n", "\n", " // define('DB_NAME', 'no');\n", " /* $table_prefix = 'no'; */\n", " ?> text <?php\n"))
	}
	return text.String()
}

func (p *program) setting() string {
	return pick(p, "DB_NAME", "DB_USER", "DB_PASSWORD", "DB_HOST", "WP_SITEURL", "WP_HOME", "MULTISITE", "WP_ENV", "WP_ENV")
}

func (p *program) literal() string {
	return pick(p, "'a'", `"b"`, "'c_'", `"d\x5f"`, `'e' . "f"`, "'g'.'h'.'i'")
}

// text is an expression for a text.
func (p *program) text() string {
	unknown := []string{"getenv('X')", "$_SERVER['HTTP_HOST']", `"x$table_prefix"`, "<<<A\nk\nA", "$v", "$w", "$table_prefix", "DB_NAME", "(defined('WP_ENV') ? 'l' : 'm')",
		"($v ?? 'n')", "trim(' o ')", "basename(__DIR__)", "$v . $v = 'p'", "($v .= 'q')", "array('x', $table_prefix)[0]", "strtolower($table_prefix)", "($t = 'r')",
		"'s' . ($v = 't')", "(string) 12", "getenv('NOT') ?: 'u'", "include " + p.path(), "constant('DB_USER')", "$table_prefix . ($table_prefix = 'w')"}
	if !p.plain && p.random.IntN(3) == 0 {
		return pick(p, unknown...)
	}
	return p.literal()
}

func (p *program) path() string {
	name := pick(p, append(p.included, "missing.php")...)
	if p.random.IntN(6) == 0 {
		name = "missing.php"
	}
	return fmt.Sprintf(pick(p, "__DIR__ . '/%s'", "dirname(__FILE__) . '/%s'", "ABSPATH . '%s'", "ABSPATH.'%s'", "'"+p.dir+"/%s'", "dirname(__DIR__ . '/sub') . '/' . '%s'", "dirname(__FILE__, 1).\"/%s\""), name)
}

func (p *program) condition() string {
	plain := []string{"true", "false", "defined('" + p.setting() + "')", "!defined('" + p.setting() + "')", "! defined( \"" + p.setting() + "\" )", "file_exists(" + p.path() + ")",
		"!is_file(" + p.path() + ")", "isset($table_prefix)", "1", "0", "''", "null", "is_readable(" + p.path() + ")", "is_dir(__DIR__)", "'a' === 'a'", "'a' !== 'b'"}
	if p.deep < 5 && p.random.IntN(3) == 0 {
		p.deep++
		defer func() { p.deep-- }()
		return fmt.Sprintf(pick(p, "%s && %s", "%s || %s", "(%s and %s)", "(%s or %s)", "!(%s) || %s"), p.condition(), p.condition())
	}
	if !p.plain && p.random.IntN(3) == 0 {
		return pick(p, "getenv('X')", "getenv('NOT')", "isset($_SERVER['HTTP_HOST'])", "PHP_VERSION_ID > 70000", "$v == 'a'", "in_array('a', array('a', 'b'))", "empty($v)", "($x = getenv('X'))",
			"defined('WP_CLI') && WP_CLI", "$table_prefix == 'c_'", "$table_prefix === 'c_'", "defined('PHP_VERSION')", "function_exists('f')", "'1' == '01'", "0 == ''", "__LINE__ > 3", "(define('"+p.setting()+"', 'z'))",
			"file_exists('a.php')", "$_SERVER['argc'] ?? false", "defined('DB_NAME') xor true", "include "+p.path(), "($table_prefix = "+p.literal()+")", "is_readable('/etc/shadow')")
	}
	return pick(p, plain...)
}

func (p *program) statement() string {
	define := func() string { return fmt.Sprintf("define('%s', %s)", p.setting(), p.text()) }
	assign := func() string {
		return pick(p, "$table_prefix = ", "$table_prefix = ", "$GLOBALS['table_prefix'] = ", "$v = ", "$table_prefix=") + p.text()
	}
	include := func() string {
		return pick(p, "include ", "include_once ", "@include ", "include_once(", "@include_once (") + p.path()
	}
	closed := func(text string) string {
		if strings.Count(text, "(") > strings.Count(text, ")") {
			text += ")"
		}
		return text + ";"
	}
	if p.deep < 4 && p.random.IntN(3) == 0 {
		return p.compound()
	}
	if !p.plain && p.random.IntN(4) == 0 {
		return p.odd(define, assign)
	}
	switch p.random.IntN(12) {
	case 0, 1, 2:
		return define() + ";"
	case 3:
		return fmt.Sprintf(pick(p, "defined('%[1]s') or define('%[1]s', %[2]s);", "defined('%[1]s') || define('%[1]s', %[2]s);", "if (!defined('%[1]s')) define('%[1]s', %[2]s);",
			`\define("%[1]s", %[2]s);`, "DeFine ( '%[1]s' , %[2]s, false );", "!defined('%[1]s') && define('%[1]s', %[2]s);", "defined('%[1]s') and define('DB_NAME', %[2]s);"), p.setting(), p.text())
	case 4, 5:
		return assign() + ";"
	case 6, 7, 8:
		return closed(include())
	case 9:
		p.names++
		return fmt.Sprintf("function f%d_%d() { %s; return 1; }", p.deep, p.names, define())
	case 10:
		return pick(p, "$table_prefix .= ", "$v = ", "$table_prefix .= ") + p.literal() + ";"
	}
	return pick(p, "error_reporting(0);", "ini_set('memory_limit', '64M');", "$_SERVER['HTTPS'] = 'on';", "define('WP_DEBUG', false);", "echo 'a', 'b';", ";")
}

func (p *program) compound() string {
	body := func() string { return p.statements(2) }
	condition := p.condition()
	switch p.random.IntN(9) {
	case 0, 1:
		return fmt.Sprintf("if (%s) {\n%s}", condition, body())
	case 2, 3:
		return fmt.Sprintf("if (%s) {\n%s} else {\n%s}", condition, body(), body())
	case 4:
		return fmt.Sprintf("if (%s) {\n%s} %s (%s) {\n%s} else {\n%s}", condition, body(), pick(p, "elseif", "else if"), p.condition(), body(), body())
	case 5:
		return fmt.Sprintf("if (%s):\n%selseif (%s):\n%selse:\n%sendif;", condition, body(), p.condition(), body(), body())
	case 6:
		return fmt.Sprintf("if (%s) %s;\nelse %s;", condition, fmt.Sprintf("define('%s', %s)", p.setting(), p.text()), "$table_prefix = "+p.text())
	case 7:
		return fmt.Sprintf("if (%s) { %s return; }", pick(p, condition, "false"), body())
	}
	return fmt.Sprintf("if (%s) { %s }", pick(p, condition, "false", "false"), pick(p, "die('x');", "exit;", "exit(1);", "require_once ABSPATH . 'wp-settings.php'; return;", body()+"require __DIR__ . '/missing.php';"))
}

// odd is a statement beyond the part of PHP that the reader evaluates.
func (p *program) odd(define, assign func() string) string {
	body := func() string {
		if p.deep > 4 {
			return define() + ";"
		}
		return p.statements(2)
	}
	p.names++
	name := fmt.Sprintf("g%d_%d", p.deep, p.names)
	odd := []func() string{
		func() string {
			return fmt.Sprintf("foreach (['%s' => 'k'] as $k => $v) { define($k, $v); }", p.setting())
		},
		func() string {
			return fmt.Sprintf("foreach ([1, 2] as $i) { %s }", strings.ReplaceAll(body(), "function", "//"))
		},
		func() string { return fmt.Sprintf("for ($i = 0; $i < 2; $i++): %s; endfor;", define()) },
		func() string { return fmt.Sprintf("while (true) { %s; break; }", assign()) },
		func() string { return fmt.Sprintf("do { %s; } while (false);", assign()) },
		func() string {
			return fmt.Sprintf("switch (%s) { case 'a': %s; break; case 'x': if (true) { %s; } default: %s; }", p.text(), define(), assign(), define())
		},
		func() string { return fmt.Sprintf("switch (getenv('X')): case 'x': %s; endswitch;", assign()) },
		func() string {
			return fmt.Sprintf("try { %s; throw new Exception; } catch (Exception $e) { %s; } finally { %s; }", define(), assign(), define())
		},
		func() string { return fmt.Sprintf("function %s() { %s; } %s();", name, define(), name) },
		func() string {
			return fmt.Sprintf("%s(); function %s() { global $table_prefix; %s; }", name, name, assign())
		},
		func() string {
			return fmt.Sprintf("function %s(&$p) { $p = 'y_'; } %s($table_prefix);", name, strings.ToUpper(name))
		},
		func() string { return fmt.Sprintf("$f = function() { %s; };", define()) },
		func() string { return fmt.Sprintf("(function() use (&$table_prefix) { %s; })();", assign()) },
		func() string { return fmt.Sprintf("$f = 'define'; $f('%s', 'v');", p.setting()) },
		func() string { return fmt.Sprintf("'define'('%s', 'v');", p.setting()) },
		func() string { return fmt.Sprintf("call_user_func('define', '%s', 'v');", p.setting()) },
		func() string { return fmt.Sprintf("array_map('define', ['%s'], ['v']);", p.setting()) },
		func() string { return fmt.Sprintf("define(value: 'v', constant_name: '%s');", p.setting()) },
		func() string { return fmt.Sprintf("define(...['%s', 'v']);", p.setting()) },
		func() string { return fmt.Sprintf("eval(\"define('%s', 'v');\");", p.setting()) },
		func() string { return "$name = 'table_prefix'; $$name = 'y_';" },
		func() string { return "${'table_prefix'} = 'y_';" },
		func() string { return "$r = &$table_prefix; $r = 'y_';" },
		func() string { return "$r = &$table_prefix; " + assign() + "; $r = 'x_';" },
		func() string { return "$GLOBALS['table' . '_prefix'] = 'y_';" },
		func() string { return "list($table_prefix, $v) = ['y_', 'z'];" },
		func() string { return "[$table_prefix] = ['y_'];" },
		func() string { return "extract(['table_prefix' => 'y_']);" },
		func() string { return "parse_str('table_prefix=y_', $all); foreach ($all as $k => $v) { $$k = $v; }" },
		func() string { return "unset($table_prefix);" },
		func() string { return "unset($GLOBALS['table_prefix']);" },
		func() string { return "$table_prefix ??= 'y_';" },
		func() string { return "$table_prefix++;" },
		func() string { return "preg_match('/./', 'y', $table_prefix);" },
		func() string { return "$t = \"{${define('" + p.setting() + "', 'v')}}\";" },
		func() string { return "isset($_SERVER[define('" + p.setting() + "', 'v')]);" },
		func() string { return "getenv('X') and " + define() + ";" },
		func() string { return "getenv('NOT') && " + assign() + ";" },
		func() string { return "getenv('NOT') ? " + define() + " : " + define() + ";" },
		func() string { return "include __DIR__ . '/' . getenv('X') . '.php';" },
		func() string { return "include 'sub/../" + pick(p, append(p.included, "missing.php")...) + "';" },
		func() string { return "include './" + pick(p, append(p.included, "missing.php")...) + "';" },
		func() string { return "include '" + pick(p, append(p.included, "missing.php")...) + "';" },
		func() string { return "include " + p.path() + " or " + define() + ";" },
		func() string { return "$x = include __DIR__ . '/none' . '.php' ?: " + define() + ";" },
		func() string {
			return "class " + name + " { const DB_NAME = 'no'; function define() { " + define() + "; } } new " + name + ";"
		},
		func() string {
			return "class " + name + " { static function define() { " + define() + "; } } " + name + "::define();"
		},
		func() string { return "abstract class " + name + " { abstract function f(); const DB_NAME = 'no'; }" },
		func() string { return "switch (getenv('X')) { case 'x': return; }" },
		func() string { return "while (getenv('X')) { return; }" },
		func() string { return "#[A]\nfunction " + name + "() { " + define() + "; }" },
		func() string { return "match (true) { default => " + define() + " };" },
		func() string { return "$a = fn() => " + define() + ";" },
		func() string { return "$a = [" + define() + ", 'k' => " + p.text() + "];" },
		func() string { return "if (getenv('NOT')) " + pick(p, "die;", "return;") },
		func() string { return "const WP_HOME2 = 'x', WP_SITEURL2 = 'y';" },
		func() string { return "$v = <<<'A'\n  define('DB_NAME', 'x');\n  A;" },
		func() string { return "@" + define() + " . 'x';" },
		func() string { return "print " + define() + " && " + define() + ";" },
		func() string { return "true || " + define() + " && " + define() + ";" },
		func() string { return "false && " + define() + " || " + define() + ";" },
		func() string { return "!" + define() + " && " + assign() + ";" },
		func() string { return "$v = false or " + define() + ";" },
		func() string { return "$v = true && false; $v || " + define() + ";" },
		func() string { return "true ? " + assign() + " : null;" },
		func() string { return "null ?? " + define() + ";" },
		func() string { return "static $table_prefix = 'y_';" },
		func() string { return "global $table_prefix;" },
		func() string { return "declare(ticks=1) { " + define() + "; }" },
		func() string { return "{ " + define() + "; { " + assign() + "; } }" },
		func() string {
			return "define('" + p.setting() + "', " + pick(p, "1", "0", "true", "false", "null", "1.5", "0x10", "'a' == 'b'", "[]", "__LINE__", "010") + ");"
		},
	}
	if text := pick(p, odd...)(); !slices.Contains([]string{"function"}, text) {
		return text
	}
	return ";"
}
