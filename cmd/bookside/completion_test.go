package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
)

// offered returns what a shell offers for the last of the words, using the program's script.
type offered func(t *testing.T, shell, script string, words []string) []string

// offeredByBash asks bash. The two functions before the script are the parts of bash-completion that it
// needs.
func offeredByBash(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	const ask = `
compopt() { :; } # works only in a real completion
_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
source /dev/stdin
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=63
__start_bookside
printf '%s\n' "${COMPREPLY[@]}"`
	return firstWords(lines(t, script, shell, append([]string{"--norc", "-c", ask, "bash"}, words...)...))
}

// offeredByZsh loads no completion system: its function receives what is offered.
func offeredByZsh(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	const ask = `
compdef() { :; }
_describe() { print -rl -- "${(@)completions%%:*}"; }
_arguments() { :; }
source /dev/stdin
words=("$@") CURRENT=$#
_bookside`
	return firstWords(lines(t, script, shell, append([]string{"-f", "-c", ask, "zsh"}, words...)...))
}

// offeredByFish asks fish.
func offeredByFish(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	return firstWords(lines(t, script, shell, "--no-config", "-c", "source -; complete -C $argv[1]", strings.Join(words, " ")))
}

// firstWords omits descriptions.
func firstWords(lines []string) []string {
	for i, line := range lines {
		lines[i] = strings.FieldsFunc(line+" ", func(r rune) bool { return r == ' ' || r == '\t' })[0]
	}
	return lines
}

func lines(t *testing.T, stdin, program string, args ...string) []string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, args...)
	command.Stdin = strings.NewReader(stdin)
	command.Env = append(os.Environ(), "PATH="+programInPath(t)+":"+os.Getenv("PATH"))
	var failures strings.Builder
	command.Stderr = &failures
	output, err := command.Output()
	if err != nil || failures.Len() > 0 {
		t.Fatalf("%s: %v: %s", program, err, failures.String())
	}
	return strings.FieldsFunc(string(output), func(r rune) bool { return r == '\n' })
}

// programInPath returns a directory with the program, which the scripts run.
func programInPath(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	script := "#!/bin/sh\n" + beProgram + " exec '" + os.Args[0] + "' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(directory, "bookside"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return directory
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
			script := run(t, nil, "", "completion", shell).want(t, exit.OK).stdout
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
	run(t, nil, "", "completion", "ksh").want(t, exit.Usage, "completion: SHELL: write bash, fish, powershell, zsh; see bookside help completion")
}

// offeredFor returns what the program offers for the last of the words.
func offeredFor(t *testing.T, env []string, words ...string) []string {
	t.Helper()
	found := run(t, env, "", append([]string{"__complete"}, words...)...).want(t, exit.OK).stdout
	lines := strings.Split(strings.TrimSpace(found), "\n")
	return lines[:len(lines)-1] // the last line is for the script
}

// TestCompletionKnowsEverything: each command, flag and setting is offered.
func TestCompletionKnowsEverything(t *testing.T) {
	t.Parallel()
	eachCommand(new(program).commands(), func(c *cobra.Command) {
		words := strings.Fields(commandName(c))
		last := len(words) - 1
		if got := firstWords(offeredFor(t, nil, append(words[:last:last], "")...)); !slices.Contains(got, words[last]) {
			t.Errorf("%s is not offered, but %q", commandName(c), got)
		}
		flags := firstWords(offeredFor(t, nil, append(words, "--")...))
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains(flags, "--"+f.Name) {
				t.Errorf("--%s of %s is not offered, but %q", f.Name, commandName(c), flags)
			}
		})
	})
	keys := firstWords(offeredFor(t, nil, "serve", "--set", ""))
	for _, s := range settings.All {
		if !slices.Contains(keys, s.Key+"=") {
			t.Errorf("%s is not offered", s.Key)
		}
	}
	wantTexts(t, run(t, nil, "", "completion", "powershell").want(t, exit.OK).stdout, "Register-ArgumentCompleter -CommandName 'bookside'")
}

// TestCompletionOffersNamesOfTheSite: the program queries the database, if it may and can.
func TestCompletionOffersNamesOfTheSite(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	newKey(t, env)
	for _, test := range []struct {
		words string
		want  string
	}{
		{"keys revoke ", "1\ttest"},
		{"keys create --calendar --agent ", "1\tMiriam Albers"},
		{"keys create --agents 2,", "2,1\tMiriam Albers"},
		{"keys create --services=", "1\tQuick check"},
		{"keys create --locations ", "1\tPractice by the Park"},
	} {
		if got := offeredFor(t, env, strings.Split(test.words, " ")...); !slices.Contains(got, test.want) {
			t.Errorf("%s: %q is not offered, but %q", test.words, test.want, got)
		}
	}
	for name, env := range map[string][]string{
		"nothing configured":      nil,
		"an invalid setting":      {"BOOKSIDE_DB__MAX_OPEN=many"},
		"a database that is down": {"BOOKSIDE_DB__DSN=u:p@tcp(127.0.0.1:1)/d"},
	} {
		if got := offeredFor(t, env, "keys", "revoke", ""); len(got) > 0 {
			t.Errorf("%s: %q is offered", name, got)
		}
	}
}
