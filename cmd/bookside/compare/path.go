package compare

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// step leads from a JSON value to one inside it: the member with a name, or the element of a list at a
// position.
type step struct {
	name    string
	element bool
}

// location is a value's place in a document.
type location []step

func (l location) member(name string) location { return append(slices.Clip(l), step{name, false}) }

func (l location) element(i int) location { return append(slices.Clip(l), step{strconv.Itoa(i), true}) }

// inside returns the location of a member of the value at this location.
func (l location) inside(v value, i int) location {
	return append(slices.Clip(l), step{v.members[i].name, v.kind == jsontext.KindBeginArray})
}

// path returns the location as a JSON path with * for all elements of lists, so that the differences of all
// records at one place have one path.
func (l location) path() string {
	starred := slices.Clone(l)
	for i := range starred {
		if starred[i].element {
			starred[i].name = "*"
		}
	}
	return starred.exact()
}

var (
	plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	escape    = strings.NewReplacer(`\`, `\\`, `'`, `\'`)
	unescape  = strings.NewReplacer(`\'`, `'`, `\"`, `"`, `\\`, `\`)
)

// exact returns the location as a JSON path.
func (l location) exact() string {
	path := "$"
	for _, s := range l {
		switch {
		case s.element:
			path += "[" + s.name + "]"
		case plainName.MatchString(s.name):
			path += "." + s.name
		default:
			path += "['" + escape.Replace(s.name) + "']"
		}
	}
	return path
}

// last returns the name of the innermost member, even for an element of a list in it.
func (l location) last() string {
	for _, s := range slices.Backward(l) {
		if !s.element {
			return s.name
		}
	}
	return ""
}

// Pattern is a JSON path that --ignore takes: $.data[*].updated_at, data[0].id, ..token,
// $['a b'].*. The leading $ may be left out. It matches a value and everything inside it.
type Pattern struct {
	text  string
	paths *regexp.Regexp // matches the exact paths
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// patternPart is the next part of a path: .name, ..name, .*, [*], [3] or ['name'].
var patternPart = regexp.MustCompile(`^(?:(\.{0,2})([^.\[\]'"*\s]+|\*)|(\.\.)?\[(?:(\*)|([0-9]+)|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\])`)

// anyStep matches a step of an exact path.
const anyStep = `(?:\.\w+|\[\d+\]|\['(?:[^'\\]|\\.)*'\])`

var errPattern = errors.New("not a JSON path such as $.data[*].updated_at")

// ParsePattern parses a JSON path.
func ParsePattern(text string) (Pattern, error) {
	rest, expression := strings.TrimPrefix(strings.TrimSpace(text), "$"), ""
	for rest != "" {
		m := patternPart.FindStringSubmatch(rest)
		if m == nil || m[2] != "" && m[1] == "" && expression != "" {
			return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
		}
		rest = rest[len(m[0]):]
		if m[1] == ".." || m[3] == ".." {
			expression += anyStep + "*"
		}
		position, err := strconv.Atoi(m[5])
		switch {
		case m[2] == "*" || m[4] == "*":
			expression += anyStep
		case m[5] == "":
			expression += regexp.QuoteMeta(location{{unescape.Replace(m[2] + m[6] + m[7]), false}}.exact()[1:])
		case err != nil:
			return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
		default:
			expression += regexp.QuoteMeta(location{}.element(position).exact()[1:])
		}
	}
	paths, err := regexp.Compile(`(?s)^\$` + expression + `(?:[.\[]|$)`)
	if err != nil || expression == "" {
		return Pattern{}, fmt.Errorf("%q is %w", text, errPattern)
	}
	return Pattern{text, paths}, nil
}

// matches reports whether the pattern matches a location or something around it.
func (p Pattern) matches(l location) bool { return p.paths.MatchString(l.exact()) }
