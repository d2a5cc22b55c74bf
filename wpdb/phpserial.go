package wpdb

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Limits of serialised values.
const (
	maxPHPSerial      = 4 << 20 // bytes
	maxPHPSerialDepth = 32      // arrays in arrays
	minPHPSerialPair  = len("i:0;N;")
)

// UnserializePHP parses a value written by PHP's serialize. It returns nil, bool, int64, float64, string, or for an
// array a map[any]any with keys of type int64 or string. Anything else, such as an object, a reference or data after the
// value, is an error, which never quotes the value. Values are limited to 4 MiB and 32 nested arrays.
func UnserializePHP(s string) (any, error) {
	r := phpSerialReader{s: s}
	if len(s) > maxPHPSerial {
		return nil, r.fail("longer than 4 MiB")
	}
	value, err := r.value(0)
	if err != nil {
		return nil, err
	}
	if r.pos < len(s) {
		return nil, r.fail("more after the value")
	}
	return value, nil
}

// phpArrayKey converts a string that PHP treats as an integer key.
func phpArrayKey(s string) any {
	if n, ok := parsePHPInt(s); ok {
		return n
	}
	return s
}

// parsePHPInt accepts only PHP's own format: no plus sign, no leading zeros.
func parsePHPInt(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

type phpSerialReader struct {
	s   string
	pos int
}

func (r *phpSerialReader) fail(reason string) error {
	return fmt.Errorf("serialised PHP value, offset %d: %s", r.pos, reason)
}

// value parses the next value, which is nested in depth arrays.
func (r *phpSerialReader) value(depth int) (any, error) {
	if r.skip("N;") {
		return nil, nil
	}
	kind := r.s[r.pos:min(r.pos+2, len(r.s))]
	switch kind {
	case "b:", "i:", "d:":
		return r.scalar()
	case "s:":
		return r.text()
	case "a:":
		return r.array(depth + 1)
	case "O:", "C:", "E:", "R:", "r:":
		return nil, r.fail("objects and references are not supported")
	}
	return nil, r.fail("not a value")
}

// skip moves past token if it is next.
func (r *phpSerialReader) skip(token string) bool {
	if !strings.HasPrefix(r.s[r.pos:], token) {
		return false
	}
	r.pos += len(token)
	return true
}

func (r *phpSerialReader) scalar() (any, error) {
	kind, rest := r.s[r.pos], r.s[r.pos+2:]
	text, _, ended := strings.Cut(rest, ";")
	value, ok := phpScalar(kind, text)
	if !ended || !ok {
		return nil, r.fail("not a boolean, integer or float as PHP writes it")
	}
	r.pos += len("i:;") + len(text)
	return value, nil
}

var phpFloat = regexp.MustCompile(`^(?:NAN|-?(?:INF|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?))$`)

func phpScalar(kind byte, text string) (value any, ok bool) {
	switch kind {
	case 'b':
		return text == "1", text == "0" || text == "1"
	case 'i':
		return parsePHPInt(text)
	}
	f, err := strconv.ParseFloat(text, 64)
	return f, err == nil && phpFloat.MatchString(text)
}

// length parses the length of a string or array, including the type before it
// and the opening after it.
func (r *phpSerialReader) length(opening string) (int, error) {
	text, rest, _ := strings.Cut(r.s[r.pos+len("s:"):], ":")
	n, ok := parsePHPInt(text)
	if !ok || n < 0 || n > maxPHPSerial || !strings.HasPrefix(rest, opening) {
		return 0, r.fail("not a length that is possible")
	}
	r.pos = len(r.s) - len(rest) + len(opening)
	return int(n), nil
}

// text parses a string, such as s:5:"3 " pm"; with its length in bytes: quotes in it are not escaped.
func (r *phpSerialReader) text() (string, error) {
	n, err := r.length(`"`)
	if err != nil {
		return "", err
	}
	start := r.pos
	if r.pos += n; r.pos > len(r.s) || !r.skip(`";`) {
		r.pos = start
		return "", r.fail("a string that does not end where its length says")
	}
	return r.s[start : start+n], nil
}

func (r *phpSerialReader) array(depth int) (any, error) {
	if depth > maxPHPSerialDepth {
		return nil, r.fail("more than 32 arrays deep")
	}
	n, err := r.length("{")
	if err != nil {
		return nil, err
	}
	if n > (len(r.s)-r.pos)/minPHPSerialPair {
		return nil, r.fail("an array of more pairs than can follow")
	}
	a := map[any]any{} // not preallocated: n is not trusted
	for range n {
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		value, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		a[key] = value
	}
	if !r.skip("}") {
		return nil, r.fail("an array that does not end where its length says")
	}
	return a, nil
}

func (r *phpSerialReader) key() (any, error) {
	switch {
	case strings.HasPrefix(r.s[r.pos:], "i:"):
		return r.scalar()
	case strings.HasPrefix(r.s[r.pos:], "s:"):
		text, err := r.text()
		return phpArrayKey(text), err
	}
	return nil, r.fail("not a key of an array")
}
