package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

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
	expect.NoError(t, os.WriteFile(filepath.Join(directory, "bookside"), []byte(script), 0o700))
	return directory
}

// TestCompletion: bash accepts the script, and offers what can follow; there is one for each other shell.
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
	path := fixtures.RequireTool(t, "bash")
	script := run(t, nil, "", "completion", "bash").want(t, exit.OK).stdout
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := offeredByBash(t, path, script, strings.Split("bookside "+test.words, " "))
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
	for _, shell := range []string{"fish", "zsh", "powershell"} {
		expect.Texts(t, run(t, nil, "", "completion", shell).want(t, exit.OK).stdout, "bookside")
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
		expect.Empty(t, offeredFor(t, env, "keys", "revoke", ""), name)
	}
}
