package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/indexes"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/handlers"
	"github.com/bookside/bookside/wpdb"
)

func (p *program) explain() *cobra.Command {
	command := &cobra.Command{
		Use:   "explain REQUEST",
		Short: "show where the time of a request goes",
		Long: `Answers a GET request as the server would, and shows where the time goes: each SELECT with its
duration, the number of rows returned, and the database's plan: the tables in order, the index used
to find rows, and how many rows it examines. At the end it names the indexes that bookside indexes
would create on these tables. It needs no server, and changes nothing.

  bookside explain 'GET /bookings?search=anna'
  bookside explain '/availability?service_id=1&date=2026-12-01' --key 3

Search texts and the answer are not shown, only their lengths. Without --key the request may read
everything; with it, only what that key may.`,
	}
	flags := p.configFlags(command)
	var options explainCommand
	flags.Int64Var(&options.key, "key", 0, "ask as the key with this `ID`")
	flags.BoolVar(&options.json, "json", false, "print the statements as JSON")
	command.RunE = func(command *cobra.Command, operands []string) error {
		method, path, two := strings.Cut(operands[0], " ")
		if !two {
			method, path = http.MethodGet, operands[0]
		}
		if !strings.HasPrefix(path, "/") || method != http.MethodGet {
			return usageErrorf("explain: write a GET request, such as 'GET /bookings?search=anna'")
		}
		return p.explainRequest(command.Context(), options, path)
	}
	return command
}

// explainCommand are the flags of explain.
type explainCommand struct {
	key  int64
	json bool
}

func (p *program) explainRequest(ctx context.Context, command explainCommand, path string) (err error) {
	c, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	key := keys.Key{Permissions: []string{"read"}}
	if command.key != 0 {
		var known bool
		if key, known, err = keys.NewStore(db, p.now, rand.Reader).Find(ctx, command.key); err != nil {
			return t.Explain(err)
		} else if !known {
			return exit.Errorf(exit.Usage, nil, "explain: there is no key %d; see bookside keys list", command.key)
		}
	}
	platform := server.NewPlatform(c, db, p.now)
	options := handlers.Options{BasePaths: c.Server.BasePaths, SiteTimestamps: c.Compat.Timestamps == "site", RequestTimeout: c.Server.RequestTimeout}
	explained, err := handlers.Explain(ctx, platform, p.now, options, key, path)
	if err != nil {
		return t.Explain(err)
	}
	report := explanation{Status: explained.Status, Bytes: len(explained.Body), Milliseconds: milliseconds(explained.Took)}
	if explained.Status >= http.StatusBadRequest {
		report.Problem = strings.TrimSpace(string(explained.Body)) + "\n"
	}
	if err := report.add(ctx, db, explained.Statements); err != nil {
		return t.Explain(err)
	}
	if command.json {
		return p.printJSON(report)
	}
	return p.print(report.text())
}

// explanation is what explain prints.
type explanation struct {
	Status       int                  `json:"status"`
	Bytes        int                  `json:"bytes"`
	Milliseconds float64              `json:"milliseconds"`
	Problem      string               `json:"problem,omitempty"` // the response, if it is an error
	Statements   []explainedStatement `json:"statements"`
	Missing      []string             `json:"missing_indexes"` // table and columns
}

type explainedStatement struct {
	For          string   `json:"for"`
	SQL          string   `json:"sql"`
	Parameters   []string `json:"parameters"`
	Milliseconds float64  `json:"milliseconds"`
	Rows         int      `json:"rows"`
	Failed       bool     `json:"failed,omitempty"`
	Plan         []step   `json:"plan"`
}

type step struct {
	Table  string `json:"table"`
	Access string `json:"access"`
	Index  string `json:"index"`
	Rows   int64  `json:"rows"`
	Extra  string `json:"extra"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// add gets the plans of statements from the database, and finds the missing indexes of their tables.
func (e *explanation) add(ctx context.Context, db *wpdb.DB, statements []wpdb.Statement) error {
	survey, err := indexes.Survey(ctx, db)
	if err != nil {
		return err
	}
	for _, s := range statements {
		shown := explainedStatement{For: s.Op, SQL: s.Text, Parameters: maskedParameters(s.Args), Milliseconds: milliseconds(s.Took), Rows: s.Rows, Failed: s.Err != nil}
		var steps []wpdb.Step
		if s.Err == nil {
			if steps, err = db.Steps(ctx, s); err != nil {
				return err
			}
		}
		for _, x := range steps {
			shown.Plan = append(shown.Plan, step(x))
		}
		e.Statements = append(e.Statements, shown)
		for _, i := range survey {
			missing := fmt.Sprintf("%s (%s)", db.FullName(i.Table), strings.Join(i.Columns, ", "))
			if i.State == indexes.Missing && strings.Contains(s.Text, db.Name(i.Table)) && !slices.Contains(e.Missing, missing) {
				e.Missing = append(e.Missing, missing)
			}
		}
	}
	return nil
}

// maskedParameters shows numbers, and only the length of texts, which may be personal.
func maskedParameters(args []any) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			shown[i] = fmt.Sprintf("a text of %d", len(text))
		} else {
			shown[i] = fmt.Sprint(arg)
		}
	}
	return shown
}

// maxShownParameters is how many parameters of a statement the text shows.
const maxShownParameters = 12

var longList = regexp.MustCompile(`\?(,\?){5,}`)

// shortLists shortens lists of ids.
func shortLists(sql string) string {
	return longList.ReplaceAllStringFunc(sql, func(list string) string { return fmt.Sprintf("?, … %d", len(list)/2+1) })
}

func (e *explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d, %d bytes, %.1f ms, %d statements\n%s", e.Status, e.Bytes, e.Milliseconds, len(e.Statements), e.Problem)
	for i, s := range e.Statements {
		failed := ""
		if s.Failed {
			failed = ", failed"
		}
		fmt.Fprintf(&b, "\n%d. %s: %.1f ms, %d rows%s\n   %s\n", i+1, s.For, s.Milliseconds, s.Rows, failed, shortLists(s.SQL))
		if n := len(s.Parameters); n > maxShownParameters {
			fmt.Fprintf(&b, "   with %s and %d others\n", strings.Join(s.Parameters[:maxShownParameters], ", "), n-maxShownParameters)
		} else if n > 0 {
			fmt.Fprintf(&b, "   with %s\n", strings.Join(s.Parameters, ", "))
		}
		rows := [][]string{{"   table", "access", "index", "rows", ""}}
		for _, x := range s.Plan {
			index := x.Index
			if index == "" {
				index = "none"
			}
			rows = append(rows, []string{"   " + x.Table, x.Access, index, fmt.Sprint(x.Rows), x.Extra})
		}
		b.WriteString(columns(rows))
	}
	b.WriteString("\n")
	if len(e.Missing) == 0 {
		b.WriteString("No index that bookside indexes would make is missing on these tables.\n")
	} else {
		fmt.Fprintf(&b, "Missing indexes on these tables: %s; see bookside indexes.\n", strings.Join(e.Missing, ", "))
	}
	return b.String()
}
