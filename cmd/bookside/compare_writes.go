package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/rowdiff"
	"github.com/bookside/bookside/cmd/bookside/compare"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// readScenario returns nil without --writes.
func (c *compareCommand) readScenario() (compare.Scenario, error) {
	if !c.writes {
		return nil, nil
	}
	scenario, err := compare.ReadScenario(c.scenario)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, err, "--scenario: %v", err)
	}
	return scenario, nil
}

// write compares what a scenario writes to the two copies.
func (c *compareCommand) write(ctx context.Context, run *compare.Run, scenario compare.Scenario) (result *compare.Result, err error) {
	var opened [2]*rowdiff.Copy
	for i, text := range []string{c.copyA, c.copyB} {
		t, err := c.copyTarget(text)
		if err != nil {
			return nil, err
		}
		db, err := t.Open(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		if opened[i], err = rowdiff.Open(ctx, db); err != nil {
			return nil, exit.Errorf(exit.NoTables, err, "--on-copy: %v", err)
		}
	}
	result, err = run.Write(ctx, scenario, opened[0], opened[1])
	var refused *compare.RefusedError
	switch {
	case errors.As(err, &refused):
		return nil, exit.Errorf(exit.Failure, err, "nothing was sent:\n  %v", err)
	case err != nil:
		return nil, exit.Errorf(exit.Failure, err, "the comparison failed: %v", err)
	}
	result.Source = fmt.Sprintf("%d requests of a scenario", len(scenario))
	return result, nil
}

// copyTimeout limits a statement on a copy: after each request all rows are compared.
const copyTimeout = 2 * time.Minute

// copyTarget returns a database of --on-copy: a DSN, or @ and a file with one.
func (c *compareCommand) copyTarget(text string) (server.Target, error) {
	if file, ok := strings.CutPrefix(text, "@"); ok {
		content, err := os.ReadFile(file)
		if err != nil {
			return server.Target{}, usageErrorf("--on-copy: %v", err)
		}
		text = strings.TrimSpace(string(content))
	}
	parts, ok := settings.ParseDSN(text)
	if !ok {
		return server.Target{}, usageErrorf("--on-copy: not a DSN such as user:password@tcp(127.0.0.1:3306)/database")
	}
	return server.Target{
		Config:  wpdb.Config{DSN: text, Prefix: c.prefix, MaxOpen: 2, StatementTimeout: copyTimeout},
		Address: parts.Address, Database: parts.Database, Source: "--on-copy", Credentials: "the DSN of --on-copy",
	}, nil
}
