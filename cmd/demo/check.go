package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// check returns the command that asks a running demo, for the health check of a container.
func check(console string) *cobra.Command {
	return remote(console, "check", "ask a running demo whether it is ready", http.MethodGet, "/readyz", "ready", new(string))
}

// reset returns the command that resets a running demo, for those who have no curl.
func reset(console string) *cobra.Command {
	var key string
	command := remote(console, "reset", "bring a running demo back to what it loaded", http.MethodPost, "/reset", "reset", &key)
	command.Flags().StringVar(&key, "key", "", "the demo's key, which it asks for from another machine or container")
	return command
}

// remote returns a command that sends a request to a running demo, whose console is at the address unless a flag
// says otherwise, with the key, and prints a word if that succeeds.
func remote(address, name, short, method, path, done string, key *string) *cobra.Command {
	command := newCommand(name+" [flags]", short, "", cobra.NoArgs)
	command.Flags().StringVar(&address, "console", address, "address of its console")
	command.RunE = func(command *cobra.Command, _ []string) error {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("--console: %w", err)
		}
		if net.ParseIP(host).IsUnspecified() {
			host = "localhost"
		}
		if err := request(command.Context(), method, "http://"+net.JoinHostPort(host, port)+path, *key); err != nil {
			return err
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), done)
		return err
	}
	return command
}

// request sends a request without a body, which must succeed.
func request(ctx context.Context, method, url, key string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	sent, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return err
	}
	sent.Header.Set("X-API-Key", key)
	response, err := http.DefaultClient.Do(sent)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	return errors.Join(fmt.Errorf("%s: %s %s", url, response.Status, strings.TrimSpace(string(text))), err)
}
