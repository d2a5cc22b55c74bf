package wpconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// reader runs a wp-config.php and what it includes, as far as what they do can be told.
type reader struct {
	state     *state             // nil where PHP does not get
	settled   *state             // where wp-settings.php, which uses the settings, is included
	stopped   *Error             // why PHP does not get further
	failed    *Error             // why the reader gives up
	steps     int                // that are left
	open      int                // files that run
	flags     int64              // of MYSQL_CLIENT_FLAGS that are named somewhere
	known     map[string]*script // by path
	functions map[string][]body  // that are declared
	running   []string           // those that are being read
	elsewhere bool               // the table prefix may be set by code that runs later, see setsPrefix

	directory string      // of the wp-config.php
	file      fs.FileInfo // which PHP can read
	here      bool        // WordPress is beside it, so it is where PHP reads it
}

// Limits that no configuration reaches.
const (
	maxSize  = 1 << 20
	maxSteps = 20_000_000
	maxOpen  = 50
)

// givenConstant are constants that PHP or WordPress may have defined before.
var givenConstant = regexp.MustCompile(`^(?:PHP|E|M|MYSQLI?|LC|CURL\w*|OPENSSL|DOING|XMLRPC|REST|IFRAME|APP)_|^(?:[A-Z]+_SEPARATOR|STD[A-Z]+|SHORTINIT|WP_(?:CLI\w*|[A-Z]*_?ADMIN|INSTALLING\w*|REPAIRING|USE_THEMES|UNINSTALL_PLUGIN|IMPORTING|LOAD_IMPORTERS))$|::|\\`)

// clientFlags are the constants for MYSQL_CLIENT_FLAGS that are about TLS. Like here, PHP verifies nothing
// unless told to.
var clientFlags = map[string]int64{"MYSQLI_CLIENT_SSL": ssl, "MYSQLI_CLIENT_SSL_VERIFY_SERVER_CERT": sslVerifies}

const (
	ssl         = 1 << 11
	sslVerifies = 1 << 30
)

// newReader returns a reader that knows what PHP knows when wp-load.php (WordPress 7.0) includes a
// wp-config.php.
func newReader(dir string, file fs.FileInfo) *reader {
	r := &reader{directory: dir, file: file, steps: maxSteps, known: map[string]*script{}, functions: map[string][]body{}}
	r.state = &state{
		constants: map[string]setting{"ABSPATH": {defined: always, why: computed}, "DIRECTORY_SEPARATOR": {value: textOf("/"), defined: always}},
		variables: map[string]setting{TablePrefix: {value: value{kind: null}, defined: always}},
		included:  map[string]certainty{},
	}
	for name, flag := range clientFlags {
		r.state.constants[name] = setting{value: value{number, fmt.Sprint(flag)}, defined: always}
	}
	core, _ := filepath.Glob(filepath.Join(escaped.Replace(dir), "wp-settings.php")) // the pattern is valid
	if len(core) == 0 {
		core, _ = filepath.Glob(filepath.Join(escaped.Replace(dir), "*", "wp-settings.php"))
	}
	r.here = len(core) > 0
	if len(core) == 1 {
		if core, err := filepath.EvalSymlinks(core[0]); err == nil {
			core = filepath.Dir(core)
			r.state.constants["ABSPATH"] = setting{value: textOf(strings.TrimSuffix(core, "/") + "/"), defined: always}
			r.state.included[filepath.Join(core, "wp-load.php")] = always
		}
	}
	return r
}

// escaped quotes what has a meaning in patterns.
var escaped = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// spend counts steps, and gives up when there are too many.
func (r *reader) spend(steps int) {
	if r.steps -= steps; r.steps < 0 {
		r.give(&Error{Reason: "has too much code"})
	}
}

func (r *reader) give(err *Error) {
	if r.failed == nil {
		r.failed = err
	}
	r.state = nil
}

// stop is for the end of PHP.
func (f *script) stop(i int, reason string) {
	at := f.place(i)
	f.state, f.stopped = nil, &Error{File: at.file, Line: at.line, Reason: reason}
}

// define defines a constant.
func (f *script) define(name string, v value, at place) value {
	if f.state == nil {
		return value{}
	}
	var flags int64
	if _, err := fmt.Sscan(v.text, &flags); name == "MYSQL_CLIENT_FLAGS" && v.kind == number && err == nil {
		f.flags |= flags
	}
	return f.state.define(name, setting{v, always, at, computed})
}

// beside returns the path of a file or directory as PHP has it; if the wp-config.php is a copy, only PHP knows it.
func (f *script) beside(path string) value {
	if !f.here {
		return value{text: path}
	}
	return textOf(path)
}

// exists returns what a function says about a path.
func (f *script) exists(function, path string) value {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.here:
		return truth(false)
	case err != nil, function == "is_readable" && !f.readable(info):
		return value{}
	case function == "is_file":
		return truth(info.Mode().IsRegular())
	}
	return truth(function != "is_dir" || info.IsDir())
}

// readable reports whether PHP can surely read a file: everybody can, or it is as accessible as the wp-config.php.
func (r *reader) readable(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o004 != 0 || sameOwners(info, r.file) && info.Mode().Perm() == r.file.Mode().Perm()
}

// include runs the file that an include or require names.
func (f *script) include(lo, hi int) value {
	path := f.eval(lo+1, hi)
	word := strings.ToLower(f.code[lo].text)
	once := strings.HasSuffix(word, "_once")
	switch {
	case f.state == nil:
		return value{}
	case path.text == "wp-settings.php", strings.HasSuffix(path.text, "/wp-settings.php"):
		f.settled, f.state = merge(f.settled, f.state), nil
		return value{}
	case path.kind != text:
		f.state.hide(f.place(lo))
		return value{}
	}
	resolved, err := f.resolve(path.text)
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(resolved)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && f.here && f.exists("is_dir", directory(path.text)).truthy(): // otherwise .. may mean more to PHP
		if strings.HasPrefix(word, "require") {
			f.stop(lo, "requires a file that does not exist")
		}
		return truth(false)
	case err != nil, !info.Mode().IsRegular(), !f.readable(info):
		f.state.hide(f.place(lo))
		return value{}
	}
	included := f.state.included[resolved]
	if once && included == always {
		return truth(true)
	}
	without := f.fork()
	result := f.run(resolved, f.place(lo))
	if once && included == perhaps {
		f.state = merge(without, f.state)
		return value{}
	}
	return result
}

// resolve returns the file that an include means. A plain relative path is that of a file beside the one that
// includes it, unless there is another one where PHP looks first: in its working directory, which depends on the
// request, and in its library.
func (f *script) resolve(path string) (string, error) {
	if strings.HasPrefix(path, "/") {
		return filepath.EvalSymlinks(path)
	}
	beside, err := filepath.EvalSymlinks(filepath.Join(directory(f.path), path))
	abspath := f.state.constant("ABSPATH").text
	for _, first := range []string{abspath, abspath + "wp-admin", f.directory, "/usr/share/php"} {
		if other, found := filepath.EvalSymlinks(filepath.Join(first, path)); found == nil && other != beside {
			err = errRelative
		}
	}
	if err != nil || strings.HasPrefix(path, ".") || strings.Contains(path, ":") || f.state.hidden != (place{}) {
		return "", errRelative
	}
	return beside, nil
}

var errRelative = errors.New("which file is meant depends on the request")

// run runs a file, and returns its result.
func (r *reader) run(path string, from place) value {
	r.state.included[path] = always
	f, err := r.load(path)
	switch {
	case err != nil:
		r.give(err)
	case r.open == maxOpen:
		r.give(&Error{File: from.file, Line: from.line, Reason: "includes too many files"})
	}
	if r.failed != nil {
		return value{}
	}
	f = &script{reader: r, path: f.path, name: f.name, code: f.code, closing: f.closing}
	r.open++
	f.block(0, len(f.code))
	r.open--
	result := f.result
	switch {
	case f.returned == nil:
		result = value{number, "1"}
	case r.state != nil:
		result = value{}
	}
	r.state = merge(r.state, f.returned)
	return result
}

// load reads a file, once.
func (r *reader) load(path string) (*script, *Error) {
	if found := r.known[path]; found != nil {
		return found, nil
	}
	src, err := readFile(path)
	if err != nil {
		return nil, &Error{File: path, Reason: "cannot be read: " + err.Error()}
	}
	return r.parse(path, path, src)
}

// parse makes the functions of a file known.
func (r *reader) parse(path, name string, src []byte) (*script, *Error) {
	code, err := phpTokens(string(src))
	f := &script{reader: r, path: path, name: name, code: code}
	if err == nil {
		err = f.pair()
	}
	if err != nil {
		err.File = name
		return nil, err
	}
	r.known[path] = f
	r.elsewhere = r.elsewhere || f.setsPrefix()
	return f, nil
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
