package wpconfig

import (
	"slices"
	"strconv"
	"strings"
)

// levels are the operators that are read, the weakest first. Of prefixes only ! is.
var levels = [][]string{{"=>"}, {"or"}, {"and"}, {"="}, {"||"}, {"&&"}, {"==", "!=", "===", "!=="}, {"."}}

// Levels; foreign is that of an expression with other operators.
const (
	assigning = 3
	foreign   = -1
)

var includes = []string{"include", "include_once", "require", "require_once"}

// greedy are words whose operand is all that follows.
var greedy = append([]string{"print", "throw", "yield", "fn", "new", "clone", "static", "function"}, includes...)

// split returns the outermost operator between lo and hi, and its level; lo if there is none.
func (f *script) split(lo, hi int) (at, level int) {
	at, level = lo, len(levels)
	for i := lo; i < hi; i = f.behind(i, hi) {
		t := f.code[i]
		switch found := slices.IndexFunc(levels, func(texts []string) bool { return t.isOp(texts...) || t.isWord(texts...) }); {
		case t.isWord(greedy...):
			return lo, foreign
		case i == lo || !f.code[i-1].endsOperand(): // an operand
			if t.kind == operator && !t.isOp("!", "(", "[") {
				return lo, foreign
			}
		case t.isOp("(", "[", "{"):
		case found < 0:
			return lo, foreign
		case found < level, found == level && level != assigning: // the first assignment is the outermost
			at, level = i, found
		}
	}
	return at, level
}

// eval returns the value of the expression between lo and hi, and does what it does.
func (f *script) eval(lo, hi int) value {
	f.spend(hi - lo)
	if f.over() || lo >= hi {
		return nil
	}
	at, level := f.split(lo, hi)
	first, call := f.code[lo], f.code[lo].kind == word && f.at(lo+1).isOp("(") && f.behind(lo+1, hi) == hi
	switch {
	case level == foreign, level == assigning:
	case at > lo:
		return f.operate(lo, at, hi)
	case first.isOp("!"):
		if v := f.eval(lo+1, hi); v != nil {
			return !truthy(v)
		}
		return nil
	case first.isWord("exit", "die") && (call || hi == lo+1):
		f.fail(f.place(lo), "ends PHP")
		return nil
	case first.isOp("(") && f.behind(lo, hi) == hi:
		return f.eval(lo+1, hi-1)
	case first.isOp("[") && f.behind(lo, hi) == hi:
		f.list(lo+1, hi-1)
		return nil
	case call:
		return f.call(lo, hi)
	case hi == lo+1 && first.kind == variable && first.text != "$GLOBALS":
		return f.variables[first.text].value
	case hi == lo+1 && first.kind == literal:
		return first.text
	case hi == lo+1 && first.kind == word:
		return f.word(first)
	}
	f.scan(lo, hi)
	return nil
}

// list evaluates the parts of a list.
func (f *script) list(lo, hi int) (values []value) {
	for _, part := range f.parts(lo, hi) {
		values = append(values, f.eval(part[0], part[1]))
	}
	return values
}

// word returns the value of a number or a constant.
func (f *script) word(t token) value {
	name := strings.TrimPrefix(t.text, `\`)
	switch strings.ToLower(name) {
	case "null":
		return null{}
	case "true":
		return true
	case "false":
		return false
	case "__file__", "__dir__":
		switch {
		case !f.here: // if the wp-config.php is a copy, only PHP knows where it is
			return nil
		case strings.EqualFold(name, "__dir__"):
			return directory(f.path)
		}
		return f.path
	}
	if n, err := strconv.ParseInt(name, 0, 64); err == nil {
		return n
	}
	return f.constant(name).value // a fraction is none
}

// operate evaluates an operator and its operands, as far as it does so.
func (f *script) operate(lo, at, hi int) value {
	left, sign := f.eval(lo, at), strings.ToLower(f.code[at].text)
	switch or := sign == "or" || sign == "||"; {
	case !or && sign != "and" && sign != "&&":
	case left == nil:
		f.scan(at+1, hi)
		return nil
	case truthy(left) == or:
		return or
	default:
		if right := f.eval(at+1, hi); right != nil {
			return truthy(right)
		}
		return nil
	}
	right := f.eval(at+1, hi)
	a, text := left.(string)
	b, texts := right.(string)
	switch {
	case left == nil, right == nil, sign == "=>":
		return nil
	case sign == ".":
		return asText(left) + asText(right)
	case len(sign) == 3, left == right:
		return (left == right) == (sign[0] == '=')
	case text && texts && (!strings.ContainsAny(a, "0123456789") || !strings.ContainsAny(b, "0123456789")): // PHP may compare numbers
		return sign == "!="
	}
	return nil
}

// call evaluates the call of a function, or what looks like one.
func (f *script) call(lo, hi int) value {
	name := f.called(lo)
	if slices.Contains(byReference, name) {
		f.scan(lo, hi)
		return nil
	}
	args := f.list(lo+2, hi-1)
	if f.over() || len(args) == 0 {
		f.calls(lo)
		return nil
	}
	first, isText := args[0].(string)
	switch {
	case name == "define" && isText && len(args) > 1:
		f.define(first, setting{value: args[1], at: f.place(lo)})
		return nil // so that the value of no expression depends on what changes within it
	case name == "defined" && isText:
		if why := f.constant(strings.TrimPrefix(first, `\`)).why; why == "" || why == undefined {
			return why == ""
		}
	case name == "isset" && len(args) == 1 && args[0] != nil:
		return args[0] != null{}
	case !strings.HasPrefix(first, "/"):
	case name == "file_exists", name == "is_file", name == "is_readable", name == "is_dir":
		return f.exists(name, first)
	case name == "dirname" && len(args) == 1:
		return directory(first)
	case name == "dirname":
		if times, ok := args[1].(int64); ok {
			for range min(max(1, times), int64(len(first))) {
				first = directory(first)
			}
			return first
		}
	}
	f.calls(lo)
	return nil
}
