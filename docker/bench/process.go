package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is a program in the background. It ends with its context, too.
type process struct {
	command *exec.Cmd
	log     string
	ended   chan struct{} // closed when it has ended
}

// launch starts a program that writes its log to a file.
func launch(ctx context.Context, log string, environment []string, command ...string) (*process, error) {
	file, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.CommandContext(ctx, command[0], command[1:]...), log: log, ended: make(chan struct{})}
	p.command.Env, p.command.Stdout, p.command.Stderr = append(os.Environ(), environment...), file, file
	if err := p.command.Start(); err != nil {
		_ = file.Close() // nothing was written
		return nil, err
	}
	go func() {
		_ = p.command.Wait() // await tells that it ended, and its log says why
		_ = file.Close()     // the program has its own handle
		close(p.ended)
	}()
	return p, nil
}

// await waits until the program answers.
func (p *process) await(ctx context.Context, answers func(context.Context) error) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
		default:
			if ctx.Err() == nil && time.Now().Before(end) {
				continue
			}
		}
		return fmt.Errorf("%s does not answer: %w: %s", p.command.Path, err, p.tail())
	}
}

// tail returns the last lines of the log.
func (p *process) tail() string {
	content, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

// kill kills the program, and returns when it has ended.
func (p *process) kill() {
	_ = p.command.Process.Kill() // or it has ended by itself
	<-p.ended
}

// output runs a command to its end and returns what it prints.
func output(ctx context.Context, environment []string, command ...string) (string, error) {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Env, c.Stderr = append(os.Environ(), environment...), os.Stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(command, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
