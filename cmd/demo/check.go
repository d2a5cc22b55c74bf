package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

// check returns the command that asks a running demo, for the health check of a container, which has no curl.
func check() *cobra.Command {
	address := listening().Admin.Listen
	command := newCommand("check [--console ADDRESS]", "ask the demo on this machine whether it is ready", "", cobra.NoArgs)
	command.Flags().StringVar(&address, "console", address, "address of its console")
	command.RunE = func(command *cobra.Command, _ []string) (err error) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("--console: %w", err)
		}
		if ip := net.ParseIP(host); ip.IsUnspecified() {
			host = "localhost"
		}
		request, err := http.NewRequestWithContext(command.Context(), http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
		if err != nil {
			return err
		}
		response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", request.URL, response.Status)
		}
		_, err = fmt.Fprintln(command.OutOrStdout(), "ready")
		return err
	}
	return command
}
