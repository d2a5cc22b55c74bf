package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/handlers/monitor"
)

// checkLive asks the running server for its readiness; it needs no database.
func (p *program) checkLive(ctx context.Context, address string) error {
	if address == "" {
		return exit.Errorf(exit.Failure, nil, "%s is empty: the server answers no probes", settings.Named(settings.AdminListen))
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	readiness, err := fetchReadiness(ctx, "http://"+server.Dialable(address)+"/readyz")
	if err != nil {
		return exit.Errorf(exit.Failure, err, "the server does not answer probes at %s; check that it is running and that it has the same %s", address, settings.Named(settings.AdminListen))
	}
	if readiness.Status != monitor.StatusReady {
		return exit.Errorf(exit.Failure, nil, "the server is %s: database %s, platform %s", readiness.Status, readiness.Database, readiness.Platform)
	}
	return p.print("ready\n")
}

// findServer looks for a server at admin.listen, and returns nil if none answers.
func findServer(ctx context.Context, address string) *monitor.VerboseReadiness {
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // the server itself takes at most two
	defer cancel()
	readiness, err := fetchReadiness(ctx, "http://"+server.Dialable(address)+"/readyz?verbose")
	if err != nil || readiness.Status == "" {
		return nil
	}
	return &readiness
}

func fetchReadiness(ctx context.Context, url string) (r monitor.VerboseReadiness, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return r, err
	}
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	return r, json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&r)
}
