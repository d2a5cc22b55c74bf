package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// step leads from a JSON value to one inside it: to the member with a name, or to an element
// of a list.
type step struct {
	name    string
	element bool
	index   int // of an element
}

// location is where a value stands in a document.
type location []step

func (l location) member(name string) location { return append(slices.Clip(l), step{name: name}) }
func (l location) element(i int) location {
	return append(slices.Clip(l), step{element: true, index: i})
}

// path returns the location as a JSON path with * for all elements of lists: the differences
// of all records at one place have one path.
func (l location) path() string {
	return l.format(func(step) string { return "[*]" })
}

// exact returns the location as a JSON path.
func (l location) exact() string {
	return l.format(func(s step) string { return "[" + strconv.Itoa(s.index) + "]" })
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (l location) format(element func(step) string) string {
	var b strings.Builder
	b.WriteByte('$')
	for _, s := range l {
		switch {
		case s.element:
			b.WriteString(element(s))
		case plainName.MatchString(s.name):
			b.WriteString("." + s.name)
		default:
			b.WriteString("['" + strings.ReplaceAll(s.name, "'", `\'`) + "']")
		}
	}
	return b.String()
}

// last returns the name of the innermost member, also for an element of a list in it.
func (l location) last() string {
	for i := len(l) - 1; i >= 0; i-- {
		if !l[i].element {
			return l[i].name
		}
	}
	return ""
}

// Pattern is a JSON path that --ignore takes: $.data[*].updated_at, data[0].id, ..token,
// $['a b'].*. The leading $ may be left out. It matches a value and everything inside it.
type Pattern struct {
	text  string
	steps []patternStep
}

type patternStep struct {
	deep  bool // at any depth below
	any   bool // whatever name or index
	one   step
	index bool // one is an element
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// patternPart is the next part of a path: .name, ..name, .*, [*], [3] or ['name'].
var patternPart = regexp.MustCompile(`^(?:(\.{0,2})([^.\[\]'"*\s]+|\*)|(\.\.)?\[(?:(\*)|([0-9]+)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\])`)

var errPattern = errors.New("not a JSON path such as $.data[*].updated_at")

// ParsePattern parses a JSON path.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: text}
	rest := strings.TrimPrefix(strings.TrimSpace(text), "$")
	for first := true; rest != ""; first = false {
		m := patternPart.FindStringSubmatch(rest)
		if m == nil || m[2] != "" && m[1] == "" && !first {
			return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
		}
		rest = rest[len(m[0]):]
		s := patternStep{deep: m[1] == ".." || m[3] == ".."}
		switch {
		case m[2] == "*" || m[4] == "*":
			s.any = true
		case m[5] != "":
			n, err := strconv.Atoi(m[5])
			if err != nil {
				return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
			}
			s.one, s.index = step{element: true, index: n}, true
		default:
			s.one.name = m[2] + unquote.Replace(m[6]+m[7])
		}
		p.steps = append(p.steps, s)
	}
	if len(p.steps) == 0 {
		return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
	}
	return p, nil
}

var unquote = strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\\`, `\`)

// matches reports whether a location is what the pattern names, or is inside of it.
func (p Pattern) matches(l location) bool { return matchSteps(p.steps, l) }

func matchSteps(steps []patternStep, l location) bool {
	if len(steps) == 0 {
		return true
	}
	if len(l) == 0 {
		return false
	}
	if steps[0].fits(l[0]) && matchSteps(steps[1:], l[1:]) {
		return true
	}
	return steps[0].deep && matchSteps(steps, l[1:])
}

func (s patternStep) fits(at step) bool {
	switch {
	case s.any:
		return true
	case s.index:
		return at.element && at.index == s.one.index
	default:
		return !at.element && at.name == s.one.name
	}
}
