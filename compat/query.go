package compat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat/numbers"
	"github.com/bookside/bookside/compat/phpform"
)

// Query holds the parameters of one request and collects their problems.
type Query struct {
	raw   string
	sent  map[string]string
	lists map[string]bool // names sent as name[]
	wrong map[string]string
	// beyond is a *BodyError if there are too many variables or levels; the rest of
	// the query is then not parsed.
	beyond error
	zone   *time.Location // of timestamps, see View
	// exported is the maximum number of records to export; 0 for an ordinary response.
	exported int64
}

// Export raises the page size to this many records, for a list that is not sent as one response.
func (q *Query) Export(most int64) { q.exported = most }

// ParseQuery splits a raw query as PHP does: the last of repeated names wins, and invalid escapes are kept
// unchanged.
func ParseQuery(raw string) *Query {
	q := &Query{raw: raw, sent: map[string]string{}}
	variables := 0
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" {
			continue
		}
		if variables++; variables > phpform.MaxVariables {
			q.beyond = ErrTooManyParameters
			return q
		}
		name = phpform.Unescape(name)
		if base, _, isList := strings.Cut(name, "["); isList {
			if _, err := phpform.SplitName(name); err != nil {
				q.beyond = errParameterTooDeep
				return q
			}
			if q.lists == nil {
				q.lists = map[string]bool{}
			}
			q.lists[base] = true
			continue
		}
		delete(q.lists, name)
		q.sent[name] = phpform.Unescape(value)
	}
	return q
}

var (
	// ErrTooManyParameters is the error for a query with more variables than PHP reads.
	ErrTooManyParameters = &BodyError{fmt.Sprintf("The query has more than %d variables", phpform.MaxVariables)}
	errParameterTooDeep  = &BodyError{fmt.Sprintf("The name of a variable in the query nests deeper than %d levels", phpform.MaxNesting)}
)

// Last returns the last value of a parameter, or "".
func (q *Query) Last(name string) string { return q.sent[name] }

// CheckDryRun refuses a dry_run without a value, which says neither yes nor no to writing.
func (q *Query) CheckDryRun() error {
	if text, sent := q.sent[dryRun]; sent && strings.TrimSpace(text) == "" {
		return domain.InvalidField(dryRun, notABoolean)
	}
	return nil
}

// AsksForDryRun reports whether the query requests a dry run.
func (q *Query) AsksForDryRun() bool { return q.lists[dryRun] || wantsDryRun(q.sent[dryRun]) }

// Others returns the names of unknown parameters, in alphabetical order.
func (q *Query) Others(known func(name string) bool) []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(q.sent)), maps.Keys(q.lists))
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), known)
}

// Readable returns a *BodyError for a query with more variables or levels than PHP reads.
func (q *Query) Readable() error { return q.beyond }

// addProblem records a problem with a parameter; the first one is kept.
func (q *Query) addProblem(name string, f problem) {
	if _, known := q.wrong[name]; known {
		return
	}
	if q.wrong == nil {
		q.wrong = map[string]string{}
	}
	q.wrong[name] = f.message
}

func (q *Query) location() *time.Location { return q.zone }

func (q *Query) present(name string) bool {
	_, ok := q.text(name)
	return ok
}

// text returns a parameter's trimmed text; ok is false if none was sent.
func (q *Query) text(name string) (value string, ok bool) {
	if q.lists[name] {
		q.addProblem(name, invalid(notSingle))
		return "", false
	}
	value = strings.TrimSpace(q.sent[name])
	switch {
	case value == "":
		return "", false
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		q.addProblem(name, invalid("Must be valid UTF-8 without control characters"))
		return "", false
	case utf8.RuneCountInString(value) > maxText:
		q.addProblem(name, tooLong)
		return "", false
	}
	return value, true
}

// Records returns how many records a parameter such as per_page requests, or an ordinary page if it is
// missing or wrong.
func (q *Query) Records(name string) int64 {
	n, ok := numbers.Integer(strings.TrimSpace(q.sent[name]))
	if !ok || n.Sign() <= 0 || n.Cmp(decimal.NewFromInt(maxPerPage)) > 0 {
		return 20
	}
	return n.IntPart()
}

// PageParameters are the parameters of lists that support only pages.
var PageParameters = parameters("", domain.InvalidParameters, func(p *session.Paging) Fields {
	return Fields{page(&p.Page), perPage(10, &p.PerPage)}
})

// Parameters of requests that may be forced. They are fields of the body too.
var (
	DeleteBookingParameters = forceable("DELETE /bookings/{id}")
	UpdateInvoiceParameters = forceable("PUT /orders/{id}/invoices/{invoice_id}")
	WriteOrderParameters    = forceable("an order")
	WritePaymentParameters  = forceable("a payment")
)

func forceable(request string) Parameters[bool] {
	return parameters(request, domain.InvalidRequest, func(force *bool) Fields { return Fields{flag("force", force)} })
}

// ReadForce reads the parameter force of a request without fields of its own, which may also be in its body.
func ReadForce(b *Body) (force bool, err error) {
	DeleteBookingParameters.Declaration.read(b, &force)
	return force, b.Err()
}
