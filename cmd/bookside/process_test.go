package main

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// process is the program as a separate process, with the real time.
type process struct {
	*exec.Cmd
	url    string
	stderr *fixtures.Buffer
}

// startProcess starts serve and waits until it listens.
func startProcess(t *testing.T, env []string) process {
	t.Helper()
	p := process{Cmd: exec.CommandContext(t.Context(), os.Args[0], "serve"), stderr: &fixtures.Buffer{}}
	p.Env, p.Stderr = append(slices.Clone(env), beProgram), p.stderr
	stdout, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	expect.NoError(t, err)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("first line %q, %v\n%s", line, err, p.stderr)
	}
	p.url = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return p
}
