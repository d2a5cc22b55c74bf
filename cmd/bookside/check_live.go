package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/diagnose"
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
	text := "ready\n"
	for _, problem := range []string{readiness.Writes, readiness.Changes, readiness.Extensions} {
		if problem != "" {
			text += "warning: " + problem + "\n"
		}
	}
	return p.print(text)
}

// runningServer is the server that answers at admin.listen.
type runningServer struct {
	address string
	monitor.VerboseReadiness
	own string // the fingerprint of the site to compare with
}

// findServer looks for a server at admin.listen, and returns nil if none answers. own is the fingerprint of
// the site that it should serve.
func findServer(ctx context.Context, address, own string) *runningServer {
	if address == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second) // the server itself takes at most two
	defer cancel()
	readiness, err := fetchReadiness(ctx, "http://"+server.Dialable(address)+"/readyz?verbose")
	if err != nil || readiness.Status == "" {
		return nil
	}
	return &runningServer{address, readiness, own}
}

// known reports whether both fingerprints, the server's and the site's, are known; earlier versions do not
// send one.
func (s *runningServer) known() bool { return s.own != "" && s.Fingerprint != "" }

// foreign reports whether the server serves another site.
func (s *runningServer) foreign() bool { return s.known() && s.own != s.Fingerprint }

// restored reports whether the server knows that an older database was restored under it. Only a server
// that ran meanwhile can know.
func (s *runningServer) restored() bool {
	return s != nil && slices.ContainsFunc(s.Rating, func(r monitor.Rated) bool { return r.Code == diagnose.RestoredUnder })
}

// site says which site the server serves.
func (s *runningServer) site() string {
	switch {
	case !s.known():
		return "does not say which site it serves"
	case s.foreign():
		return "serves another site, or a copy of this one: correct the database (db.dsn) or the address (admin.listen), or restart it if it was started with other settings"
	default:
		return "serves this site"
	}
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
