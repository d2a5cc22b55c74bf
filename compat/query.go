package compat

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"bookside/adapter"
	"bookside/adapter/domain"
)

// Query reads the parameters of one request and collects what is wrong with
// them: Err names every wrong one.
type Query struct {
	values
	sent  map[string]string
	lists map[string]bool // names sent as name[]
	wrong map[string]string
	// beyond is a *BodyError where there are more variables or levels than may
	// be; the query was not read on then.
	beyond error

	described *Reading
}

// ParseQuery splits a raw query as PHP does: the last of repeated names wins,
// and what is no escape stays as it is.
func ParseQuery(raw string) *Query {
	q := &Query{sent: map[string]string{}, lists: map[string]bool{}, wrong: map[string]string{}}
	q.source = q
	variables := 0
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name == "" {
			continue
		}
		if variables++; variables > maxVariables {
			q.beyond = errTooManyParameters
			return q
		}
		name = unescape(name)
		if base, _, isList := strings.Cut(name, "["); isList {
			if _, err := splitName(name); err != nil {
				q.beyond = errParameterTooDeep
				return q
			}
			q.lists[base] = true
			continue
		}
		delete(q.lists, name)
		q.sent[name] = unescape(value)
	}
	return q
}

var (
	errTooManyParameters = &BodyError{fmt.Sprintf("The query has more than %d variables", maxVariables)}
	errParameterTooDeep  = &BodyError{fmt.Sprintf("The name of a variable in the query nests deeper than %d levels", maxNesting)}
)

// Readable is a *BodyError for a query with more variables or levels than PHP
// reads.
func (q *Query) Readable() error { return q.beyond }

// unescape decodes what is an escape and keeps the rest.
func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b.WriteByte(' ')
		case s[i] == '%' && i+2 < len(s):
			code, err := strconv.ParseUint(s[i+1:i+3], 16, 8)
			if err != nil {
				b.WriteByte('%')
				continue
			}
			b.WriteByte(byte(code))
			i += 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// Err is an adapter error naming every wrong parameter, or nil.
func (q *Query) Err() error {
	if len(q.wrong) == 0 {
		return nil
	}
	return domain.InvalidParameters(q.wrong)
}

// RequestErr is Err for endpoints that answer invalid_request.
func (q *Query) RequestErr() error {
	if len(q.wrong) == 0 {
		return nil
	}
	return domain.InvalidRequest(q.wrong)
}

// refuse notes what is wrong with a parameter; the first finding stays.
func (q *Query) refuse(name, format string, args ...any) {
	if _, known := q.wrong[name]; !known {
		q.wrong[name] = fmt.Sprintf(format, args...)
	}
}

func (q *Query) reading() *Reading { return q.described }

func (q *Query) note(name string, f fault) { q.refuse(name, "%s", f.message) }

// text is a parameter's trimmed text; ok is false where none was sent.
func (q *Query) text(name string) (value string, ok bool) {
	if q.lists[name] {
		q.refuse(name, notAList)
		return "", false
	}
	value = strings.TrimSpace(q.sent[name])
	switch {
	case value == "":
		return "", false
	case !utf8.ValidString(value) || strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f }):
		q.refuse(name, "Must be valid UTF-8 without control characters")
		return "", false
	case utf8.RuneCountInString(value) > maxText:
		q.note(name, tooLong)
		return "", false
	}
	return value, true
}

// Text is any text.
func (q *Query) Text(name string) *string {
	q.described.text(name)
	value, ok := q.text(name)
	if !ok {
		return nil
	}
	return &value
}

// descending reads the direction of a sort.
func (q *Query) descending(fallback bool) bool {
	return wordOr(q, "order", map[string]bool{"asc": false, "desc": true}, fallback, "Must be asc or desc")
}

const unknownSort = "Invalid sorting field"

// words reads a comma-separated list of known words, in any letter case.
func (q *Query) words(name string, known ...string) map[string]bool {
	q.described.list(name, &Schema{Type: typeString, Enum: known})
	text, ok := q.text(name)
	if !ok {
		return nil
	}
	found := map[string]bool{}
	for word := range strings.SplitSeq(strings.ToLower(text), ",") {
		word = strings.TrimSpace(word)
		if word != "" && !slices.Contains(known, word) {
			q.refuse(name, "Must be a list of: %s", strings.Join(known, ", "))
		}
		found[word] = true
	}
	return found
}

// maxPage keeps the offset of a page within 64 bits.
const maxPage = 1 << 53

// Paging reads page and per_page.
func (q *Query) Paging(perPage int64) adapter.Paging {
	p := adapter.Paging{Page: valueOr(q.Integer("page", 1, maxPage), 1), PerPage: valueOr(q.Integer("per_page", 1, maxPerPage), perPage)}
	q.described.standard("page", int64(1))
	q.described.standard("per_page", perPage)
	return p
}

// maxPerPage is how many records an answer may have.
const maxPerPage = 100

// Records is how many records are asked for by a parameter such as per_page; an
// ordinary page where it was not sent or is wrong.
func (q *Query) Records(name string) int64 {
	n, ok := parseInteger(strings.TrimSpace(q.sent[name]))
	if !ok || n.Sign() <= 0 || n.Cmp(decimal.NewFromInt(maxPerPage)) > 0 {
		return 20
	}
	return n.IntPart()
}
