package wpdb_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"bookside/wpdb"

	"github.com/go-sql-driver/mysql"
)

// cutter stands between the driver and a server and breaks their links.
type cutter struct {
	network, address string // of the server
	listener         net.Listener
	running          sync.WaitGroup

	mu     sync.Mutex
	faults []fault // still to come, in this order
	links  map[*link]bool
}

// fault is what happens to a link when a statement passes that contains the
// text on.
type fault struct {
	on     string
	lost   bool // the statement does not reach the server
	answer int  // bytes of the answer that still come through
	silent bool // the link hangs instead of ending
}

// link is one connection of the driver, and ours to the server for it.
type link struct {
	client, server net.Conn
	fault          *fault
}

func (l *link) cut() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// cutOff puts a cutter with these faults in front of the server of a
// configuration.
func cutOff(t testing.TB, c wpdb.Config, faults ...fault) (wpdb.Config, *cutter) {
	t.Helper()
	return cutOffAt(t, "tcp", "127.0.0.1:0", c, faults...)
}

// cutOffAt is cutOff for a cutter that listens at a known address.
func cutOffAt(t testing.TB, network, address string, c wpdb.Config, faults ...fault) (wpdb.Config, *cutter) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	through := &cutter{listener: listener, faults: faults, links: map[*link]bool{}}
	c = withDSN(t, c, func(driver *mysql.Config) {
		through.network, through.address = driver.Net, driver.Addr
		driver.Net, driver.Addr = network, listener.Addr().String()
	})
	through.running.Go(func() { through.accept(t.Context()) })
	t.Cleanup(func() {
		_ = listener.Close()
		through.cutAll()
		through.running.Wait()
		if left := through.left(); left > 0 {
			t.Errorf("%d faults never came", left)
		}
	})
	return c, through
}

func (c *cutter) accept(ctx context.Context) {
	for {
		client, err := c.listener.Accept()
		if err != nil {
			return
		}
		server, err := new(net.Dialer).DialContext(ctx, c.network, c.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client, server: server}
		c.mu.Lock()
		c.links[l] = true
		c.mu.Unlock()
		c.running.Go(func() { c.passStatements(l) })
		c.running.Go(func() { c.passAnswers(l) })
	}
}

func (c *cutter) passStatements(l *link) {
	defer l.cut()
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.client.Read(buffer)
		if err != nil || c.strike(l, string(buffer[:n])) {
			return
		}
		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// strike gives the link its fault before the statement goes on, so that all
// that comes from the server afterwards is the answer to it.
func (c *cutter) strike(l *link, statement string) (lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.faults) == 0 || !strings.Contains(statement, c.faults[0].on) {
		return false
	}
	l.fault = &c.faults[0]
	c.faults = c.faults[1:]
	return l.fault.lost
}

func (c *cutter) passAnswers(l *link) {
	defer l.cut()
	buffer := make([]byte, 1<<12)
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}
		pass, end := c.allowed(l, n)
		if _, err := l.client.Write(buffer[:pass]); err != nil || end {
			return
		}
	}
}

// allowed tells how many of the next n bytes of the answer come through, and
// whether the link ends after them.
func (c *cutter) allowed(l *link, n int) (pass int, end bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l.fault == nil {
		return n, false
	}
	pass = min(n, l.fault.answer)
	l.fault.answer -= pass
	return pass, pass < n && !l.fault.silent
}

// cutAll ends all links, as a restart of the server does.
func (c *cutter) cutAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l := range c.links {
		l.cut()
	}
	clear(c.links)
}

// left is the number of faults that have not happened yet.
func (c *cutter) left() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.faults)
}
