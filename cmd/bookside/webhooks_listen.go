package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
)

func (p *program) receiveWebhooks() *cobra.Command {
	command := &cobra.Command{
		Use:   "listen",
		Short: "receive events, check their signatures and print them",
		Long: `Receives events at an address of this machine, checks their signatures, and prints a line for each:
the time of the change, the event, its webhook-id and its data. Use it to try out webhooks:

  bookside webhooks add http://127.0.0.1:9000/ --events '*' --allow-private --quiet > secret
  bookside webhooks listen --secret-file secret

The secret is read from a file or from the environment variable WEBHOOK_SECRET, because all users of
the machine can see the flags of a program. It ends with SIGINT or SIGTERM.`,
	}
	flags := command.Flags()
	address := flags.String("listen", "127.0.0.1:9000", "`ADDRESS` to receive at; port 0 for any free one")
	file := flags.String("secret-file", "", "`FILE` with the secret")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		secret, err := p.webhookSecret(*file)
		if err != nil {
			return err
		}
		verifier, err := standardwebhooks.NewWebhook(secret)
		if err != nil || !strings.HasPrefix(secret, "whsec_") {
			return usageErrorf("this is not the secret of a webhook, which begins with whsec_")
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *address)
		switch {
		case errors.Is(err, syscall.EADDRINUSE):
			return exit.Errorf(exit.PortTaken, err, "another program is listening on %s; stop it, or set --listen to another address", *address)
		case err != nil:
			return exit.Errorf(exit.Failure, err, "--listen: %v", err)
		}
		server := &http.Server{Handler: &eventPrinter{p, verifier}, ReadTimeout: signatureAge, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: maxHeader}
		stop := context.AfterFunc(ctx, func() { _ = server.Close() })
		defer stop()
		if err := p.print(fmt.Sprintf("listening on http://%s\n", listener.Addr())); err != nil {
			return err
		}
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("receive events: %w", err)
		}
		return nil
	}
	return command
}

// webhookSecretEnv is not named BOOKSIDE_…, because those are settings.
const webhookSecretEnv = "WEBHOOK_SECRET"

// Limits of webhooks listen.
const (
	signatureAge = 5 * time.Minute // of a request, as Standard Webhooks recommends
	maxHeader    = 16 << 10        // bytes
	maxEvent     = 4 << 20         // bytes
)

// webhookSecret reads the secret from a file, or from the environment.
func (p *program) webhookSecret(file string) (string, error) {
	if file == "" {
		secret := settings.Lookup(p.env, webhookSecretEnv)
		if secret == "" {
			return "", usageErrorf("write --secret-file, or set %s", webhookSecretEnv)
		}
		return secret, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", usageErrorf("--secret-file: %v", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// eventPrinter is a receiver that prints events with a valid signature.
type eventPrinter struct {
	p        *program
	verifier *standardwebhooks.Webhook
}

func (e *eventPrinter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "events are sent with POST", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxEvent))
	if err == nil {
		err = e.verify(body, r.Header)
	}
	var event struct {
		Type      string          `json:"type"`
		Timestamp string          `json:"timestamp"`
		Data      json.RawMessage `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(body, &event)
	}
	if err != nil {
		_, _ = fmt.Fprintf(e.p.stderr, "rejected: %s\n", printable(err.Error()))
		http.Error(w, "not accepted", http.StatusBadRequest)
		return
	}
	id := r.Header.Get(standardwebhooks.HeaderWebhookID)
	if e.p.print(printable(fmt.Sprintf("%s %s %s %s", event.Timestamp, event.Type, id, event.Data))+"\n") != nil {
		http.Error(w, "cannot be printed", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// verify checks the signature, and that the request is not an old one replayed by somebody else.
func (e *eventPrinter) verify(body []byte, header http.Header) error {
	if err := e.verifier.VerifyIgnoringTimestamp(body, header); err != nil {
		return err
	}
	sent, err := strconv.ParseInt(header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if age := e.p.now().Sub(time.Unix(sent, 0)).Abs(); err != nil || age > signatureAge {
		return errors.New("the request was not sent just now; are the clocks right?")
	}
	return nil
}
