package wpconfig

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// harmless are functions of PHP that neither define constants nor set variables nor call what does.
var harmless = setOf(`abs addslashes apache_getenv apache_setenv array_column array_combine array_diff array_fill_keys
	array_flip array_intersect array_key_exists array_keys array_merge array_pop array_push array_reverse array_search
	array_shift array_slice array_sum array_unique array_values base64_decode base64_encode basename bin2hex ceil class_exists
	count crc32 ctype_alnum ctype_alpha ctype_digit ctype_xdigit date date_default_timezone_get date_default_timezone_set
	dechex defined dirname end error_log error_reporting explode extension_loaded file file_exists file_get_contents filemtime
	filesize filter_input filter_var floatval floor flush function_exists gc_collect_cycles get_cfg_var getcwd getenv
	gethostbyname gethostname getmypid glob gmdate gmmktime hash header header_remove headers_sent hex2bin hexdec
	htmlspecialchars http_response_code ignore_user_abort implode in_array ini_get ini_set interface_exists intval ip2long
	is_array is_bool is_dir is_file is_float is_int is_link is_null is_numeric is_object is_readable is_scalar is_string
	is_writable join json_decode json_encode key ksort lcfirst long2ip ltrim max mb_http_output mb_internal_encoding mb_strlen
	mb_strpos mb_strtolower mb_strtoupper mb_substr md5 memory_get_usage microtime min mktime mt_rand nl2br number_format
	ob_end_clean ob_get_clean opcache_invalidate opcache_reset parse_ini_file parse_url pathinfo php_sapi_name php_uname
	phpversion preg_match preg_match_all preg_quote preg_replace preg_split print_r putenv rand random_bytes random_int range
	rawurldecode rawurlencode realpath reset round rtrim session_name session_start set_time_limit setcookie setlocale sha1
	sort sprintf str_contains str_ends_with str_ireplace str_pad str_repeat str_replace str_split str_starts_with strcasecmp
	strcmp strcspn stripos stripslashes stristr strlen strncasecmp strncmp strpos strrchr strrev strripos strrpos strstr
	strtok strtolower strtotime strtoupper strtr strval substr substr_count substr_replace sys_get_temp_dir time trim ucfirst
	ucwords umask uniqid urldecode urlencode usleep utf8_encode var_dump var_export version_compare`)

// byReference are those that set the variables in their last arguments, from this one on.
var byReference = map[string]int{"preg_match": 2, "preg_match_all": 2, "preg_replace": 4, "str_ireplace": 3, "str_replace": 3}

// withoutCallback is how many arguments those have that call nothing.
var withoutCallback = map[string]int{"filter_input": 3, "filter_var": 2}

// constructs are words before a bracket that call nothing.
var constructs = setOf(`and array as case catch declare default die do echo elseif else empty exit fn for foreach function if isset list
	match or print return static switch throw unset use while xor yield`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for _, word := range strings.Fields(words) {
		set[word] = true
	}
	return set
}

// called returns the name of the function that is called at i.
func (f *script) called(i int) string {
	return strings.ToLower(strings.TrimPrefix(f.code[i].text, `\`))
}

// call evaluates the call of a function, or what looks like one.
func (f *script) call(lo, hi int) value {
	name, parts := f.called(lo), f.parts(lo+2, hi-1, ",")
	for _, part := range parts {
		if f.code[part[0]].isOp("...") || f.code.at(part[0]+1).isOp(":") { // named
			f.havoc(lo, hi)
			return value{}
		}
	}
	if name == "isset" || name == "unset" {
		return f.variables(name == "unset", parts)
	}
	args := make([]value, max(2, len(parts)))
	for i, part := range parts {
		args[i] = f.eval(part[0], part[1])
		if f.state == nil {
			return value{}
		}
	}
	if len(parts) > 0 && len(f.functions[name]) == 0 {
		if v, ok := f.known(name, lo, len(parts), args); ok {
			return v
		}
	}
	first, refers := byReference[name]
	if refers || !harmless[name] && !constructs[name] {
		for _, part := range parts[min(first, len(parts)):] { // by reference, perhaps
			if variable := f.variableAt(part[0], part[1]); variable != "" {
				f.state.assign(variable, value{}, f.place(lo))
			}
		}
	}
	f.runs(lo)
	return value{}
}

// known calls a function whose effect and value the reader knows.
func (f *script) known(name string, at, count int, args []value) (v value, ok bool) {
	first := args[0]
	switch {
	case name == "define" && first.kind == text && count > 1:
		return f.define(first.text, args[1], f.place(at)), true
	case name == "defined" && first.kind == text:
		switch f.state.constant(strings.TrimPrefix(first.text, `\`)).defined {
		case never:
			return truth(false), true
		case always:
			return truth(true), true
		case perhaps:
		}
	case name == "constant" && first.kind == text:
		return f.state.constant(strings.TrimPrefix(first.text, `\`)).value, true
	case name == "empty" && first.kind != unknown:
		return truth(!first.truthy()), true
	case first.kind != text || !strings.HasPrefix(first.text, "/"):
	case name == "file_exists", name == "is_file", name == "is_readable", name == "is_dir":
		return f.exists(name, first.text), true
	case name == "realpath":
		if path, err := filepath.EvalSymlinks(first.text); err == nil {
			return textOf(path), true
		}
	case name == "dirname" && (count == 1 || args[1].kind == number):
		path := first.text
		times, _ := strconv.Atoi(args[1].text)
		for range min(max(1, times), len(path)) {
			path = directory(path)
		}
		return textOf(path), true
	}
	return value{}, false
}

// variables is isset, or unset.
func (f *script) variables(unset bool, parts [][2]int) value {
	result := truth(true)
	for _, part := range parts {
		name := f.variableAt(part[0], part[1])
		switch {
		case name == "":
			f.havoc(part[0], part[1])
			result = value{}
		case unset:
			f.state.assign(name, value{kind: null}, f.place(part[0]))
		case f.state.variable(name).kind == unknown:
			result = value{}
		case f.state.variable(name).kind == null:
			return truth(false)
		}
	}
	return result
}

// havoc is for code that the reader does not understand, and that may run any number of times.
func (f *script) havoc(lo, hi int) {
	f.spend(hi - lo)
	for i := lo; i < hi && f.state != nil; i++ {
		t, before := f.code[i], f.code.at(i-1)
		switch {
		case t.kind == phpRunning, t.isOp("->", "?->", "::", "$"), t.isWord("eval", "new", "clone", "yield"), t.isWord(includes...),
			t.isOp("(") && i > lo && before.endsOperand() && before.kind != phpWord, // the function's name is computed
			t.isWord("use") && f.code.at(i+1).isWord("function"),
			t.kind == phpVariable && t.text == "$GLOBALS" && (!f.code.at(i+1).isOp("[") || f.variableAt(i, i+4) == ""):
			f.state.hide(f.place(i))
		case t.isOp("&") && f.code.at(i+1).kind == phpVariable && (!before.endsOperand() || before.isWord("as")):
			f.state.aliased = true
		case t.kind == phpVariable && t.text == "$GLOBALS":
			f.state.assign(f.variableAt(i, i+4), value{}, f.place(i))
		case t.kind == phpVariable:
			f.state.assign(t.text, value{}, f.place(i))
		case t.kind == phpWord && before.isWord("const"), t.kind == phpWord && before.isOp(",") && f.code.at(i+1).isOp("="):
			f.maybeDefine(t.text, f.place(i))
		case t.kind == phpWord && f.code.at(i+1).isOp("("):
			f.runs(i)
		case t.kind == phpWord:
			f.flags |= clientFlags[strings.TrimPrefix(t.text, `\`)]
		}
	}
}

// runs is for a function that may be called at i.
func (f *script) runs(i int) {
	switch name := f.called(i); {
	case name == "define" && f.code.at(i+2).kind == phpString && f.code.at(i+3).isOp(","):
		f.maybeDefine(f.code[i+2].text, f.place(i))
	case name == "ini_set" && (f.code.at(i+2).kind != phpString || f.code[i+2].text == "include_path"):
		f.state.hide(f.place(i))
	case withoutCallback[name] > 0 && len(f.parts(i+2, f.closing[i+1], ",")) > withoutCallback[name]:
		f.state.hide(f.place(i))
	case len(f.functions[name]) > 0:
		if slices.Contains(f.running, name) {
			return
		}
		f.running = append(f.running, name)
		for _, body := range f.functions[name] {
			body.script.havoc(body.lo, body.hi)
		}
		f.running = f.running[:len(f.running)-1]
	case !harmless[name] && !constructs[name]:
		f.state.hide(f.place(i))
	}
}

// maybeDefine is for a constant that may be defined here.
func (f *script) maybeDefine(name string, at place) {
	with := f.state.constant(name)
	if with.defined != always {
		f.state.constants[name] = either(with, setting{defined: perhaps, at: at, why: computed})
	}
}
