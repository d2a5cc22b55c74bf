package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// Where systemd starts the program, as docker/bookside.service has it, two of its protocols are
// spoken: a socket that systemd holds open (sd_listen_fds), so that clients wait while the program
// is restarted and none is refused; and word of the program's state (sd_notify).

// handedOver is the number of the first file that systemd hands over.
const handedOver = 3

// inheritedListener is the port that systemd holds for this process; nil where it holds none.
func inheritedListener(env []string) (net.Listener, error) {
	if lookup(env, "LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count := lookup(env, "LISTEN_FDS"); count != "1" {
		return nil, failf(exitFailure, nil, "systemd hands over %s sockets; write one ListenStream= with a TCP port into the socket unit", count)
	}
	file := os.NewFile(handedOver, "socket of systemd")
	listener, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, failf(exitFailure, err, "take over the socket of systemd: %v", err)
	}
	if _, ok := listener.(*net.TCPListener); !ok {
		return nil, errors.Join(failf(exitFailure, nil, "systemd hands over no TCP port; write ListenStream=127.0.0.1:8080 or the like into the socket unit"), listener.Close())
	}
	return listener, nil
}

// States that are told to systemd.
const (
	stateReady    = "READY=1"
	stateStopping = "STOPPING=1"
)

// notifySystemd tells a state to systemd, where that asked for it.
func notifySystemd(ctx context.Context, env []string, state string) error {
	address := lookup(env, "NOTIFY_SOCKET")
	if address == "" {
		return nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", address)
	if err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	_, err = conn.Write([]byte(state))
	if err = errors.Join(err, conn.Close()); err != nil {
		return fmt.Errorf("tell systemd %s: %w", state, err)
	}
	return nil
}
