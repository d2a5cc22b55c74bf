package wpconfig

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// program is a random wp-config.php, with files that it includes.
type program struct {
	random   *rand.Rand
	dir      string
	plain    bool   // all in it can be told, but for odd
	odd      string // one statement beyond the reader
	files    map[string]string
	included []string // files that may be included here, because they do not include this one
	deep     int
	names    int
}

// grammar has what may stand for a symbol; what stands under a symbol with ! is beyond the part of PHP that the reader
// evaluates, or unknown to it. Where a program gets too deep, the first one is taken. Within one text, a setting is
// always the same one, and so is a new name.
var grammar = map[string][]string{
	"config":      {"<?php\n«block»«early»«DB_NAME»«DB_USER»«DB_PASSWORD»«DB_HOST»«prefix»«late»«block»«settings»"},
	"block":       {"«statement»«between»", "«statement»«between»«statement»«between»", "«statement»«between»«statement»«between»«statement»«between»"},
	"between":     {"\n", "\n", " // define('DB_NAME', 'no');\n", " /* $table_prefix = 'no'; */\n", " ?> text <?php\n"},
	"DB_NAME":     {"define('DB_NAME', «text»);\n", "if (!defined('DB_NAME')) define('DB_NAME', «text»);\n"},
	"DB_USER":     {"defined('DB_USER') or define('DB_USER', «text»);\n", "DEFINE(\"DB_USER\", «text»);\n"},
	"DB_PASSWORD": {"const DB_PASSWORD2 = 'x', DB_PASSWORD3 = 'y'; define('DB_PASSWORD', «text»);\n"},
	"DB_HOST":     {"defined('DB_HOST') || define('DB_HOST', «text»);\n", "define('DB_HOST', «text»);\n"},
	"prefix":      {"$table_prefix = «text»;\n", "$table_prefix = «text»;\n", ""},
	"settings":    {"require_once ABSPATH . 'wp-settings.php';", "require __DIR__ . '/wp-settings.php';", "require_once(dirname(__FILE__) . '/wp-settings.php');", ""},

	"setting": {"DB_NAME", "DB_USER", "DB_PASSWORD", "DB_HOST", "WP_SITEURL", "WP_HOME", "MULTISITE", "WP_ENV", "WP_ENV"},
	"literal": {"'a'", `"b"`, "'c_'", `"d_"`, `'e' . "f"`, "'g'.'h'.'i'"},
	"text":    {"«literal»"},
	"text!": {"getenv('X')", "$_SERVER['HTTP_HOST']", `"x$table_prefix"`, `"x{$v['a']}"`, `"d\x5f"`, "$v", "$w", "$table_prefix", "DB_NAME", "(defined('WP_ENV') ? 'l' : 'm')",
		"($v ?? 'n')", "trim(' o ')", "basename(__DIR__)", "$v . $v = 'p'", "($v .= 'q')", "array('x', $table_prefix)[0]", "strtolower($table_prefix)", "($t = 'r')",
		"'s' . ($v = 't')", "(string) 12", "getenv('NOT') ?: 'u'", "include «path»", "constant('DB_USER')", "$table_prefix . ($table_prefix = 'w')",
		"$v . define('«setting»', $v = 'x')", "1", "0", "true", "false", "null", "1.5", "0x10", "'a' == 'b'", "[]", "__LINE__", "010"},
	"path": {"__DIR__ . '/«file»'", "dirname(__FILE__) . '/«file»'", "ABSPATH . '«file»'", "ABSPATH.'«file»'", "'«dir»/«file»'", "dirname(__DIR__ . '/sub') . '/' . '«file»'", "dirname(__FILE__, 1).\"/«file»\""},
	"condition": {"true", "false", "defined('«setting»')", "!defined('«setting»')", "! defined( \"«setting»\" )", "file_exists(«path»)", "!is_file(«path»)", "isset($table_prefix)", "1", "0",
		"''", "null", "is_readable(«path»)", "is_dir(__DIR__)", "'a' === 'a'", "'a' !== 'b'", "'a' == 'b'", "«conditions»", "«conditions»", "«conditions»", "«conditions»"},
	"conditions": {"«condition» && «condition»", "«condition» || «condition»", "(«condition» and «condition»)", "(«condition» or «condition»)", "!(«condition») || «condition»"},
	"condition!": {"getenv('X')", "getenv('NOT')", "isset($_SERVER['HTTP_HOST'])", "PHP_VERSION_ID > 70000", "$v == 'a'", "in_array('a', array('a', 'b'))", "empty($v)", "($x = getenv('X'))",
		"defined('WP_CLI') && WP_CLI", "$table_prefix == 'c_'", "$table_prefix === 'c_'", "defined('PHP_VERSION')", "function_exists('f')", "'1' == '01'", "0 == ''", "__LINE__ > 3",
		"(define('«setting»', 'z'))", "file_exists('a.php')", "$_SERVER['argc'] ?? false", "defined('DB_NAME') xor true", "include «path»", "($table_prefix = «literal»)", "is_readable('/etc/shadow')"},

	"define":  {"define('«setting»', «text»)"},
	"assign":  {"$table_prefix = «text»", "$table_prefix=«text»", "$v = «text»"},
	"include": {"include «path»", "include_once «path»", "@include «path»", "include_once(«path»)", "@include_once («path»)", "$v = include «path»"},
	"statement": {";", "«define»;", "«define»;", "«define»;", "«guarded»;", "«assign»;", "«assign»;", "«include»;", "«include»;", "«include»;", "function «new»() { «define»; return 1; }",
		"$table_prefix = $table_prefix . «literal»;", "error_reporting(0);", "$_SERVER['HTTPS'] = 'on';", "define('WP_DEBUG', false);", "echo 'a', 'b';",
		"«if»", "«if»", "«if»", "«if»", "«if»", "«if»", "«if»", "«if»"},
	"guarded": {"defined('«setting»') or «define»", "defined('«setting»') || «define»", "if (!defined('«setting»')) define('«setting»', «text»)", `\define("«setting»", «text»)`,
		"DeFine ( '«setting»' , «text», false )", "!defined('«setting»') && «define»", "defined('«setting»') and define('DB_NAME', «text»)"},
	"if": {"if («condition») {\n«block»}", "if («condition») {\n«block»} else {\n«block»}", "if («condition») {\n«block»} elseif («condition») {\n«block»} else {\n«block»}",
		"if («condition») {\n«block»} else if («condition») {\n«block»} else {\n«block»}", "if («condition»):\n«block»elseif («condition»):\n«block»else:\n«block»endif;",
		"if («condition») «define»;\nelse «assign»;", "if («condition») { «block» return; }", "if (false) { «block» return; }", "if («condition») { «end» }", "if (false) { «end» }", "if (false) { «end» }"},
	"end": {"die('x');", "exit;", "exit(1);", "require_once ABSPATH . 'wp-settings.php'; return;", "«block»require __DIR__ . '/missing.php';"},
	"statement!": {"foreach (['«setting»' => 'k'] as $k => $v) { define($k, $v); }", "foreach ([1, 2] as $i) { «define»; «assign»; }", "foreach ([1, 2] as $i) «define»;",
		"for ($i = 0; $i < 2; $i++): «define»; endfor;", "while (true) { «assign»; break; }", "while (getenv('X')) { return; }", "do { «assign»; } while (false);",
		"switch («text») { case 'a': «define»; break; case 'x': if (true) { «assign»; } default: «define»; }", "switch (getenv('X')): case 'x': «assign»; endswitch;",
		"switch (getenv('X')) { case 'x': return; }", "try { «define»; throw new Exception; } catch (Exception $e) { «assign»; } finally { «define»; }",
		"function «new»() { «define»; } «new»();", "«new»(); function «new»() { global $table_prefix; «assign»; }", "function «new»(&$p) { $p = 'y_'; } «new»($table_prefix);",
		"if (!function_exists('«new»')) { function «new»($k) { return $k; } } $v = «new»('a');", "$f = function() { «define»; };", "(function() use (&$table_prefix) { «assign»; })();",
		"$f = 'define'; $f('«setting»', 'v');", "'define'('«setting»', 'v');", "call_user_func('define', '«setting»', 'v');", "array_map('define', ['«setting»'], ['v']);",
		"define(value: 'v', constant_name: '«setting»');", "define(...['«setting»', 'v']);",
		"filter_var(...['x', FILTER_CALLBACK, ['options' => '«new»']]); function «new»($k) { $GLOBALS['table_prefix'] = 'y_'; return $k; }", "eval(\"define('«setting»', 'v');\");", "$name = 'table_prefix'; $$name = 'y_';",
		"${'table_prefix'} = 'y_';", "$r = &$table_prefix; $r = 'y_';", "$r = &$table_prefix; «assign»; $r = 'x_';", "$GLOBALS['table' . '_prefix'] = 'y_';",
		"$GLOBALS['table_prefix'] = «text»;", "$table_prefix .= «text»;", "list($table_prefix, $v) = ['y_', 'z'];", "[$table_prefix] = ['y_'];", "extract(['table_prefix' => 'y_']);",
		"parse_str('table_prefix=y_', $all); foreach ($all as $k => $v) { $$k = $v; }", "unset($table_prefix);", "unset($GLOBALS['table_prefix']);", "$table_prefix ??= 'y_';",
		"$table_prefix++;", "$v = $table_prefix = 'y_';", "preg_match('/./', 'y', $table_prefix);", "$t = \"{${define('«setting»', 'v')}}\";", "isset($_SERVER[define('«setting»', 'v')]);",
		"getenv('X') and «define»;", "getenv('NOT') && «assign»;", "getenv('NOT') ? «define» : «define»;", "include __DIR__ . '/' . getenv('X') . '.php';", "include 'sub/../«file»';",
		"include './«file»';", "include '«file»';", "include «path» or «define»;", "$x = include __DIR__ . '/none' . '.php' ?: «define»;",
		"class «new» { const DB_NAME = 'no'; function define() { «define»; } } new «new»;", "class «new» { static function define() { «define»; } } «new»::define();",
		"abstract class «new» { abstract function f(); const DB_NAME = 'no'; }", "#[A]\nfunction «new»() { «define»; }", "match (true) { default => «define» };", "$a = fn() => «define»;",
		"$a = [«define», 'k' => «text»];", "if (getenv('NOT')) die;", "if (getenv('NOT')) return;", "if (false): class «new» {} endif; «define»;", "$v = <<<'A'\n  define('DB_NAME', 'x');\n  A;",
		"@«define» . 'x';", "print «define» && «define»;", "true || «define» && «define»;", "false && «define» || «define»;", "!«define» && «assign»;", "$v = false or «define»;",
		"$v = true && false; $v || «define»;", "true ? «assign» : null;", "null ?? «define»;", "static $table_prefix = 'y_';", "global $table_prefix;", "declare(ticks=1) { «define»; }",
		"declare(ticks=1); «define»;", "a: «define»;", "goto «new»; «assign»; «new»: «define»;", "if (getenv('X')) { goto «new»; } «assign»; «new»: ;", "{ «define»; { «assign»; } }"},
}

var symbol = regexp.MustCompile(`«(\w+)»`)

// oddities are what stands under symbols with !, each in a statement of its own.
func oddities() []string {
	all := slices.Clone(grammar["statement!"])
	for _, text := range grammar["text!"] {
		all = append(all, "define('«setting»', "+text+");", "$table_prefix = "+text+";", "if ("+text+") «define»; else «assign»;")
	}
	for _, condition := range grammar["condition!"] {
		all = append(all, "if ("+condition+") { «define»; «assign»; } else { «assign»; }", "if (!«condition») {} elseif ("+condition+"): «define»; else: «define»; endif;",
			condition+" && «define» || «assign»;", "if ("+condition+") { return; }")
	}
	return all
}

// write makes up the program, and writes its files.
func (p *program) write(t *testing.T) {
	t.Helper()
	p.files = map[string]string{"wp-settings.php": "<?php report(__DIR__, true); exit;"}
	for _, name := range []string{"sub/c.php", "b.php", "a.php"} {
		p.files[name] = "<?php\n" + p.expand("block")
		p.included = append(p.included, name)
	}
	early, late := p.fill(p.odd)+"\n", p.fill(p.odd)+"\n"
	if p.odd != "" && p.random.IntN(4) == 0 {
		p.files["a.php"] += early + p.expand("block")
		early, late = "", "include __DIR__ . '/a.php';\n"
	}
	p.files["wp-config.php"] = p.fill(strings.NewReplacer("«early»", early, "«late»", late).Replace(grammar["config"][0]))
	writeFiles(t, p.dir, p.files)
}

func (p *program) expand(name string) string {
	p.deep++
	defer func() { p.deep-- }()
	choices := grammar[name]
	if odd := grammar[name+"!"]; len(odd) > 0 && !p.plain && p.random.IntN(4) == 0 {
		choices = odd
	}
	if p.deep > 14 {
		choices = grammar[name][:1]
	}
	return p.fill(choices[p.random.IntN(len(choices))])
}

// fill replaces the symbols in a text.
func (p *program) fill(text string) string {
	once := map[string]string{"dir": p.dir}
	return symbol.ReplaceAllStringFunc(text, func(found string) string {
		name := strings.Trim(found, "«»")
		switch text, ok := once[name]; {
		case ok:
			return text
		case name == "file":
			return append(p.included, "missing.php", "missing.php")[p.random.IntN(len(p.included)+2)]
		case name == "new":
			p.names++
			once[name] = fmt.Sprintf("f%d", p.names)
		case name == "setting":
			once[name] = p.expand(name)
		default:
			return p.expand(name)
		}
		return once[name]
	})
}

func (p *program) listing() string {
	var text strings.Builder
	for _, name := range []string{"wp-config.php", "a.php", "b.php", "sub/c.php"} {
		fmt.Fprintf(&text, "--- %s\n%s\n", name, p.files[name])
	}
	return text.String()
}
