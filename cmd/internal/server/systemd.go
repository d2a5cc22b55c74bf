package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
)

// Under systemd, as in docker/bookside.service, the program uses two of its protocols: a socket that
// systemd keeps open (sd_listen_fds), so that clients wait during a restart instead of being refused,
// and notifications of the program's state (sd_notify).

// firstInheritedFile is the number of the first file that systemd passes.
const firstInheritedFile = 3

// inheritedListener returns the listener that systemd passes to this process, or nil.
func inheritedListener(env []string) (net.Listener, error) {
	if settings.Lookup(env, "LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count := settings.Lookup(env, "LISTEN_FDS"); count != "1" {
		return nil, exit.Errorf(exit.Failure, nil, "systemd passes %s sockets; write one ListenStream= with a TCP port in the socket unit", count)
	}
	file := os.NewFile(firstInheritedFile, "systemd socket")
	listener, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, exit.Errorf(exit.Failure, err, "use the socket of systemd: %v", err)
	}
	if _, ok := listener.(*net.TCPListener); !ok {
		return nil, errors.Join(exit.Errorf(exit.Failure, nil, "the socket of systemd is not a TCP port; write one such as ListenStream=127.0.0.1:8080 in the socket unit"), listener.Close())
	}
	return listener, nil
}

// States of the program for systemd.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notifySystemd sends a state to systemd, if it asked for notifications.
func notifySystemd(ctx context.Context, env []string, state string) error {
	address := settings.Lookup(env, "NOTIFY_SOCKET")
	if address == "" {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", address)
	if err != nil {
		return fmt.Errorf("notify systemd of %s: %w", state, err)
	}
	_, err = conn.Write([]byte(state))
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("notify systemd of %s: %w", state, err)
	}
	return nil
}
