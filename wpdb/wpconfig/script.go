package wpconfig

import "strings"

// script is a file while PHP runs it.
type script struct {
	*reader
	path, name string // resolved, and as in messages
	code       []token
	closing    []int // for each opening bracket, the index of the closing one
	returned   bool
}

// over reports whether the file is not run any further.
func (f *script) over() bool { return f.returned || f.reader.over() }

// at returns the token at i, or the zero token outside of the file.
func (f *script) at(i int) token {
	if i < 0 || i >= len(f.code) {
		return token{}
	}
	return f.code[i]
}

func (f *script) place(i int) place { return place{f.name, f.at(i).line} }

// stop ends the reading at code that may set anything.
func (f *script) stop(i int) {
	if !f.over() {
		f.beyond = f.place(i)
	}
}

var brackets = map[string]string{"(": ")", "[": "]", "{": "}"}

// parse finds the closing brackets, and the flags that are named.
func (f *script) parse(src string) (err *Error) {
	if f.code, err = tokens(src); err != nil {
		return err
	}
	f.closing = make([]int, len(f.code))
	var open []int
	for i, t := range f.code {
		switch {
		case t.kind == operator && brackets[t.text] != "":
			open = append(open, i)
		case t.isOp(")", "]", "}"):
			if len(open) == 0 || brackets[f.code[open[len(open)-1]].text] != t.text {
				return &Error{Line: t.line, Reason: "a bracket closes here that is not open"}
			}
			f.closing[open[len(open)-1]], open = i, open[:len(open)-1]
		case t.kind == word:
			f.flags |= clientFlags[strings.TrimPrefix(t.text, `\`)]
		}
	}
	if len(open) > 0 {
		return &Error{Line: f.code[open[len(open)-1]].line, Reason: "a bracket that opens here is not closed"}
	}
	return nil
}

// find returns the first token of this operator between lo and hi, outside of brackets; hi if there is none.
func (f *script) find(lo, hi int, operator string) int {
	for i := lo; i < hi; i++ {
		if f.code[i].isOp(operator) {
			return i
		}
		i = max(i, f.closing[i])
	}
	return hi
}

// parts splits a list at its commas.
func (f *script) parts(lo, hi int) (list [][2]int) {
	for lo < hi {
		end := f.find(lo, hi, ",")
		list = append(list, [2]int{lo, end})
		lo = end + 1
	}
	return list
}

// behind returns where the brackets that open at i close, and the next token is.
func (f *script) behind(i, hi int) int {
	if i >= hi {
		return hi
	}
	return max(i, f.closing[i]) + 1
}

// end returns the end of the statement that begins at i. It stops the reading at what it does not know.
func (f *script) end(i, hi int) int {
	t, block := f.at(i), f.behind(i+1, hi)
	switch {
	case t.isOp("{"):
		return f.behind(i, hi)
	case t.isWord("if"):
		return f.branches(i, hi, true)
	case t.isWord("function") && f.at(i+1).kind == word:
		return f.behind(f.find(i, hi, "{"), hi)
	case t.isWord(loops...) && f.at(block).isOp("{"):
		return f.behind(block, hi)
	case t.isWord(loops...) && (!t.isWord("declare") || !f.at(block).isOp(";")), t.isWord(others...),
		t.kind == word && f.at(i+1).isOp(":"):
		f.stop(i)
		return hi
	}
	return f.behind(f.find(i, hi, ";"), hi)
}

// Statements that are not evaluated, or beyond the reader.
var (
	loops  = []string{"while", "for", "foreach", "switch", "declare"}
	others = []string{"do", "goto", "try", "class", "interface", "trait", "enum", "abstract", "final", "readonly", "namespace", "use", "function"}
)

// block runs statements.
func (f *script) block(lo, hi int) {
	for lo < hi && !f.over() {
		lo = f.statement(lo, hi)
	}
}

// statement runs the statement at i, and returns its end.
func (f *script) statement(i, hi int) int {
	t := f.code[i]
	if t.isWord("if") {
		return f.branches(i, hi, false)
	}
	end := f.end(i, hi)
	f.spend(end - i)
	switch {
	case f.over(), t.isWord("global", "function"):
	case t.isOp("{"):
		f.block(i+1, end-1)
	case t.isWord(loops...):
		f.scan(i, end)
	case !f.code[end-1].isOp(";"):
		f.fail(f.place(i), "a statement that begins here does not end")
	case t.isWord("return"):
		f.perform(i+1, end-1)
		f.returned = true
	case t.isWord("const"):
		for _, part := range f.parts(i+1, end-1) {
			f.define(f.code[part[0]].text, setting{value: f.eval(part[0]+2, part[1]), at: f.place(part[0])})
		}
	default:
		f.perform(i, end-1)
	}
	return end
}

// branches runs the if at i, and returns its end. Whether a branch has run before, or none shall, is in ran; it is
// nil if that cannot be told.
func (f *script) branches(i, hi int, ran value) (end int) {
	for {
		condition, otherwise := value(true), f.at(i).isWord("else")
		if !otherwise {
			behind := f.behind(i+1, hi)
			switch ran {
			case false:
				condition = f.eval(i+2, behind-1)
			case nil:
				f.scan(i+2, behind-1)
			}
			i = behind - 1
		}
		lo, colon := i+1, f.at(i+1).isOp(":")
		if colon {
			lo++
		}
		i = f.end(lo, hi)
		for colon && i < hi && !f.code[i].isWord("elseif", "else", "endif") {
			i = f.end(i, hi)
		}
		f.spend(i - lo)
		switch {
		case ran == true, condition != nil && !truthy(condition):
		case ran == false && condition != nil:
			f.block(lo, i)
			ran = true
		default:
			f.scan(lo, i)
			ran = nil
		}
		switch {
		case colon && f.at(i).isWord("endif"):
			return min(i+2, hi)
		case i >= hi, otherwise, !f.code[i].isWord("elseif", "else"):
			return i
		case f.at(i).isWord("else") && f.at(i+1).isWord("if"):
			i++
		}
	}
}

// perform evaluates a statement of one expression, which may be an include or an assignment.
func (f *script) perform(lo, hi int) {
	at, level := f.split(lo, hi)
	switch {
	case lo >= hi:
	case f.code[lo].isWord(includes...):
		f.include(lo, hi)
	case f.code[lo].kind == variable && f.at(lo+1).isOp("=") && f.at(lo+2).isWord(includes...):
		f.include(lo+2, hi)
		f.variables[f.code[lo].text] = setting{at: f.place(lo)}
	case f.code[lo].kind != variable, level != assigning, at != lo+1:
		f.eval(lo, hi)
	default:
		f.variables[f.code[lo].text] = setting{value: f.eval(at+1, hi), at: f.place(lo)}
	}
}
