package wpdb

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// PHPArray is a PHP array: pairs in insertion order, with keys of type int64 or
// string and values as described at UnserializePHP. The zero value is an empty
// array.
type PHPArray struct {
	pairs []phpPair
	index map[any]int
}

type phpPair struct{ key, value any }

// Len returns the number of pairs.
func (a *PHPArray) Len() int { return len(a.pairs) }

// All iterates over the pairs in their order.
func (a *PHPArray) All() iter.Seq2[any, any] {
	return func(yield func(key, value any) bool) {
		for _, p := range a.pairs {
			if !yield(p.key, p.value) {
				return
			}
		}
	}
}

// Index returns the value of an integer key.
func (a *PHPArray) Index(key int64) (value any, ok bool) { return a.lookup(key) }

// Get returns the value of a string key; as in PHP, "7" is the integer key 7.
func (a *PHPArray) Get(key string) (value any, ok bool) { return a.lookup(phpArrayKey(key)) }

func (a *PHPArray) lookup(key any) (value any, ok bool) {
	i, ok := a.index[key]
	if !ok {
		return nil, false
	}
	return a.pairs[i].value, true
}

// Set sets the value of a string key; as in PHP, "7" is the integer key 7.
func (a *PHPArray) Set(key string, value any) { a.set(phpArrayKey(key), value) }

// set keeps the position of a key that already exists, as PHP does.
func (a *PHPArray) set(key, value any) {
	if i, ok := a.index[key]; ok {
		a.pairs[i].value = value
		return
	}
	if a.index == nil {
		a.index = map[any]int{}
	}
	a.index[key] = len(a.pairs)
	a.pairs = append(a.pairs, phpPair{key, value})
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

// ErrPHPObject is the error for values that contain an object, an enumeration
// or a reference.
var ErrPHPObject = errors.New("objects and references are not supported")

// PHPSerialError is the position of an error in a serialised value. It never
// quotes the value.
type PHPSerialError struct {
	Offset int // in bytes
	Err    error
}

func (e *PHPSerialError) Error() string {
	return fmt.Sprintf("serialised PHP value, offset %d: %v", e.Offset, e.Err)
}

// Unwrap returns the reason.
func (e *PHPSerialError) Unwrap() error { return e.Err }

const (
	maxPHPSerial      = 4 << 20 // bytes
	maxPHPSerialDepth = 32      // arrays in arrays
	minPHPSerialPair  = len("i:0;N;")
)

// UnserializePHP parses a value written by PHP's serialize. It returns nil,
// bool, int64, float64, string or *PHPArray. Anything else, including data
// after the value, is a *PHPSerialError. Values are limited to 4 MiB and 32
// nested arrays.
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

// serializePHP is the inverse of UnserializePHP.
func serializePHP(value any) string {
	switch v := value.(type) {
	case nil:
		return "N;"
	case bool:
		if v {
			return "b:1;"
		}
		return "b:0;"
	case int64:
		return fmt.Sprintf("i:%d;", v)
	case float64:
		text := strconv.FormatFloat(v, 'E', -1, 64)
		return "d:" + strings.ToUpper(strings.TrimPrefix(text, "+")) + ";"
	case string:
		return fmt.Sprintf("s:%d:\"%s\";", len(v), v)
	case *PHPArray:
		var b strings.Builder
		fmt.Fprintf(&b, "a:%d:{", v.Len())
		for key, value := range v.All() {
			b.WriteString(serializePHP(key) + serializePHP(value))
		}
		return b.String() + "}"
	}
	panic(fmt.Sprintf("a value of type %T", value))
}

type phpSerialReader struct {
	s   string
	pos int
}

func (r *phpSerialReader) fail(reason string) error {
	return &PHPSerialError{Offset: r.pos, Err: errors.New(reason)}
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
		return nil, &PHPSerialError{Offset: r.pos, Err: ErrPHPObject}
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

var phpFloat = regexp.MustCompile(`^-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$`)

func phpScalar(kind byte, text string) (value any, ok bool) {
	switch kind {
	case 'b':
		return text == "1", text == "0" || text == "1"
	case 'i':
		return parsePHPInt(text)
	}
	switch text {
	case "INF":
		return math.Inf(1), true
	case "-INF":
		return math.Inf(-1), true
	case "NAN":
		return math.NaN(), true
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
	a := &PHPArray{} // not preallocated: n is not trusted
	for range n {
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		value, err := r.value(depth)
		if err != nil {
			return nil, err
		}
		a.set(key, value)
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
