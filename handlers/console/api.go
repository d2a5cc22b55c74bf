package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
)

// apiRequest is what the console asks of the API. Target begins after the base path.
type apiRequest struct {
	Method, Target string
	Body           map[string]any // nil for none
	Tag            string         // of the record that is to be changed, as it was seen; "" for none
	Nonce          string         // of the form, which is to act once; "" for a rehearsal
}

// apiAnswer is a response of the API.
type apiAnswer struct {
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

func (a *apiAnswer) refused() bool { return a.Status >= http.StatusBadRequest }

// stale reports whether somebody has changed the record since it was seen.
func (a *apiAnswer) stale() bool { return a.Error.Code == domain.CodePreconditionFailed }

// read decodes the body of a response without an error.
func (a *apiAnswer) read(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("read the API's response: %w", err)
	}
	return nil
}

// askAsAdmin sends a request to the API with the rights of an administrator, in the name of the person who has logged in.
func (v *visit) askAsAdmin(ask apiRequest) (*apiAnswer, error) {
	admin := keys.Key{Kind: keys.Admin, Name: v.person, Permissions: []string{"read", "write", "delete"}}
	for {
		answer, err := v.sendAs(admin, ask)
		if err != nil || answer.Error.Code != domain.CodeInProgress {
			return answer, err
		}
		// The form was sent twice: the second time waits for what the first one does.
		select {
		case <-time.After(100 * time.Millisecond):
		case <-v.ctx().Done():
			return nil, v.ctx().Err()
		}
	}
}

// sendAs sends a request to the API for somebody without a key. A response that is a failure of the API is an error.
func (v *visit) sendAs(user keys.Key, ask apiRequest) (*apiAnswer, error) {
	var content []byte
	if ask.Body != nil {
		var err error
		if content, err = json.Marshal(ask.Body); err != nil {
			return nil, fmt.Errorf("ask the API: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(v.ctx(), ask.Method, v.basePath()+ask.Target, bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("ask the API: %w", err)
	}
	for name, value := range map[string]string{"If-Match": ask.Tag, "Idempotency-Key": ask.Nonce} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	status, header, body := v.Ask(user, r)
	answer := &apiAnswer{Status: status, Tag: header.Get("ETag"), body: body}
	for _, warning := range header.Values("Warning") {
		if _, text, found := strings.Cut(warning, " bookside "); found {
			if text, err = strconv.Unquote(text); err == nil {
				answer.Warnings = append(answer.Warnings, text)
			}
		}
	}
	if answer.refused() {
		if err := answer.read(&answer.refusal); err != nil {
			return nil, err
		}
	}
	if status >= http.StatusInternalServerError {
		return nil, fmt.Errorf("%s %s: status %d, %s", ask.Method, ask.Target, status, answer.Error.Message)
	}
	return answer, nil
}

// refuse puts what the API refused beside the fields of the form, and the rest above it.
func (a *apiAnswer) refuse(f *page.Form, fields ...string) {
	var problems map[string]string
	if json.Unmarshal(a.Error.Details, &problems) != nil || len(problems) == 0 {
		f.Problem = sentence(a.Error.Message)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		if slices.Contains(fields, name) {
			f.AddError(name, strings.TrimSuffix(problems[name], "."))
		} else {
			f.Problem = strings.TrimSpace(f.Problem + " " + sentence(problems[name]))
		}
	}
}

func sentence(text string) string { return strings.TrimSuffix(text, ".") + "." }
