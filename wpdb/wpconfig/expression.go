package wpconfig

import (
	"slices"
	"strconv"
	"strings"
)

// levels are PHP's operators, the weakest first. Of prefixes only ! is read.
var levels = [][]string{
	{"or"}, {"xor"}, {"and"},
	{"=", ".=", "??=", "+=", "-=", "*=", "/=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>="},
	{"?"}, {"??"}, {"||"}, {"&&"}, {"|"}, {"^"}, {"&"},
	{"==", "!=", "<>", "===", "!=="}, {"<", "<=", ">", ">=", "<=>"},
	{"."}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"},
}

// fromTheLeft are operators of which the first one is the outermost.
var fromTheLeft = slices.Concat(levels[3], levels[4], levels[5])

var includes = []string{"include", "include_once", "require", "require_once"}

// greedy are words whose operand is all that follows.
var greedy = append([]string{"print", "throw", "yield", "fn", "new", "clone", "static", "function"}, includes...)

// split returns the outermost operator between lo and hi.
func (f *script) split(lo, hi int) (at int, ok bool) {
	level := len(levels)
	for i := lo; i < hi; i++ {
		t := f.code[i]
		if t.isWord(greedy...) {
			break
		}
		if i > lo && f.code[i-1].endsOperand() {
			for n, operators := range levels[:min(level+1, len(levels))] {
				if (t.isOp(operators...) || n < 3 && t.isWord(operators...)) && (n < level || !t.isOp(fromTheLeft...)) {
					at, level = i, n
					break
				}
			}
		}
		i = max(i, f.closing[i])
	}
	return at, at > 0
}

// eval returns the value of the expression between lo and hi, and does what it does.
func (f *script) eval(lo, hi int) value {
	f.spend(hi - lo)
	if f.state == nil || lo >= hi {
		return value{}
	}
	first := f.code[lo]
	if first.isWord(includes...) {
		return f.include(lo, hi)
	}
	if at, ok := f.split(lo, hi); ok {
		return f.operate(lo, at, hi)
	}
	wrapped := f.closing[lo] == hi-1
	switch {
	case first.isOp("!"):
		if v := f.eval(lo+1, hi); v.kind != unknown {
			return truth(!v.truthy())
		}
		return value{}
	case first.isWord("print"):
		f.eval(lo+1, hi)
		return value{number, "1"}
	case first.isWord("exit", "die", "throw"):
		f.eval(lo+1, hi)
		f.stop(lo, "ends PHP")
		return value{}
	case first.isOp("(") && wrapped:
		return f.eval(lo+1, hi-1)
	case first.isOp("[") && wrapped, first.isWord("array") && f.code.at(lo+1).isOp("(") && f.closing[lo+1] == hi-1:
		if first.isWord("array") {
			lo++
		}
		f.list(lo+1, hi-1)
		return value{}
	case first.kind == phpWord && f.code.at(lo+1).isOp("(") && f.closing[lo+1] == hi-1:
		return f.call(lo, hi)
	case f.variableAt(lo, hi) != "":
		return f.state.variable(f.variableAt(lo, hi)).value
	case hi == lo+1 && first.kind == phpString:
		return textOf(first.text)
	case hi == lo+1 && first.kind == phpWord:
		return f.word(first)
	}
	f.havoc(lo, hi)
	return value{}
}

// list evaluates the parts of an array.
func (f *script) list(lo, hi int) {
	for _, part := range f.parts(lo, hi, ",") {
		for _, side := range f.parts(part[0], part[1], "=>") {
			f.eval(side[0], side[1])
		}
	}
}

// variableAt returns the name of the variable that an expression consists of; empty for none.
func (f *script) variableAt(lo, hi int) string {
	t := f.code[lo]
	switch {
	case t.kind != phpVariable:
	case hi == lo+1:
		return t.text
	case t.text == "$GLOBALS" && hi == lo+4 && f.code.at(lo+1).isOp("[") && f.closing[lo+1] == lo+3 && f.code[lo+2].kind == phpString:
		return "$" + f.code[lo+2].text
	}
	return ""
}

// word returns the value of a number or a constant.
func (f *script) word(t phpToken) value {
	name := strings.TrimPrefix(t.text, `\`)
	switch strings.ToLower(name) {
	case "null":
		return value{kind: null}
	case "true":
		return truth(true)
	case "false":
		return truth(false)
	case "__line__":
		return value{number, strconv.Itoa(t.line)}
	case "__file__":
		return f.beside(f.path)
	case "__dir__":
		return f.beside(directory(f.path))
	}
	if strings.IndexAny(name, "0123456789.") == 0 {
		n, err := strconv.ParseInt(name, 0, 64)
		if err != nil {
			return value{} // a fraction, or too large
		}
		return value{number, strconv.FormatInt(n, 10)}
	}
	f.flags |= clientFlags[name]
	return f.state.constant(name).value
}

// operate evaluates an operator and its operands, as far as it does so.
func (f *script) operate(lo, at, hi int) value {
	operator := f.code[at]
	switch {
	case operator.isOp(levels[3]...):
		return f.assign(lo, at, hi)
	case operator.isOp("?"):
		return f.ternary(lo, at, hi)
	}
	left := f.eval(lo, at)
	if f.state == nil {
		return value{}
	}
	switch {
	case operator.isOp("||"), operator.isWord("or"):
		return f.logical(left, true, at+1, hi)
	case operator.isOp("&&"), operator.isWord("and"):
		return f.logical(left, false, at+1, hi)
	case operator.isOp("??") && left.kind == null:
		return f.eval(at+1, hi)
	case operator.isOp("??") && left.kind != unknown:
		return left
	case operator.isOp("??"):
		f.maybe(at+1, hi)
		return value{}
	}
	right := f.eval(at+1, hi)
	if f.variableAt(lo, at) != "" && f.state != nil {
		left = f.eval(lo, at) // PHP reads a variable when it has both operands
	}
	known := left.kind != unknown && right.kind != unknown
	switch {
	case operator.isOp("."):
		return left.concat(right)
	case operator.isOp("===") && known:
		return truth(left == right)
	case operator.isOp("!==") && known:
		return truth(left != right)
	case operator.isOp("==", "!=", "<>") && known && left.kind == right.kind && !numeric(left, right):
		return truth((left == right) == operator.isOp("=="))
	}
	return value{}
}

// numeric reports whether PHP may compare two texts as numbers.
func numeric(a, b value) bool {
	digits := func(v value) bool { return v.kind == text && strings.ContainsAny(v.text, "0123456789") }
	return digits(a) && digits(b) && a != b
}

// logical evaluates the second operand of a logical operator, unless the first one decides it.
func (f *script) logical(left value, or bool, lo, hi int) value {
	switch {
	case left.kind == unknown:
		f.maybe(lo, hi)
		return value{}
	case left.truthy() == or:
		return truth(or)
	}
	if v := f.eval(lo, hi); v.kind != unknown {
		return truth(v.truthy())
	}
	return value{}
}

// maybe evaluates an expression that may be left out.
func (f *script) maybe(lo, hi int) {
	without := f.fork()
	f.eval(lo, hi)
	f.state = merge(without, f.state)
}

func (f *script) ternary(lo, at, hi int) value {
	colon := f.find(at+1, hi, ":", "?")
	if colon == hi || f.code[colon].isOp("?") { // older versions of PHP nest them otherwise
		f.havoc(lo, hi)
		return value{}
	}
	condition := f.eval(lo, at)
	switch {
	case f.state == nil:
	case condition.kind == unknown:
		before := f.fork()
		f.eval(at+1, colon)
		then := f.state
		f.state = before
		f.eval(colon+1, hi)
		f.state = merge(then, f.state)
	case !condition.truthy():
		return f.eval(colon+1, hi)
	case colon == at+1:
		return condition
	default:
		return f.eval(at+1, colon)
	}
	return value{}
}

func (f *script) assign(lo, at, hi int) value {
	name := f.variableAt(lo, at)
	element := f.code[lo].kind == phpVariable && f.find(lo+1, at, "->", "?->", "::", "[") == lo+1 && f.code[lo+1].isOp("[") && f.closing[lo+1] == at-1
	if name == "" && !element || f.code.at(at+1).isOp("&") {
		f.havoc(lo, hi)
		return value{}
	}
	if name == "" {
		f.havoc(lo, at)
		f.eval(at+1, hi)
		return value{}
	}
	v, old := value{}, f.state.variable(name).value
	switch operator := f.code[at]; {
	case operator.isOp("="), operator.isOp("??=") && old.kind == null:
		v = f.eval(at+1, hi)
	case operator.isOp("??=") && old.kind != unknown:
		return old
	case operator.isOp(".="):
		if v = f.eval(at+1, hi); f.state != nil {
			v = f.state.variable(name).concat(v)
		}
	default:
		f.maybe(at+1, hi)
	}
	if f.state != nil {
		f.state.assign(name, v, f.place(lo))
	}
	return v
}
