package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/bookside/bookside/cmd/internal/printable"
	"github.com/bookside/bookside/fixtures/expect"
)

// terminal returns a terminal, and a function that closes it and returns what was written to it.
func terminal(t *testing.T) (tty *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	expect.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	descriptor := int(master.Fd())
	expect.NoError(t, unix.IoctlSetPointerInt(descriptor, unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(descriptor, unix.TIOCGPTN)
	expect.NoError(t, err)
	if tty, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tty.Close() })
	var written bytes.Buffer
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(&written, master) // ends with EIO when the terminal is closed
		close(ended)
	}()
	return tty, func() string {
		t.Helper()
		expect.NoError(t, tty.Close())
		<-ended
		return strings.ReplaceAll(written.String(), "\r\n", "\n")
	}
}

// TestLogOnATerminal: people get text, in color unless they do not want it.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		want string // regular expression
	}{
		{"in color", nil, `^\x1b\[2m\d\d:\d\d:\d\d\x1b\[0m .*WRN.* bookings overlap .*agent_id=.*7.*name=.*\\u001b]0;x\\+u0007\\+u202e"?\n$`},
		{"without color", []string{"NO_COLOR=1"}, `^\d\d:\d\d:\d\d WRN bookings overlap agent_id=7 name="?\\+u001b]0;x\\+u0007\\+u202e"?\n$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tty, read := terminal(t)
			newLog(printable.Writer{To: tty}, "info", test.env).Warn("bookings overlap", "agent_id", 7, "name", "\x1b]0;x\a\u202e")
			if got := read(); !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("%q does not match %s", got, test.want)
			}
		})
	}
}
