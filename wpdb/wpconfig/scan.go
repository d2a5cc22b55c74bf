package wpconfig

import (
	"slices"
	"strings"
)

// harmless are functions of PHP that neither define constants nor set variables nor call what does, and words before a
// bracket that call nothing.
var harmless = strings.Fields(`abs addslashes apache_getenv apache_setenv array_column array_combine array_diff array_fill_keys
	array_flip array_intersect array_key_exists array_keys array_merge array_pop array_push array_reverse array_search
	array_shift array_slice array_sum array_unique array_values base64_decode base64_encode basename bin2hex ceil class_exists
	constant count crc32 ctype_alnum ctype_alpha ctype_digit ctype_xdigit date date_default_timezone_get
	date_default_timezone_set dechex defined dirname end error_log error_reporting explode extension_loaded file file_exists
	file_get_contents filemtime filesize filter_input filter_var floatval floor flush function_exists gc_collect_cycles
	get_cfg_var getcwd getenv gethostbyname gethostname getmypid glob gmdate gmmktime hash header header_remove headers_sent
	hex2bin hexdec htmlspecialchars http_response_code ignore_user_abort implode in_array ini_get ini_set interface_exists
	intval ip2long is_array is_bool is_dir is_file is_float is_int is_link is_null is_numeric is_object is_readable is_scalar
	is_string is_writable join json_decode json_encode key ksort lcfirst long2ip ltrim max mb_http_output mb_internal_encoding
	mb_strlen mb_strpos mb_strtolower mb_strtoupper mb_substr md5 memory_get_usage microtime min mktime mt_rand nl2br
	number_format ob_end_clean ob_get_clean opcache_invalidate opcache_reset parse_ini_file parse_url pathinfo php_sapi_name
	php_uname phpversion preg_match preg_match_all preg_quote preg_replace preg_split print_r putenv rand random_bytes
	random_int range rawurldecode rawurlencode realpath reset round rtrim session_name session_start set_time_limit setcookie
	setlocale sha1 sort sprintf str_contains str_ends_with str_ireplace str_pad str_repeat str_replace str_split
	str_starts_with strcasecmp strcmp strcspn stripos stripslashes stristr strlen strncasecmp strncmp strpos strrchr strrev
	strripos strrpos strstr strtok strtolower strtotime strtoupper strtr strval substr substr_count substr_replace
	sys_get_temp_dir time trim ucfirst ucwords umask uniqid urldecode urlencode usleep utf8_encode var_dump var_export
	version_compare and array as case catch declare default die do echo elseif else empty exit fn for foreach function if isset
	list match or print return static switch throw unset use while xor`)

// byReference are those that may set variables in their arguments.
var byReference = strings.Fields(`preg_match preg_match_all preg_replace str_ireplace str_replace unset`)

// withoutCallback is how many arguments those have that call nothing.
var withoutCallback = map[string]int{"filter_input": 3, "filter_var": 2}

// called returns the name of the function that is called at i.
func (f *script) called(i int) string {
	return strings.ToLower(strings.TrimPrefix(f.code[i].text, `\`))
}

// scan is for code that is not evaluated: it may run any number of times, or not at all.
func (f *script) scan(lo, hi int) {
	within := lo // the end of a function that does not run here
	for i := lo; i < hi && !f.over(); i++ {
		t, before := f.code[i], f.at(i-1)
		switch {
		case t.isOp("->", "?->", "::", "$", "..."), t.isWord("eval", "new", "clone", "yield", "goto"), t.isWord(includes...),
			t.isWord("return") && i >= within,
			t.isOp("(") && i > lo && before.endsOperand() && before.kind != word, // the function's name is computed
			t.isOp("&") && f.at(i+1).kind == variable && (!before.endsOperand() || before.isWord("as")),
			t.text == "$GLOBALS":
			f.stop(i)
		case t.isWord("function"):
			within = max(within, f.behind(f.find(i, hi, "{"), hi))
		case t.kind == variable:
			f.variables[t.text] = setting{at: f.place(i)}
		case t.kind == word && f.at(i+1).isOp("(") && !before.isWord("function"):
			f.calls(i)
		}
	}
}

// calls is for a function that may be called at i.
func (f *script) calls(i int) {
	name, args := f.called(i), f.parts(i+2, f.closing[i+1])
	first := f.at(i + 2)
	switch {
	case name == "define" && first.kind == literal && f.at(i+3).isOp(","):
		f.define(first.text, setting{at: f.place(i), why: sometimes})
	case !slices.Contains(harmless, name),
		name == "ini_set" && (first.kind != literal || first.text == "include_path"),
		withoutCallback[name] > 0 && len(args) > withoutCallback[name]:
		f.stop(i)
	}
}
