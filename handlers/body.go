package handlers

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/wordpress"
	"github.com/bookside/bookside/wpdb"
)

// readDocument parses the body of a write, an object or a list, and adds fields from the query that it lacks. A DELETE is
// read like any other: nothing is written for a client that only meant to try it.
func (r *request) readDocument() error {
	document, err := compat.ParseBody(r.echo.Request().Header.Get("Content-Type"), r.rawBody)
	if err != nil {
		return err
	}
	if r.document, err = document.WithQuery(r.echo.Request().URL.RawQuery, r.api.reservedParameters()...); err != nil {
		return err
	}
	if err := r.query.CheckDryRun(); err != nil {
		return err
	}
	if r.asksForDryRun() {
		if !r.dryRuns {
			return compat.NoDryRun()
		}
		if err := r.principal.Require(r.reading); err != nil {
			return err
		}
	}
	if r.route.method == http.MethodPut {
		return nil // see update
	}
	return r.check(r.document)
}

// check refuses a document that names what nothing reads or what the key may not write, or that is no object although
// nothing is read from it.
func (r *request) check(document compat.Document) error {
	if r.route.operation.body == nil {
		if _, err := document.Body(); err != nil {
			return err
		}
	}
	if err := r.refuseUnknownFields(document); err != nil {
		return err
	}
	if !r.principal.MaskPersonal {
		return nil
	}
	if name := document.Personal(r.known.body); name != "" {
		return domain.PersonalMasked(name)
	}
	return nil
}

func (r *request) asksForDryRun() bool { return r.document.AsksForDryRun() || r.query.AsksForDryRun() }

// reservedParameters returns the parameters of a query that are not fields of a body.
func (a *api) reservedParameters() []string {
	return []string{a.options.QueryParameter, wordpress.RouteParameter, middleware.MethodParameter}
}

// body returns the request's body, which must be an object.
func (r *request) body() (*compat.Body, error) { return r.document.Body() }

// changing returns the document of a PUT without the fields that equal the record as a GET shows it to the key, and whether
// there were any. A request with a tag is about what a GET of its own URL shows. A key that may not read the record learns nothing by comparing.
func (r *request) changing(within *session.Session) (changing compat.Document, dropped bool, err error) {
	changing = r.document
	if r.principal.Holds(r.reading) {
		query := r.recordQuery
		if _, sent := r.tags(); sent {
			query = cmp.Or(query, r.echo.Request().URL.RawQuery)
		}
		present, err := r.present(within, query)
		if err != nil {
			return changing, false, err
		}
		record, err := r.recordIn(present)
		if err != nil {
			return changing, false, err
		}
		changing, dropped = r.document.Changing(record, r.known.body)
	}
	return changing, dropped, r.check(changing)
}

// update runs work, which changes a record, with what the request changes of it.
func (r *request) update(work func(tx *session.Tx, body *compat.Body) (any, error)) (response, error) {
	run := r.change
	if r.asksForDryRun() {
		run = r.dryRun
	}
	return run(func(tx *session.Tx) (any, error) {
		body, err := r.bodyOfChange(tx)
		if err != nil {
			return nil, err
		}
		return work(tx, body)
	})
}

// bodyOfChange returns the body of a change. That of a PUT is compared with the record before it is locked, because the locks
// depend on it, and again behind the locks: if something else is left then, the transaction runs again.
func (r *request) bodyOfChange(tx *session.Tx) (*compat.Body, error) {
	if r.route.method != http.MethodPut {
		return r.body()
	}
	changing, dropped, err := r.changing(tx.AsCaller())
	if err != nil {
		return nil, err
	}
	if demanded := tx.Precondition; dropped {
		tx.Precondition = func(within *session.Session) error {
			if demanded != nil {
				if err := demanded(within); err != nil {
					return err
				}
			}
			again, _, err := r.changing(within)
			if err == nil && !bytes.Equal(again.JSON(), changing.JSON()) {
				err = fmt.Errorf("compare the record: %w", wpdb.ErrChanged)
			}
			return err
		}
	}
	return changing.Body()
}
