// Package api is how the console asks the API, within the process: what an administrator does is an operation of the API,
// with its rules and its entry in the journal. It imports adapter/domain, adapter/keys and the forms of handlers/console/page,
// beside whose fields it puts what the API refuses.
package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
)

// Request is what the console asks of the API. Target begins after the base path.
type Request struct {
	Method, Target string
	Body           map[string]any // nil for none
	Tag            string         // of the record that is to be changed, as it was seen; "" for none
	Nonce          string         // of the form, which is to act once; "" for a rehearsal
}

// Answer is a response of the API.
type Answer struct {
	Status   int
	Tag      string // of the record that was read
	Warnings []string
	body     []byte
	refusal
}

// refusal is the error of a response.
type refusal struct {
	Error struct {
		Code    domain.Code     `json:"code"`
		Message string          `json:"message"`
		Details json.RawMessage `json:"details"`
	} `json:"error"`
}

// Refused reports whether the API did not do what was asked.
func (a *Answer) Refused() bool { return a.Status >= http.StatusBadRequest }

// Stale reports whether somebody has changed the record since it was seen.
func (a *Answer) Stale() bool { return a.Error.Code == domain.CodePreconditionFailed }

// Read decodes the body of a response without an error.
func (a *Answer) Read(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("read the API's response: %w", err)
	}
	return nil
}

// Caller sends requests to the API.
type Caller struct {
	// Send sends a request for a WordPress user or an administrator, see handlers.AskFor.
	Send func(user keys.Key, r *http.Request) (status int, header http.Header, body []byte)
	Base string // the base path of the API
}

// AsAdmin sends a request with the rights of an administrator, in the name of admin: a person on the console, or a WordPress
// user.
func (c Caller) AsAdmin(ctx context.Context, admin keys.Key, request Request) (*Answer, error) {
	admin.Permissions = []string{"read", "write", "delete"}
	for {
		answer, err := c.ask(ctx, admin, request)
		if err != nil || answer.Error.Code != domain.CodeInProgress {
			return answer, err
		}
		// The form was sent twice: the second time waits for what the first one does.
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// ask sends a request for somebody without a key. A response that is a failure of the API is an error.
func (c Caller) ask(ctx context.Context, user keys.Key, request Request) (*Answer, error) {
	var content []byte
	if request.Body != nil {
		var err error
		if content, err = json.Marshal(request.Body); err != nil {
			return nil, fmt.Errorf("ask the API: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, request.Method, c.Base+request.Target, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("ask the API: %w", err)
	}
	for name, value := range map[string]string{"If-Match": request.Tag, "Idempotency-Key": request.Nonce} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	status, header, body := c.Send(user, r)
	answer := &Answer{Status: status, Tag: header.Get("ETag"), body: body}
	for _, warning := range header.Values("Warning") {
		if _, text, found := strings.Cut(warning, " bookside "); found {
			if text, err = strconv.Unquote(text); err == nil {
				answer.Warnings = append(answer.Warnings, text)
			}
		}
	}
	if answer.Refused() {
		if err := answer.Read(&answer.refusal); err != nil {
			return nil, err
		}
	}
	if status >= http.StatusInternalServerError {
		return nil, fmt.Errorf("%s %s: status %d, %s", request.Method, request.Target, status, answer.Error.Message)
	}
	return answer, nil
}

// Problems are the messages of a refusal by field, if it has any.
func (a *Answer) Problems() map[string]string {
	var problems map[string]string
	if json.Unmarshal(a.Error.Details, &problems) != nil {
		return nil // details of another kind
	}
	return problems
}

// Refuse puts what the API refused beside the fields of the form, and the rest above it.
func (a *Answer) Refuse(f *page.Form, fields ...string) {
	problems := a.Problems()
	if len(problems) == 0 {
		f.Problem = page.Text(page.Sentence(a.Error.Message))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		field := name
		if !slices.Contains(fields, name) {
			field = ""
		}
		f.AddError(field, problems[name])
	}
}

// Sentences say why the API refused a request: its message, and what is wrong with each parameter.
func (a *Answer) Sentences() []page.Text {
	sentences := []page.Text{page.Text(page.Sentence(a.Error.Message))}
	problems := a.Problems()
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		sentences = append(sentences, page.Text(page.Sentence(problems[name])))
	}
	return sentences
}

// PublicAddress returns the address of the API below that of a site; "" if web servers do not forward the
// base path, or if the address cannot be quoted in a shell command.
func PublicAddress(home, basePath string) string {
	u, err := url.Parse(home)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(home, `'"\`) || basePath != u.Path+"/wp-json/latepoint-api/v1" {
		return ""
	}
	return u.Scheme + "://" + u.Host + basePath
}
