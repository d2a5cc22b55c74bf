package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"bookside/fixtures"
)

// offered returns what a shell offers for the last of the words, by the script of the program.
type offered func(t *testing.T, shell, script string, words []string) []string

// offeredByBash asks bash.
func offeredByBash(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	const ask = `
compopt() { :; } # works only in a real completion
source /dev/stdin
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_bookside
printf '%s\n' "${COMPREPLY[@]}"`
	return lines(t, script, shell, append([]string{"--norc", "-c", ask, "bash"}, words...)...)
}

// offeredByZsh loads zsh's completion system and prints what its functions are given.
func offeredByZsh(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	const ask = `
source /dev/stdin
words=("$@") CURRENT=$#
_describe() { print -rl -- "${(@)${(@P)2}%%:*}"; }
_arguments() {
	local spec last=${words[CURRENT]} before=${words[CURRENT-1]}
	for spec; do
		case $spec in
		"*$before="*) [[ $spec == *settings ]] && print -rl -- ${^settings}=; return 0 ;;
		esac
	done
	for spec; do
		case $spec in
		"*--"*) spec=${spec#\*}; spec=${spec%%\[*}; print -r -- ${spec%=} ;;
		1:*) spec=${spec##*\(}; print -rl -- ${=spec%\)} ;;
		esac
	done
}
_bookside`
	return lines(t, script, shell, append([]string{"-f", "-c", ask, "zsh"}, words...)...)
}

// offeredByFish asks fish.
func offeredByFish(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	found := lines(t, script, shell, "--no-config", "-c", "source -; complete -C $argv[1]", strings.Join(words, " "))
	for i, line := range found {
		found[i], _, _ = strings.Cut(line, "\t") // the description
	}
	return found
}

func lines(t *testing.T, stdin, program string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdin = strings.NewReader(stdin)
	var failures strings.Builder
	command.Stderr = &failures
	output, err := command.Output()
	if err != nil || failures.Len() > 0 {
		t.Fatalf("%s: %v: %s", program, err, failures.String())
	}
	return strings.Fields(string(output))
}

// TestCompletion: the shells accept the scripts, and offer what can follow.
func TestCompletion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		words string // the last one is being typed
		want  []string
		never []string
	}{
		{"commands", "", []string{"serve", "keys", "help"}, []string{"create", "--config"}},
		{"second words", "keys ", []string{"create", "revoke"}, []string{"serve", "--name"}},
		{"flags", "keys create --", []string{"--name", "--permissions", "--config", "--help"}, []string{"--print-config", "create"}},
		{"flags after a value", "keys create --name till --", []string{"--permissions"}, []string{"create"}},
		{"settings", "serve --set ", []string{"db.dsn=", "log.clients="}, []string{"--listen"}},
		{"values that nobody knows", "keys create --name ", nil, []string{"--permissions", "create", "serve"}},
		{"operands", "completion ", []string{"bash", "fish", "zsh"}, []string{"serve"}},
		{"help", "help ", []string{"serve", "keys", "config"}, []string{"create"}},
		{"help of second words", "help keys ", []string{"create"}, []string{"serve"}},
	}
	for shell, ask := range map[string]offered{"bash": offeredByBash, "zsh": offeredByZsh, "fish": offeredByFish} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path := fixtures.RequireTool(t, shell)
			script := run(t, nil, "", "completion", shell).want(t, exitOK).stdout
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					got := ask(t, path, script, strings.Split("bookside "+test.words, " "))
					for _, word := range test.want {
						if !slices.Contains(got, word) {
							t.Errorf("%q is not offered, but %q", word, got)
						}
					}
					for _, word := range test.never {
						if slices.Contains(got, word) {
							t.Errorf("%q is offered", word)
						}
					}
				})
			}
		})
	}
	run(t, nil, "", "completion", "ksh").want(t, exitUsage, "completion: SHELL: write bash, fish, zsh; see bookside help completion")
}

// TestCompletionKnowsEverything: each command, flag and setting is in each script.
func TestCompletionKnowsEverything(t *testing.T) {
	t.Parallel()
	for shell, script := range completionScripts() {
		text := script(completedCommands())
		for _, c := range completedCommands() {
			for _, f := range c.flags {
				flag := "--" + f.name
				if shell == "fish" {
					flag = "-l " + f.name
				}
				if !strings.Contains(text, flag) {
					t.Errorf("%s: no %s of %s", shell, flag, c.name)
				}
			}
			if !strings.Contains(text, c.name) {
				t.Errorf("%s: no %s", shell, c.name)
			}
		}
		for _, key := range settingKeys() {
			if !strings.Contains(text, key) {
				t.Errorf("%s: no %s", shell, key)
			}
		}
	}
}
