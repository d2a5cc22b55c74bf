// Command unfinished opens connections to a server and sends header lines on each
// without ever completing the header:
//
//	unfinished ADDRESS COUNT DURATION
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// maxOpen is below the usual limit of open files per process.
const maxOpen = 10_000

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: unfinished ADDRESS COUNT DURATION")
	}
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return fmt.Errorf("COUNT: %w", err)
	}
	duration, err := time.ParseDuration(args[2])
	if err != nil {
		return fmt.Errorf("DURATION: %w", err)
	}
	sent := "GET /v1/status HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("a:\r\n", 4_500)
	conns := make([]net.Conn, count)
	for i := range conns {
		if i >= maxOpen {
			_ = conns[i-maxOpen].Close() // closed by the server, or about to be
		}
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", args[0])
		if err != nil {
			return fmt.Errorf("connection %d: %w", i, err)
		}
		conns[i] = conn
		_, _ = io.WriteString(conn, sent) // the server may have closed it
	}
	time.Sleep(duration)
	for _, conn := range conns {
		_ = conn.Close() // many are closed already
	}
	return nil
}
