package wpconfig

import (
	"cmp"
	"maps"
	"strings"
)

// value is what PHP has for an expression.
type value struct {
	kind valueKind
	text string // what PHP makes of it in a text; of one that cannot be told, how it ends, as far as that can
}

type valueKind byte

const (
	unknown valueKind = iota
	null
	boolean
	number
	text
)

func textOf(s string) value { return value{text, s} }

func truth(b bool) value {
	if b {
		return value{boolean, "1"}
	}
	return value{kind: boolean}
}

// truthy is false for a value that cannot be told.
func (v value) truthy() bool { return v.kind != unknown && v.text != "" && v.text != "0" }

func (v value) concat(w value) value {
	switch {
	case w.kind == unknown:
		return w
	case v.kind == unknown:
		return value{text: v.text + w.text}
	}
	return textOf(v.text + w.text)
}

// place is a line of a file; the file is empty for the wp-config.php itself.
type place struct {
	file string
	line int
}

// certainty is whether a constant is defined.
type certainty byte

const (
	never certainty = iota
	perhaps
	always
)

// setting is a constant or a variable. Its value is the one that it has if it is defined.
type setting struct {
	value
	defined certainty
	at      place
	why     string // its value cannot be told
}

const (
	computed  = "is computed, so that only PHP knows its value"
	differing = "is not the same in all cases, and which one holds cannot be told"
	hidden    = "may be set by what is included or runs here, which cannot be followed"
)

// known returns the text of a value, empty if it cannot be told.
func (s setting) known() string {
	if s.kind == unknown {
		return ""
	}
	return s.text
}

// either returns what is known of a setting that is one of two.
func either(a, b setting) setting {
	if a.defined == never {
		a, b = b, a
	}
	if b.defined == never {
		a.defined = min(a.defined, perhaps)
		return a
	}
	merged := a
	merged.defined = min(a.defined, b.defined)
	switch {
	case a.value == b.value:
	case a.kind == unknown:
		merged.value = value{}
	case b.kind == unknown:
		merged.value, merged.at, merged.why = value{}, b.at, b.why
	default:
		merged.value, merged.why = value{}, differing
		if b.at.line > a.at.line {
			merged.at = b.at
		}
	}
	return merged
}

// state is what PHP knows at a point of the program.
type state struct {
	constants map[string]setting
	variables map[string]setting   // one that is missing cannot be told
	included  map[string]certainty // files
	hidden    place                // of code that may have defined anything; zero for none
	aliased   bool                 // variables may share their values
}

func (s *state) clone() *state {
	c := *s
	c.constants, c.variables, c.included = maps.Clone(s.constants), maps.Clone(s.variables), maps.Clone(s.included)
	return &c
}

// merge returns what is known after either of two ways; nil is a way that is not gone.
func merge(a, b *state) *state {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	merged := a.clone()
	merged.hidden, merged.aliased = cmp.Or(a.hidden, b.hidden), a.aliased || b.aliased
	for _, s := range []*state{a, b} {
		for name := range s.constants {
			merged.constants[name] = either(a.constant(name), b.constant(name))
		}
		for name := range s.variables {
			merged.variables[name] = either(a.variable(name), b.variable(name))
		}
		for file := range s.included {
			merged.included[file] = either(setting{defined: a.included[file]}, setting{defined: b.included[file]}).defined
		}
	}
	return merged
}

func (s *state) constant(name string) setting {
	found, ok := s.constants[name]
	switch {
	case ok:
		return found
	case s.hidden != place{}:
		return setting{defined: perhaps, at: s.hidden, why: hidden}
	case givenConstant.MatchString(name):
		return setting{defined: perhaps, why: computed}
	}
	return setting{}
}

// define defines a constant, and returns what PHP's define does.
func (s *state) define(name string, defined setting) value {
	switch found := s.constant(name); found.defined {
	case always:
		return truth(false)
	case perhaps:
		found.defined = always
		s.constants[name] = either(found, defined)
		return value{}
	default:
		s.constants[name] = defined
		return truth(true)
	}
}

func (s *state) variable(name string) setting {
	found, ok := s.variables[name]
	if !ok || s.aliased {
		return setting{defined: always, at: cmp.Or(found.at, s.hidden), why: computed}
	}
	return found
}

func (s *state) assign(name string, v value, at place) {
	s.variables[name] = setting{v, always, at, computed}
}

// hide is for code that cannot be followed: it may set every variable and define what is not yet defined.
func (s *state) hide(at place) {
	s.hidden = cmp.Or(s.hidden, at)
	for name, found := range s.constants {
		if found.defined == perhaps {
			s.constants[name] = setting{defined: perhaps, at: at, why: hidden}
		}
	}
	for name := range s.variables {
		s.variables[name] = setting{defined: always, at: at, why: hidden}
	}
}

// directory returns dirname of a path.
func directory(path string) string {
	path = strings.TrimRight(path, "/")
	path = strings.TrimRight(path[:strings.LastIndexByte(path, '/')+1], "/")
	return cmp.Or(path, "/")
}
