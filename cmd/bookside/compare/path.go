package compare

import (
	"regexp"
	"slices"
	"strconv"

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

// inside returns the location of a member of the value at this location.
func (l location) inside(v value, i int) location {
	return append(slices.Clip(l), step{v.members[i].name, v.kind == jsontext.KindBeginArray})
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// path returns the location as a JSON path with * for all elements of lists, so that the differences of all
// records at one place have one path.
func (l location) path() string {
	path := "$"
	for _, s := range l {
		switch {
		case s.element:
			path += "[*]"
		case plainName.MatchString(s.name):
			path += "." + s.name
		default:
			path += "[" + strconv.Quote(s.name) + "]"
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
