package handlers

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/coalesce"
	"github.com/bookside/bookside/wpdb"
)

// sharedReads let equal reads that wait at the same time share one execution, which begins after each of
// them has arrived. Nothing is kept for later reads.
type sharedReads struct {
	queues *coalesce.Queues[readKey, *request, encodedResponse]
}

// readKey identifies equal reads: what is read, and what the key may see of it.
type readKey struct {
	route       *route
	path        string
	query       string
	permissions string
	scope       string
	masked      bool
	owner       int64 // the key, if the response depends on it, or if it is limited and thus sees its own customers
}

func newSharedReads() sharedReads {
	return sharedReads{&coalesce.Queues[readKey, *request, encodedResponse]{Run: runRead, Free: encodedResponse.discard, Again: wpdb.IsInterrupted}}
}

// deliver sends the response of a read.
func (s sharedReads) deliver(c echo.Context, r *request) error {
	response, release, err := s.execute(r)
	defer release()
	if err != nil {
		return err
	}
	return response.send(c)
}

// execute runs a read, or shares its execution with equal ones. The response must not be used after
// release.
func (s sharedReads) execute(r *request) (response encodedResponse, release func(), err error) {
	return s.queues.Do(r.ctx(), r.key(), r)
}

func (r *request) key() readKey {
	var owner int64
	if r.route.operation.perKey || !r.principal.Scope.Unlimited() {
		owner = r.principal.ID
	}
	return readKey{
		owner:       owner,
		route:       r.route,
		path:        r.path.String(),
		query:       withoutParameter(r.rawQuery, r.api.options.QueryParameter),
		permissions: strings.Join(r.principal.Permissions, " "),
		scope:       r.principal.Scope.String(),
		masked:      r.principal.MaskPersonal,
	}
}

// withoutParameter removes a parameter from a query: the key, which may differ
// between equal reads.
func withoutParameter(query, name string) string {
	if name == "" || !strings.Contains(query, name) && !strings.Contains(query, "%") {
		return query
	}
	parts := slices.DeleteFunc(strings.Split(query, "&"), func(part string) bool {
		sent, _, _ := strings.Cut(part, "=")
		decoded, err := url.QueryUnescape(sent)
		return sent == name || err == nil && decoded == name
	})
	return strings.Join(parts, "&")
}

// runRead runs equal reads once, with the platform's options that were read last, which was after all of
// them had arrived.
func runRead(ctx context.Context, equal []*request) (encodedResponse, error) {
	latest := slices.MaxFunc(equal, func(a, b *request) int { return cmp.Compare(a.principal.Lookup, b.principal.Lookup) })
	shared := *latest
	shared.context = ctx
	return shared.run()
}
