package wpconfig

import (
	"slices"
	"strings"
)

// phpCode is the tokens of a file.
type phpCode []phpToken

// at returns the token at i, or the zero token outside of the file.
func (c phpCode) at(i int) phpToken {
	if i < 0 || i >= len(c) {
		return phpToken{}
	}
	return c[i]
}

// has reports whether the code has a word.
func (c phpCode) has(word string) bool {
	return slices.ContainsFunc(c, func(t phpToken) bool { return t.isWord(word) })
}

// script is a file while PHP runs it.
type script struct {
	*reader
	path, name string // resolved, and as in messages
	code       phpCode
	closing    []int // for each opening bracket, the index of the closing one

	returned *state // where the file returned early
	result   value
}

// body is the code of a declared function.
type body struct {
	script *script
	lo, hi int
}

var brackets = map[string]string{"(": ")", "[": "]", "{": "}", "#[": "]"}

// pair finds the closing brackets, and declares the functions of the file.
func (f *script) pair() *Error {
	f.closing = make([]int, len(f.code))
	var open []int
	for i, t := range f.code {
		switch {
		case t.kind == phpOp && brackets[t.text] != "":
			open = append(open, i)
		case t.isOp(")", "]", "}"):
			if len(open) == 0 || brackets[f.code[open[len(open)-1]].text] != t.text {
				return &Error{File: f.name, Line: t.line, Reason: "a bracket closes here that is not open"}
			}
			f.closing[open[len(open)-1]], open = i, open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return &Error{File: f.name, Line: f.code[open[len(open)-1]].line, Reason: "a bracket that opens here is not closed"}
	}
	for i := 0; i < len(f.code); i++ {
		switch name := f.declares(i); {
		case f.code[i].isWord("goto"):
			return &Error{File: f.name, Line: f.code[i].line, Reason: "goto is not followed"}
		case name == 0 || f.code.at(i-1).isOp("::"):
		case f.code[i].isWord("function"):
			declared := strings.ToLower(f.code[name].text)
			f.functions[declared] = append(f.functions[declared], body{f, f.find(name, len(f.code), "{", ";"), f.blockEnd(i, len(f.code))})
		default:
			i = f.blockEnd(i, len(f.code)) - 1 // methods are not called by their names alone
		}
	}
	return nil
}

// setsPrefix reports whether the file has code that could set the table prefix from a function.
func (f *script) setsPrefix() bool {
	for i, t := range f.code {
		switch {
		case t.isWord("global"):
			if slices.ContainsFunc(f.code[i:f.find(i, len(f.code), ";")], func(t phpToken) bool { return t.text == TablePrefix || t.isOp("$") }) {
				return true
			}
		case t.kind == phpVariable && t.text == "$GLOBALS":
			if name := f.variableAt(i, min(i+4, len(f.code))); name == "" || name == TablePrefix {
				return true
			}
		}
	}
	return false
}

func (f *script) place(i int) place { return place{f.name, f.code.at(i).line} }

// find returns the first token of these operators between lo and hi, outside of brackets; hi if there is none.
func (f *script) find(lo, hi int, operators ...string) int {
	for i := lo; i < hi; i++ {
		if f.code[i].isOp(operators...) {
			return i
		}
		i = max(i, f.closing[i])
	}
	return hi
}

// parts splits a list at an operator.
func (f *script) parts(lo, hi int, operator string) (list [][2]int) {
	for lo < hi {
		end := f.find(lo, hi, operator)
		list = append(list, [2]int{lo, end})
		lo = end + 1
	}
	return list
}

// blockEnd returns the end of a declaration: behind its block, or behind a semicolon.
func (f *script) blockEnd(i, hi int) int {
	end := f.find(i, hi, "{", ";")
	if end < hi {
		end = max(end, f.closing[end]) + 1
	}
	return end
}

// arm is a part of an if, with the condition under which it runs; that of else is empty.
type arm struct{ condition, body [2]int }

// arms returns the parts of the if at i, and its end.
func (f *script) arms(i, hi int) (list []arm, end int) {
	for {
		var next arm
		elseif := f.code[i].isWord("else") && f.code.at(i+1).isWord("if") && !f.code.at(f.closing[min(i+2, hi-1)]+1).isOp(":")
		if elseif {
			i++
		}
		if f.code[i].isWord("if", "elseif") && f.code.at(i+1).isOp("(") {
			next.condition = [2]int{i + 2, f.closing[i+1]}
			i = f.closing[i+1]
		}
		i++
		lo, alternative := i, f.code.at(i).isOp(":")
		if alternative {
			lo, i = i+1, f.listEnd(i+1, hi, "elseif", "else", "endif")
		} else {
			i = f.end(i, hi)
		}
		next.body = [2]int{lo, i}
		list = append(list, next)
		switch {
		case alternative && f.code.at(i).isWord("endif"):
			return list, min(i+2, hi)
		case i >= hi, next.condition == [2]int{}, !f.code[i].isWord("elseif", "else"):
			return list, i
		}
	}
}

// listEnd returns where the first of these words is among the statements from i on.
func (f *script) listEnd(i, hi int, words ...string) int {
	for i < hi && !f.code[i].isWord(words...) {
		i = f.end(i, hi)
	}
	return i
}

// end returns the end of the statement that begins at i.
func (f *script) end(i, hi int) int {
	if i >= hi {
		return hi
	}
	switch t := f.code[i]; {
	case t.isOp("{"), t.isOp("#["):
		return f.closing[i] + 1
	case t.isWord("if"):
		_, end := f.arms(i, hi)
		return end
	case t.isWord("while", "for", "foreach", "switch", "declare") && f.code.at(i+1).isOp("("):
		i = f.closing[i+1] + 1
		if f.code.at(i).isOp(":") {
			return min(f.listEnd(i+1, hi, "end"+t.text)+2, hi)
		}
		return f.end(i, hi)
	case t.isWord("do"):
		return f.find(f.end(i+1, hi), hi, ";") + 1
	case t.isWord("try"):
		i = f.blockEnd(i, hi)
		for f.code.at(i).isWord("catch", "finally") {
			i = f.blockEnd(i, hi)
		}
		return i
	case t.isWord("case", "default"):
		return min(f.find(i, hi, ":", ";")+1, hi)
	case f.declares(i) > 0, t.isWord("namespace"):
		return f.blockEnd(i, hi)
	}
	return min(f.find(i, hi, ";")+1, hi)
}

// declares returns where the name of the function or class is that is declared at i; 0 for none.
func (f *script) declares(i int) (name int) {
	for f.code.at(i).isWord("abstract", "final", "readonly") {
		i++
	}
	name = i + 1
	if f.code.at(name).isOp("&") {
		name++
	}
	if !f.code.at(i).isWord("function", "class", "interface", "trait", "enum") || f.code.at(name).kind != phpWord {
		return 0
	}
	return name
}

// block runs statements.
func (f *script) block(lo, hi int) {
	for lo < hi && f.state != nil {
		lo = f.statement(lo, hi)
	}
}

// statement runs the statement at i, and returns its end.
func (f *script) statement(i, hi int) int {
	end := f.end(i, hi)
	f.spend(end - i)
	switch t := f.code[i]; {
	case f.state == nil:
	case t.isOp("{"):
		f.block(i+1, end-1)
	case t.isWord("if"):
		arms, _ := f.arms(i, hi)
		f.choose(arms)
	case t.isWord("return"):
		result := f.eval(i+1, end-1)
		f.leave(result)
	case t.isWord("echo"):
		for _, part := range f.parts(i+1, end-1, ",") {
			f.eval(part[0], part[1])
		}
	case t.isWord("const"):
		for _, part := range f.parts(i+1, end-1, ",") {
			v := f.eval(part[0]+2, part[1])
			f.define(f.code[part[0]].text, v, f.place(part[0]))
		}
	case t.isOp("#["), t.isWord("global"), f.declares(i) > 0, t.isWord("use") && !f.code[i:end].has("function"):
	case t.isWord("namespace", "use"):
		f.state.hide(f.place(i)) // functions may be others than those of PHP
		f.leave(value{})
	case t.isWord("while", "for", "foreach", "switch", "do", "try", "declare"):
		f.havoc(i, end)
		if f.code[i:end].has("return") {
			after := f.state.clone()
			f.leave(value{})
			f.state = after
		}
	case f.code[end-1].isOp(";"):
		f.eval(i, end-1)
	default:
		f.give(&Error{File: f.name, Line: t.line, Reason: "a statement that begins here does not end"})
	}
	return end
}

// choose runs those parts of an if that may run.
func (f *script) choose(arms []arm) {
	var after *state
	for _, arm := range arms {
		condition := truth(true)
		if arm.condition != [2]int{} {
			condition = f.eval(arm.condition[0], arm.condition[1])
		}
		if f.state == nil {
			break
		}
		var others *state // where the condition is false
		switch {
		case condition.kind == unknown:
			others = f.fork()
		case !condition.truthy():
			continue
		}
		f.block(arm.body[0], arm.body[1])
		after, f.state = merge(after, f.state), others
	}
	f.state = merge(after, f.state)
}

// fork returns a copy of the state.
func (f *script) fork() *state {
	f.spend(len(f.state.constants) + len(f.state.variables))
	return f.state.clone()
}

// leave returns from the file.
func (f *script) leave(result value) {
	if f.returned != nil && f.result != result {
		result = value{}
	}
	f.returned, f.state, f.result = merge(f.returned, f.state), nil, result
}
