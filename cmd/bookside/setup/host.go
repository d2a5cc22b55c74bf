package setup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Host is the machine that Bookside is set up on.
type Host struct {
	// Root is the directory that stands in for the root of the file system; "" for the root itself.
	Root string
	// Privileged reports whether system files may be changed.
	Privileged bool
	// Run runs a program with a standard input, which may be secret, and returns its output.
	Run func(ctx context.Context, stdin string, args ...string) (output string, err error)
	// Has reports whether a program exists.
	Has func(program string) bool
	// Dial connects to an address.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Patience is how long the service may take to become ready, and Pause is the time between two looks.
	Patience, Pause time.Duration
}

// Local returns this machine.
func Local() *Host {
	return &Host{
		Privileged: os.Geteuid() == 0,
		Run:        runProgram,
		Has:        func(program string) bool { _, err := exec.LookPath(program); return err == nil },
		Dial:       new(net.Dialer).DialContext,
		Patience:   20 * time.Second,
		Pause:      time.Second,
	}
}

// commandTime is longer than a service may take to start.
const commandTime = 2 * time.Minute

func runProgram(ctx context.Context, stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Stdin = strings.NewReader(stdin)
	// Not every path includes the directories of administrators' programs.
	program.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin", "LC_ALL=C")
	output, err := program.CombinedOutput()
	return string(output), err
}

// run runs a program. Its error includes the program's output.
func (h *Host) run(ctx context.Context, stdin string, args ...string) error {
	output, err := h.Run(ctx, stdin, args...)
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, strings.TrimSpace(output))
	}
	return nil
}

// path returns the location of a file.
func (h *Host) path(name string) string { return filepath.Join(h.Root, name) }

// files returns all files of the machine, with paths that do not begin with a slash.
func (h *Host) files() fs.FS {
	root := h.Root
	if root == "" {
		root = "/"
	}
	return os.DirFS(root)
}

func (h *Host) exists(name string) bool {
	_, err := os.Stat(h.path(name))
	return err == nil
}

// read returns the content of a file, and whether it exists.
func (h *Host) read(name string) (content []byte, exists bool, err error) {
	content, err = os.ReadFile(h.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	return content, err == nil, err
}

// write replaces a file atomically: a reader sees either the old content or the new one. The file keeps its
// owner; it belongs to group, if that is set.
func (h *Host) write(ctx context.Context, name string, content []byte, mode fs.FileMode, group string) (err error) {
	path := h.path(name)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // keeps a link a link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".bookside-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if before, err := os.Stat(path); err == nil {
		if err := keepOwner(file.Name(), before); err != nil {
			return err
		}
	}
	if group != "" {
		if err := h.run(ctx, "", "chgrp", group, file.Name()); err != nil {
			return err
		}
	}
	if err := os.Chmod(file.Name(), mode); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// remove removes a file and any directories of Bookside that become empty.
func (h *Host) remove(name string) error {
	if err := os.Remove(h.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	folder := filepath.Dir(name)
	for strings.Contains(folder, "bookside") && os.Remove(h.path(folder)) == nil { // until one is not empty
		folder = filepath.Dir(folder)
	}
	return nil
}

// systemd reports whether systemd manages the machine's services, as sd_booted(3) does.
func (h *Host) systemd() bool { return h.exists("/run/systemd/system") && h.Has("systemctl") }

// client returns an HTTP client that connects with dial, and follows no redirects.
func client(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Client {
	return &http.Client{
		Timeout:       15 * time.Second,
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
