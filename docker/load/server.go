package load

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Server is a Bookside under test.
type Server struct {
	Process
	*Client
	program     string
	environment []string
}

// NewServer returns a server that Launch starts. Its log goes to a file, and settings to its environment.
func NewServer(ctx context.Context, program, name, log string, settings ...string) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	address := fmt.Sprint("127.0.0.1:", port)
	s := &Server{Process: Process{Name: name, Log: log}, Client: NewClient("http://"+address+"/v1", "", 128), program: program}
	s.environment = append([]string{
		"BOOKSIDE_DB__PREFIX=wp_", "BOOKSIDE_SERVER__LISTEN=" + address, "BOOKSIDE_ADMIN__LISTEN=", "BOOKSIDE_RATE_LIMIT__ENABLED=false",
	}, settings...)
	return s, nil
}

// freePort finds a port that no outgoing connection takes.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	for range 100 {
		port := 20000 + rand.IntN(10000)
		listener, err := config.Listen(ctx, "tcp", fmt.Sprint("127.0.0.1:", port))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, errors.New("no port is free")
}

// Launch starts the program.
func (s *Server) Launch() error { return s.Start(s.environment, s.program, "serve") }

// Answers reports whether the server answers a read.
func (s *Server) Answers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	a, err := s.Send(ctx, Get("/agents"))
	return err == nil && a.Status == http.StatusOK
}

// Wait waits until the server answers, and returns how long that took.
func (s *Server) Wait(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	for ; !s.Answers(ctx); time.Sleep(20 * time.Millisecond) {
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case !s.Alive() && s.Ended == nil, time.Since(began) > time.Minute:
			return 0, fmt.Errorf("%s does not answer:\n%s", s.Name, s.Tail())
		}
	}
	return time.Since(began), nil
}

// Run runs another command of the program and returns what it prints.
func (s *Server) Run(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, s.program, args...)
	c.Env, c.Stderr = append(os.Environ(), s.environment...), os.Stderr
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", s.program, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}

// NewKey creates a key that ends after a day.
func (s *Server) NewKey(ctx context.Context, name, permissions string) (string, error) {
	return s.Run(ctx, "keys", "create", "--name", name, "--permissions", permissions, "--expires", "1d", "--quiet")
}

// Run runs a command to its end and returns its output, including errors.
func Run(ctx context.Context, command ...string) (string, error) {
	output, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, output)
	}
	return string(output), nil
}
