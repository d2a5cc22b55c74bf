package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// TestExport writes lists to files and to standard output.
func TestExport(t *testing.T) {
	t.Parallel()
	env := settingsFor(fixtures.Shared(t, fixtures.SiteA().WithFewBookings()))
	directory := t.TempDir()
	file := filepath.Join(directory, "bookings.csv")
	if err := os.WriteFile(file, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	got := run(t, env, "", "export", "bookings", "--filter", "status=approved", "--filter", "sort=id", "--output", file).want(t, exit.OK)
	if got.stdout+got.stderr != "" {
		t.Errorf("it prints %q and %q", got.stdout, got.stderr)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\r\n")
	if !strings.HasPrefix(lines[0], "id,booking_code,status,") || len(lines) < 10 {
		t.Errorf("%d lines, the first %s", len(lines), lines[0])
	}
	for _, line := range lines[1:] {
		if !strings.Contains(line, ",approved,") {
			t.Errorf("%s", line)
		}
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v: %v", info.Mode(), err)
	}
	printed := run(t, env, "", "export", "bookings", "--filter", "status=approved", "--filter", "sort=id").want(t, exit.OK).stdout
	if printed != string(text) {
		t.Error("other records are printed")
	}
	wantTexts(t, run(t, env, "", "export", "services", "--format", "jsonl").want(t, exit.OK).stdout, `{"id":"1","name":`)
	calendar := run(t, env, "", "export", "bookings", "--format", "ics", "--from", "2026-11-01", "--to", "2027-12-31").want(t, exit.OK).stdout
	wantTexts(t, calendar, "BEGIN:VEVENT", "END:VCALENDAR\r\n")
}

// TestExportToOtherThanFiles: a link keeps leading to its file, and a pipe is written to. Otherwise root
// could replace /dev/null with a file.
func TestExportToOtherThanFiles(t *testing.T) {
	t.Parallel()
	env := settingsFor(fixtures.Shared(t, fixtures.SiteA().WithFewBookings()))
	directory := t.TempDir()
	link, file, pipe := filepath.Join(directory, "link"), filepath.Join(directory, "file"), filepath.Join(directory, "pipe")
	want := run(t, env, "", "export", "services").want(t, exit.OK).stdout
	if err := errors.Join(os.WriteFile(file, nil, 0o600), os.Symlink("file", link), exec.CommandContext(t.Context(), "mkfifo", pipe).Run()); err != nil {
		t.Fatal(err)
	}
	run(t, env, "", "export", "services", "--output", link).want(t, exit.OK)
	info, err := os.Lstat(link)
	if text, failed := os.ReadFile(file); err != nil || failed != nil || info.Mode().IsRegular() || string(text) != want {
		t.Errorf("%v, %v: %s, %q", err, failed, info.Mode(), text)
	}
	read := make(chan string, 1)
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0) // opens without waiting for a writer
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		text := make([]byte, len(want))
		n, _ := io.ReadFull(reader, text)
		read <- string(text[:n])
	}()
	run(t, env, "", "export", "services", "--output", pipe).want(t, exit.OK)
	if info, err := os.Lstat(pipe); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("%v: the pipe is %s", err, info.Mode())
	} else if got := <-read; got != want {
		t.Errorf("through the pipe: %q", got)
	}
	if err := reader.Close(); err != nil {
		t.Error(err)
	}
	run(t, env, "", "export", "services", "--output", directory).want(t, exit.Failure, "is a directory")
}

// TestExportRefusals: errors take one line, and no file appears or changes.
func TestExportRefusals(t *testing.T) {
	t.Parallel()
	env := settingsFor(fixtures.Shared(t, fixtures.SiteA().WithFewBookings()))
	directory := t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"export"}, "it takes LIST, got 0"},
		{[]string{"export", "keys"}, `LIST: there is no list "keys"`},
		{[]string{"export", "customers", "--format", "ics"}, "--format: the format of customers can be csv, jsonl"},
		{[]string{"export", "bookings", "--filter", "agent=3"}, `no filter "agent"`},
		{[]string{"export", "bookings", "--filter", "agent_id"}, "NAME=VALUE"},
		{[]string{"export", "bookings", "--filter", "status=approved", "--filter", "sort=id", "--filter", "status=pending"}, `--filter: the filter "status" is given 2 times`},
		{[]string{"export", "bookings", "--from", "2026-01-01", "--filter", "date_from=2026-02-01"}, `--from: the filter "date_from" is a date that is given already`},
		{[]string{"export", "coupons", "--from", "2026-01-01"}, "--from: coupons have no dates"},
		{[]string{"export", "coupons", "--to", "2026-01-01"}, "--to: coupons have no dates"},
		{[]string{"export", "bookings", "--from", "tomorrow"}, "--from: Must be a date"},
		{[]string{"export", "bookings", "--filter", "status=nothing"}, "--filter status: Unknown booking status"},
		{[]string{"export", "customers", "--to", "2026-13-01"}, "--to: Must be a date"},
		{[]string{"export", "customers", "--filter", "created_before=x"}, "--filter created_before: Must be a date"},
		{[]string{"export", "bookings", "--filter", "agentid=3"}, `--filter: bookings have no filter "agentid"; did you mean agent_id?`},
	} {
		run(t, env, "", append(c.args, "--output", filepath.Join(directory, "file"))...).want(t, exit.Usage, c.want)
	}
	run(t, env, "", "export", "bookings", "--output", filepath.Join(directory, "missing", "file")).want(t, exit.Failure, "missing")
	err := filepath.WalkDir(directory, func(name string, entry fs.DirEntry, err error) error {
		if name != directory {
			t.Errorf("%s is left", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
