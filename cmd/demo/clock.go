package main

import (
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/domain"
)

// siteClock is that of the site. It ticks like the machine's, which it may be ahead of.
type siteClock struct {
	machine domain.Clock
	zone    *time.Location
	start   time.Time // what it shows after a reset; zero for the machine's time

	mu    sync.Mutex
	ahead time.Duration
}

// newClock returns a clock that shows start, or what the machine's shows. The zone is that of start.
func newClock(machine domain.Clock, start time.Time, fixed bool) *siteClock {
	c := &siteClock{machine: machine, zone: start.Location()}
	if fixed {
		c.start = start
	}
	c.reset()
	return c
}

// now is a [domain.Clock].
func (c *siteClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.machine().Add(c.ahead).In(c.zone)
}

// set makes the clock show an instant.
func (c *siteClock) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = now.Sub(c.machine())
}

// reset makes the clock show what it showed first.
func (c *siteClock) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead = 0
	if !c.start.IsZero() {
		c.ahead = c.start.Sub(c.machine())
	}
}
