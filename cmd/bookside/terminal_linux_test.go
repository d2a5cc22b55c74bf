package main

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/bookside/bookside/cmd/internal/settings"
)

// terminal returns a terminal, and a function that closes it and returns what was written to it.
func terminal(t *testing.T) (tty *os.File, read func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	descriptor := int(master.Fd())
	if err := unix.IoctlSetPointerInt(descriptor, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(descriptor, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
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
		if err := tty.Close(); err != nil {
			t.Fatal(err)
		}
		<-ended
		return strings.ReplaceAll(written.String(), "\r\n", "\n")
	}
}

const escape = "\x1b["

// TestLogOnATerminal: without a configured format, people get text, in color unless they do not want it.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, format string
		env          []string
		want         string // regular expression
	}{
		{"auto", settings.FormatAuto, nil, `^\x1b\[2m\d\d:\d\d:\d\d\x1b\[0m .*WRN.* bookings overlap .*agent_id=.*7\n$`},
		{"auto without color", settings.FormatAuto, []string{"NO_COLOR=1"}, `^\d\d:\d\d:\d\d WRN bookings overlap agent_id=7\n$`},
		{"JSON", settings.FormatJSON, nil, `^\{"time":".*","level":"WARN","msg":"bookings overlap","agent_id":7\}\n$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			tty, read := terminal(t)
			newLog(tty, "info", test.format, test.env).Warn("bookings overlap", "agent_id", 7)
			if got := read(); !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("%q does not match %s", got, test.want)
			}
		})
	}
}

// TestCheckOnATerminal: marks are colored on a terminal, unless its user does not want it.
func TestCheckOnATerminal(t *testing.T) {
	t.Parallel()
	env := settingsFor(small(t))
	check := func(env []string) string {
		t.Helper()
		tty, read := terminal(t)
		p := program{env: env, stdin: strings.NewReader(""), stdout: tty, stderr: tty, now: fixedClock}
		if err := p.run(t.Context(), []string{"check"}); err != nil {
			t.Fatal(err)
		}
		return read()
	}
	plain, colored := check(append(env, "NO_COLOR=1")), check(env)
	if strings.Contains(plain, escape) || !strings.HasPrefix(plain, "✓ ") {
		t.Errorf("without color: %q", plain)
	}
	if !strings.HasPrefix(colored, "\x1b[32m✓\x1b[0m ") || strings.Count(colored, escape) < 10 {
		t.Errorf("in color: %q", colored)
	}
	without := func(pattern, text string) string { return regexp.MustCompile(pattern).ReplaceAllString(text, "") }
	const clock = `\d+h\d+m\d+s` // the difference between the test's clock and the database's
	if diff := cmp.Diff(without(clock, plain), without(clock, without(`\x1b\[\d*m`, colored))); diff != "" {
		t.Errorf("the colors change the text:\n%s", diff)
	}
}
