package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// withSocket returns a command that runs the program with an inherited file.
func withSocket(t *testing.T, env []string, file *os.File) *exec.Cmd {
	t.Helper()
	// Only the child knows its own process id.
	command := exec.CommandContext(t.Context(), "/bin/sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, os.Args[0])
	command.Env, command.ExtraFiles = env, []*os.File{file}
	return command
}

// TestInvalidInheritedSockets: an inherited socket that is not a single TCP port ends the program, which
// would otherwise listen elsewhere.
func TestInvalidInheritedSockets(t *testing.T) {
	t.Parallel()
	db := fixtures.Shared(t, fixtures.Small(now))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Join(t.TempDir(), "socket"))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	socket, err := listener.(*net.UnixListener).File()
	expect.NoError(t, err)
	t.Cleanup(func() { _ = socket.Close() })
	ordinary, err := os.Create(filepath.Join(t.TempDir(), "file"))
	expect.NoError(t, err)
	t.Cleanup(func() { _ = ordinary.Close() })
	for _, test := range []struct {
		name, count string
		file        *os.File
		want        string
	}{
		{"two sockets", "2", socket, "systemd passes 2 sockets; write one ListenStream="},
		{"unix socket", "1", socket, "the socket of systemd is not a TCP port; write one such as ListenStream=127.0.0.1:8080"},
		{"no socket", "1", ordinary, "use the socket of systemd: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			command := withSocket(t, append(settingsFor(db), beProgram, "LISTEN_FDS="+test.count), test.file)
			text, err := command.CombinedOutput()
			if err == nil || command.ProcessState.ExitCode() != exit.Failure {
				t.Errorf("ended with %v, want exit code %d", err, exit.Failure)
			}
			expect.Texts(t, string(text), test.want)
		})
	}
}

// TestSystemdUnreachable: sockets meant for another process are ignored, and the program keeps running if
// systemd cannot be notified.
func TestSystemdUnreachable(t *testing.T) {
	t.Parallel()
	s := serve(t, settingsFor(fixtures.Shared(t, fixtures.Small(now)), "LISTEN_PID=1", "LISTEN_FDS=1", "NOTIFY_SOCKET=/nowhere/notify"))
	expect.Succeeded(t, s.stop())
	expect.Texts(t, s.stderr.String(), "systemd could not be notified", "notify systemd of READY=1: ", "notify systemd of STOPPING=1: ")
}
