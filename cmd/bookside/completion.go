package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

const aboutCompletion = `Prints a script with which a shell, bash, zsh or fish, completes commands, flags and settings. The
packages install it. Elsewhere:

  bookside completion bash > /etc/bash_completion.d/bookside
  bookside completion zsh > /usr/local/share/zsh/site-functions/_bookside
  bookside completion fish > ~/.config/fish/completions/bookside.fish`

// completionScripts returns what makes a script from the command table, by shell.
func completionScripts() map[string]func([]completedCommand) string {
	return map[string]func([]completedCommand) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
}

func (p *program) completion(*flag.FlagSet) action {
	return func(_ context.Context, operands []string) error {
		script, ok := completionScripts()[operands[0]]
		if !ok {
			return usageErrorf("SHELL: write %s", strings.Join(completedShells(), ", "))
		}
		return p.print(script(completedCommands()))
	}
}

func completedShells() []string { return slices.Sorted(maps.Keys(completionScripts())) }

// completedCommand is what a shell knows about a command.
type completedCommand struct {
	name, summary string
	operand       valueKind
	operands      []string // words that its operand can be
	flags         []completedFlag
}

type completedFlag struct {
	name, usage string
	operand     string // such as FILE; empty if it takes no value
	kind        valueKind
}

// valueKind says how a shell completes the value of a flag or an operand.
type valueKind int

const (
	noValue valueKind = iota
	freeText
	fileName
	directoryName
	settingName
)

func kindOf(operand string) valueKind {
	switch strings.Trim(operand, "[…]") {
	case "":
		return noValue
	case "FILE", "FILES", "PATH":
		return fileName
	case "DIRECTORY":
		return directoryName
	case "KEY=VALUE":
		return settingName
	default:
		return freeText
	}
}

func completedCommands() (list []completedCommand) {
	for _, c := range commands() {
		completed := completedCommand{name: c.name, summary: c.summary, operand: kindOf(c.operands)}
		if c.operands == "SHELL" {
			completed.operands = completedShells()
		}
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		c.prepare(&program{}, flags)
		flags.VisitAll(func(f *flag.Flag) {
			operand, usage := flag.UnquoteUsage(f)
			completed.flags = append(completed.flags, completedFlag{f.Name, usage, operand, kindOf(operand)})
		})
		completed.flags = append(completed.flags, completedFlag{name: "help", usage: "print this help"})
		list = append(list, completed)
	}
	return list
}

// word is a word that can follow others on the command line.
type word struct{ text, summary string }

// nextWords returns the words that lead to commands, by the words before them.
func nextWords(commands []completedCommand) (next map[string][]word, groups []string) {
	next = map[string][]word{}
	for _, c := range commands {
		group, second, two := strings.Cut(c.name, " ")
		if !two {
			next[""] = append(next[""], word{c.name, c.summary})
			continue
		}
		if next[group] == nil {
			groups = append(groups, group)
			next[""] = append(next[""], word{group, strings.ReplaceAll(strings.Join(commandNames(group+" "), ", "), group+" ", "")})
		}
		next[group] = append(next[group], word{second, c.summary})
	}
	next[""] = append(next[""], word{"help", "explain a command, or all settings"})
	next["help"] = append(slices.Clone(next[""]), word{"config", "list all settings"})
	return next, groups
}

func texts(words []word) (list []string) {
	for _, w := range words {
		list = append(list, w.text)
	}
	return list
}

func settingKeys() (keys []string) {
	for _, s := range settings {
		keys = append(keys, s.key)
	}
	return keys
}

// flagsOf returns the flags of a command whose values are of a kind.
func (c completedCommand) flagsOf(kind valueKind) (names []string) {
	for _, f := range c.flags {
		if f.kind == kind {
			names = append(names, "--"+f.name)
		}
	}
	return names
}

const bashStart = `# Completion of bookside for bash 4 and later. Made by: bookside completion bash

_bookside() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
	# Bash takes --flag=value as three words.
	if [[ $cur == = ]]; then
		cur=
	elif [[ $prev == = ]]; then
		prev=${COMP_WORDS[COMP_CWORD-2]}
	fi
	local words="${COMP_WORDS[*]:1:COMP_CWORD-1}"
	local operands='' plain='' texts='' files='' folders='' settings=''
	case "$words" in
`

const bashEnd = `	esac
	COMPREPLY=()
	case " $files " in *" $prev "*)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	esac
	case " $folders " in *" $prev "*)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return
	esac
	case " $settings " in *" $prev "*)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -S = -W "$keys" -- "$cur")
		return
	esac
	case " $texts " in *" $prev "*) return ;; esac
	if [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$plain $texts $files $folders $settings" -- "$cur")
	elif [[ $operands == FILES ]]; then
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	else
		mapfile -t COMPREPLY < <(compgen -W "$operands" -- "$cur")
	fi
}
complete -F _bookside bookside
`

func bashCompletion(commands []completedCommand) string {
	var b strings.Builder
	b.WriteString(strings.Replace(bashStart, "\tlocal operands=", "\tlocal keys='"+strings.Join(settingKeys(), " ")+"'\n\tlocal operands=", 1))
	next, groups := nextWords(commands)
	for _, words := range append([]string{"", "help"}, groups...) {
		pattern := "'" + words + "'"
		if slices.Contains(groups, words) {
			pattern += " | 'help " + words + "'"
		}
		fmt.Fprintf(&b, "\t%s) operands='%s' ;;\n", pattern, strings.Join(texts(next[words]), " "))
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "\t'%s' | '%[1]s '*)\n", c.name)
		operands := strings.Join(c.operands, " ")
		if c.operand == fileName {
			operands = "FILES"
		}
		for _, list := range []struct{ variable, words string }{
			{"operands", operands},
			{"plain", strings.Join(c.flagsOf(noValue), " ")},
			{"texts", strings.Join(c.flagsOf(freeText), " ")},
			{"files", strings.Join(c.flagsOf(fileName), " ")},
			{"folders", strings.Join(c.flagsOf(directoryName), " ")},
			{"settings", strings.Join(c.flagsOf(settingName), " ")},
		} {
			if list.words != "" {
				fmt.Fprintf(&b, "\t\t%s='%s'\n", list.variable, list.words)
			}
		}
		b.WriteString("\t\t;;\n")
	}
	b.WriteString(bashEnd)
	return b.String()
}

const zshStart = `#compdef bookside
# Completion of bookside for zsh. Made by: bookside completion zsh

_bookside() {
	local -a next settings flags
	local command="${(j: :)words[2,CURRENT-1]}"
	integer length=1
`

const zshEnd = `	esac
	shift $length words
	(( CURRENT -= length ))
	_arguments $flags
}

# zsh loads this file as the function, or a shell sources it.
if [[ $funcstack[1] == _bookside ]]; then
	_bookside "$@"
elif (( $+functions[compdef] )); then
	compdef _bookside bookside
fi
`

func zshCompletion(commands []completedCommand) string {
	var b strings.Builder
	b.WriteString(zshStart)
	fmt.Fprintf(&b, "\tsettings=(%s)\n\tcase $command in\n", strings.Join(settingKeys(), " "))
	next, groups := nextWords(commands)
	for _, words := range append([]string{"", "help"}, groups...) {
		pattern := "''"
		if words != "" {
			pattern = words
		}
		if slices.Contains(groups, words) {
			pattern += "|'help " + words + "'"
		}
		fmt.Fprintf(&b, "\t%s)\n\t\tnext=(\n", pattern)
		for _, w := range next[words] {
			fmt.Fprintf(&b, "\t\t\t%s\n", quoteShell(escapeEach(w.text, ":")+":"+escapeEach(w.summary, ":")))
		}
		b.WriteString("\t\t)\n\t\t_describe command next\n\t\treturn\n\t\t;;\n")
	}
	for _, c := range commands {
		fmt.Fprintf(&b, "\t'%s'|'%[1]s '*)\n\t\tlength=%d\n\t\tflags=(\n", c.name, len(strings.Fields(c.name)))
		for _, f := range c.flags {
			text := "*--" + f.name
			if f.kind != noValue {
				text += "="
			}
			text += "[" + escapeEach(f.usage, `[]:`) + "]"
			if f.kind != noValue {
				text += ":" + f.operand + ":" + zshAction(f.kind)
			}
			fmt.Fprintf(&b, "\t\t\t%s\n", quoteShell(text))
		}
		switch {
		case c.operands != nil:
			fmt.Fprintf(&b, "\t\t\t%s\n", quoteShell("1:operand:("+strings.Join(c.operands, " ")+")"))
		case c.operand == fileName:
			fmt.Fprintf(&b, "\t\t\t%s\n", quoteShell("*:file:_files"))
		}
		b.WriteString("\t\t)\n\t\t;;\n")
	}
	b.WriteString("\t*) return 1 ;;\n")
	b.WriteString(zshEnd)
	return b.String()
}

func zshAction(kind valueKind) string {
	switch kind {
	case fileName:
		return "_files"
	case directoryName:
		return "_files -/"
	case settingName:
		return "compadd -S = -- $settings"
	default:
		return " "
	}
}

const fishStart = `# Completion of bookside for fish. Made by: bookside completion fish

# Succeeds if these are the words so far.
function __bookside_is
    set -l words (commandline -opc)
    test "$words[2..-1]" = "$argv"
end

# Succeeds if the words so far begin with these.
function __bookside_begins
    set -l words (commandline -opc)
    set -l last (math (count $argv) + 1)
    test (count $words) -ge $last; and test "$words[2..$last]" = "$argv"
end

complete -c bookside -f
`

func fishCompletion(commands []completedCommand) string {
	var b strings.Builder
	b.WriteString(fishStart)
	next, groups := nextWords(commands)
	line := func(condition, words, more string) {
		fmt.Fprintf(&b, "complete -c bookside -n %s %s\n", quoteFish(strings.TrimSpace(condition+" "+words)), more)
	}
	offer := func(before string, words []word) {
		for _, w := range words {
			line("__bookside_is", before, "-a "+w.text+" -d "+quoteFish(w.summary))
		}
	}
	offer("", next[""])
	offer("help", next["help"])
	for _, group := range groups {
		offer(group, next[group])
		offer("help "+group, next[group])
	}
	for _, c := range commands {
		switch {
		case c.operands != nil:
			line("__bookside_is", c.name, "-a "+quoteFish(strings.Join(c.operands, " ")))
		case c.operand == fileName:
			line("__bookside_begins", c.name, "-F")
		}
		for _, f := range c.flags {
			line("__bookside_begins", c.name, "-l "+f.name+fishValue(f.kind)+" -d "+quoteFish(f.usage))
		}
	}
	return b.String()
}

func fishValue(kind valueKind) string {
	switch kind {
	case noValue:
		return ""
	case fileName:
		return " -r -F"
	case directoryName:
		return " -x -a '(__fish_complete_directories)'"
	case settingName:
		return " -x -a '" + strings.Join(settingKeys(), "= ") + "='"
	default:
		return " -x"
	}
}

// quoteShell quotes a text for bash and zsh.
func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// quoteFish quotes a text for fish.
func quoteFish(text string) string { return "'" + escapeEach(text, `'`) + "'" }

// escapeEach puts a backslash before backslashes and each of the characters.
func escapeEach(text, characters string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '\\' || strings.ContainsRune(characters, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
