package load

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program that faults stop, kill and restart.
type Process struct {
	Name  string
	Log   string            // file that each start appends to
	Ended func(text string) // called if it ends by itself

	mu      sync.Mutex
	running *exec.Cmd
	killed  bool          // whether we ended it
	over    chan struct{} // closed when it has ended
}

// Start starts the program. If it ends before Kill, Ended gets the reason and the end of its log.
func (p *Process) Start(env []string, command ...string) error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) //nolint:gosec // the database's account reads it too
	if err != nil {
		return err
	}
	c := exec.Command(command[0], command[1:]...) //nolint:noctx // Kill ends it
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), env...), log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		_ = log.Close() // nothing was written
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	over := make(chan struct{})
	p.mu.Lock()
	p.running, p.killed, p.over = c, false, over
	p.mu.Unlock()
	go func() {
		err := c.Wait()
		_ = log.Close() // the program has its own handle
		p.mu.Lock()
		killed := p.killed
		p.mu.Unlock()
		close(over)
		if !killed && p.Ended != nil {
			p.Ended(fmt.Sprintf("%s ended by itself: %v (%v):\n%s", p.Name, c.ProcessState, err, p.Tail()))
		}
	}()
	return nil
}

// Tail returns the last lines of the log.
func (p *Process) Tail() string {
	content, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// Alive reports whether the program runs.
func (p *Process) Alive() bool {
	p.mu.Lock()
	over := p.over
	p.mu.Unlock()
	select {
	case <-over:
		return false
	default:
		return over != nil
	}
}

// signal sends a signal to the program, unless it has ended: another process may have its number by now.
func (p *Process) signal(s syscall.Signal) {
	if p.Alive() {
		_ = p.running.Process.Signal(s) // valid until Wait returns
	}
}

// Kill kills the program, and returns when it has ended.
func (p *Process) Kill() {
	p.mu.Lock()
	p.killed = true
	over := p.over
	p.mu.Unlock()
	if over == nil {
		return
	}
	p.signal(syscall.SIGKILL)
	<-over
}

// Freeze stops the program for a while.
func (p *Process) Freeze(d time.Duration) {
	p.signal(syscall.SIGSTOP)
	time.Sleep(d)
	p.signal(syscall.SIGCONT)
}
