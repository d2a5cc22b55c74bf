package wpconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// reader runs a wp-config.php and what it includes, up to wp-settings.php or to the first code that is beyond it.
type reader struct {
	constants map[string]setting
	variables map[string]setting // one that is missing cannot be told
	included  map[string]bool    // files
	flags     int64              // of MYSQL_CLIENT_FLAGS that are named somewhere
	steps     int                // that are left

	settled bool   // wp-settings.php, which uses the settings, is included
	beyond  place  // of code that may set anything, where the reader stops; zero for none
	failed  *Error // why there is no WordPress, or nothing can be told
	err     error  // of the first setting that cannot be told

	directory string      // of the wp-config.php
	file      fs.FileInfo // which PHP can read
	here      bool        // WordPress is beside it, so it is where PHP reads it
}

// value is what PHP has for an expression: a string, an int64, a bool or null; nil if that cannot be told.
type value any

type null struct{}

// asText returns what PHP makes of a value in a text.
func asText(v value) string {
	switch v := v.(type) {
	case string:
		return v
	case int64:
		return strconv.FormatInt(v, 10)
	case bool:
		if v {
			return "1"
		}
	}
	return ""
}

// truthy is false for a value that cannot be told.
func truthy(v value) bool { return asText(v) != "" && asText(v) != "0" }

// place is a line of a file; the file is empty for the wp-config.php itself.
type place struct {
	file string
	line int
}

// setting is a constant or a variable.
type setting struct {
	value
	at  place
	why string // it may not be defined; empty if it is
}

const (
	undefined = "is not defined"
	sometimes = "is set in some cases only, and which one holds cannot be told"
	hidden    = "may be set by what is included or runs here, which cannot be followed"
	computed  = "is computed, so that only PHP knows its value"
)

// Limits that no configuration reaches.
const (
	maxSize  = 1 << 20
	maxSteps = 20_000_000
	perFile  = maxSteps / 50
)

// givenConstant are constants that PHP or WordPress may have defined before.
var givenConstant = regexp.MustCompile(`^(?:PHP|E|M|MYSQLI|LC|CURL\w*|OPENSSL|DOING|XMLRPC|REST|IFRAME|APP)_|^(?:[A-Z]+_SEPARATOR|STD[A-Z]+|SHORTINIT|WP_(?:CLI\w*|[A-Z]*_?ADMIN|INSTALLING\w*|REPAIRING|USE_THEMES|UNINSTALL_PLUGIN|IMPORTING|LOAD_IMPORTERS))$|::|\\`)

// newReader returns a reader that knows what PHP knows when wp-load.php (WordPress 7.0) includes a wp-config.php.
func newReader(dir string, file fs.FileInfo) *reader {
	r := &reader{directory: dir, file: file, steps: maxSteps, included: map[string]bool{}}
	r.constants = map[string]setting{"ABSPATH": {}, "DIRECTORY_SEPARATOR": {value: "/"}}
	r.variables = map[string]setting{TablePrefix: {value: null{}}}
	core, _ := fs.Glob(os.DirFS(dir), "wp-settings.php") // the pattern is valid
	if len(core) == 0 {
		core, _ = fs.Glob(os.DirFS(dir), "*/wp-settings.php")
	}
	r.here = len(core) > 0
	if len(core) == 1 {
		if core, err := filepath.EvalSymlinks(filepath.Join(dir, core[0])); err == nil {
			core = directory(core)
			r.constants["ABSPATH"] = setting{value: strings.TrimSuffix(core, "/") + "/"}
			r.included[filepath.Join(core, "wp-load.php")] = true
		}
	}
	return r
}

// constant returns what is known of a constant.
func (r *reader) constant(name string) setting {
	found, ok := r.constants[name]
	switch {
	case ok:
	case r.beyond != place{}:
		return setting{at: r.beyond, why: hidden}
	case givenConstant.MatchString(name):
		return setting{why: sometimes}
	default:
		return setting{why: undefined}
	}
	return found
}

// define defines a constant, unless it is defined.
func (r *reader) define(name string, defined setting) {
	switch r.constant(name).why {
	case undefined:
		r.constants[name] = defined
	case sometimes:
		r.constants[name] = setting{at: defined.at, why: sometimes}
	}
}

// over reports whether the reader goes no further.
func (r *reader) over() bool { return r.settled || r.beyond != place{} || r.failed != nil }

// fail is for the end of PHP, and for what the reader cannot begin with.
func (r *reader) fail(at place, reason string) {
	if !r.over() {
		r.failed = &Error{File: at.file, Line: at.line, Reason: reason}
	}
}

// spend counts steps, and gives up when there are too many.
func (r *reader) spend(steps int) {
	if r.steps -= steps; r.steps < 0 {
		r.fail(place{}, "has too much code")
	}
}

// run runs a file of this path and of this name in messages.
func (r *reader) run(path, name string, src []byte) {
	r.spend(perFile)
	r.included[path] = true
	f := &script{reader: r, path: path, name: name}
	if err := f.parse(string(src)); err != nil {
		r.fail(place{name, err.Line}, err.Reason)
	}
	f.block(0, len(f.code))
}

// include runs the file that the include or require from lo to hi names.
func (f *script) include(lo, hi int) {
	statement := strings.ToLower(f.code[lo].text)
	path, known := f.eval(lo+1, hi).(string)
	last := hi - 1
	for f.code[last].isOp(")") {
		last--
	}
	if !known && f.code[last].kind == literal {
		path = "/" + f.code[last].text // in a directory that is not known
	}
	switch {
	case f.over():
		return
	case path == "wp-settings.php", strings.HasSuffix(path, "/wp-settings.php"):
		f.settled = true
		return
	case !known:
		f.stop(lo)
		return
	}
	resolved, err := f.resolve(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.here && f.exists("is_dir", directory(path)) == true: // otherwise .. may mean more to PHP
		if strings.HasPrefix(statement, "require") {
			f.fail(f.place(lo), "requires a file that does not exist")
		}
	case err != nil, f.exists("is_file", resolved) != true, f.exists("is_readable", resolved) != true:
		f.stop(lo)
	case strings.HasSuffix(statement, "_once") && f.included[resolved]:
	default:
		src, err := readFile(resolved)
		if err != nil {
			f.stop(lo)
			return
		}
		f.run(resolved, resolved, src)
	}
}

// resolve returns the file that an include means. A plain relative path is that of a file beside the one that
// includes it, unless there is another one where PHP looks first: in its working directory, which depends on the
// request, and in its library.
func (f *script) resolve(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return filepath.EvalSymlinks(path)
	}
	beside, err := filepath.EvalSymlinks(filepath.Join(directory(f.path), path))
	abspath := asText(f.constant("ABSPATH").value)
	for _, first := range []string{abspath, abspath + "wp-admin", f.directory, "/usr/share/php"} {
		if other, found := filepath.EvalSymlinks(filepath.Join(first, path)); found == nil && other != beside {
			err = fs.ErrInvalid
		}
	}
	if err != nil || strings.HasPrefix(path, ".") || strings.Contains(path, ":") {
		return "", fs.ErrInvalid // it depends on the request
	}
	return beside, nil
}

// exists returns what a function says about a path.
func (r *reader) exists(function, path string) value {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && r.here:
		return false
	case err != nil, function == "is_readable" && info.Mode().Perm()&0o004 == 0 && !sameAccess(info, r.file):
		return nil
	case function == "is_file":
		return info.Mode().IsRegular()
	}
	return function != "is_dir" || info.IsDir()
}

// sameAccess reports whether PHP, which can read the one file, can read the other.
func sameAccess(a, b fs.FileInfo) bool {
	user, group := ownersOf(a)
	otherUser, otherGroup := ownersOf(b)
	return user == otherUser && group == otherGroup && a.Mode().Perm() == b.Mode().Perm()
}

// readFile reads a file of a limited size.
func readFile(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	src, err := io.ReadAll(io.LimitReader(file, maxSize+1))
	if err = errors.Join(err, file.Close()); err == nil && len(src) > maxSize {
		err = fmt.Errorf("larger than %d bytes", maxSize)
	}
	return src, err
}

// directory returns dirname of a path.
func directory(path string) string {
	path = strings.TrimRight(path, "/")
	path = strings.TrimRight(path[:strings.LastIndexByte(path, '/')+1], "/")
	return cmp.Or(path, "/")
}
