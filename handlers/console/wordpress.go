package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/signed"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/signature"
)

func (c *Console) addWordPress(mux *http.ServeMux) {
	get := func(path string, serve func(*visit) error) {
		mux.Handle("GET "+WordPressPath+path, c.withSignature(serve))
	}
	post := func(path string, serve func(*visit) error) {
		mux.Handle("POST "+WordPressPath+path, c.withSignature(serve))
	}
	post("/page", c.showFramed)
	post("/report", c.showReport)
	get("/keys", c.list)
	get("/keys/new", c.showNew)
	post("/keys/new", c.create)
	get("/keys/{id}", c.showEdit)
	post("/keys/{id}", c.update)
	get("/keys/{id}/roll", c.showRoll)
	post("/keys/{id}/roll", c.roll)
	get("/webhooks", c.listWebhooks)
	get("/webhooks/{id}", func(v *visit) error { return c.showWebhook(v, http.StatusOK, "") })
	get("/extensions", func(v *visit) error { return c.listEvents(v, http.StatusOK, "") })
	post("/extensions/{id}/again", c.tellAgain)
	get("/changes", c.listChanges)
	get("/overlaps", c.listOverlaps)
	get("/requests", c.listRequests)
	get("/requests/{id}", c.showRequest)
	get("/free-times", c.showFreeTimes)
	get("/console", c.showAddress)
	get("/availability", func(v *visit) error {
		return v.askFor(keys.Key{Permissions: []string{"read_availability"}}, http.MethodGet, "/availability?"+v.r.URL.RawQuery)
	})
	post("/bookings", func(v *visit) error { return c.book(v, http.MethodPost, "/bookings") })
	post("/bookings/{id}", func(v *visit) error {
		return c.book(v, http.MethodPut, "/bookings/"+url.PathEscape(v.r.PathValue("id")))
	})
	mux.Handle(WordPressPath+"/", c.withSignature(c.noPage))
}

// withSignature serves requests signed with the secret of this site.
func (c *Console) withSignature(serve func(*visit) error) http.Handler {
	return c.withDatabase(func(v *visit) error {
		body, err := io.ReadAll(v.r.Body)
		if err != nil {
			return v.refuse(http.StatusRequestEntityTooLarge, "The request is too long, or broke off.")
		}
		v.signAnswer, err = c.signatures.Check(v.r, body, v.Platform, v.Tokens)
		if refusal, refused := errors.AsType[*signature.Error](err); refused {
			if refusal.RetryAfter > 0 {
				v.w.Header().Set(retryAfterHeader, strconv.FormatInt(refusal.RetryAfter, 10))
			}
			return v.refuse(refusal.Status, refusal.Message)
		}
		if err != nil {
			return err
		}
		v.r.Body = io.NopCloser(bytes.NewReader(body))
		if v.r.ParseForm() != nil {
			return c.badForm(v)
		}
		v.person = keys.CutName(v.r.PostForm.Get("person"), "")
		v.userID, _ = strconv.ParseInt(v.r.Form.Get("user"), 10, 64) // most pages do not send it
		return serve(v)
	})
}

// book sends the booking in the form to the API, for the WordPress user in it and within what their role allows.
func (c *Console) book(v *visit, method, path string) error {
	user := keys.Key{Permissions: []string{"write_bookings"}}
	var err error
	if user.UserID, err = strconv.ParseInt(v.r.PostForm.Get("user"), 10, 64); err != nil {
		return c.badForm(v)
	}
	for name, ids := range map[string]*[]int64{"agents": &user.Scope.Agents, "services": &user.Scope.Services, "locations": &user.Scope.Locations} {
		if *ids, err = keys.ParseIDs(v.r.PostForm.Get(name)); err != nil {
			return c.badForm(v)
		}
	}
	return v.askFor(user, method, path)
}

// askFor sends the API's response to a request with the content of the form.
func (v *visit) askFor(user keys.Key, method, target string) error {
	user.Kind = keys.User
	r, err := http.NewRequestWithContext(v.ctx(), method, v.basePath()+target, strings.NewReader(v.r.PostForm.Get("content")))
	if err != nil {
		return fmt.Errorf("ask the API: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	status, _, answer := v.Ask(user, r)
	return v.send(http.StatusOK, apiFacts{status, answer})
}

// apiFacts is a response of the API.
type apiFacts struct {
	Status int             `json:"status"`
	Answer json.RawMessage `json:"answer"`
}

func (v *visit) refuse(status int, message string) error {
	return v.send(status, facts.Message{Message: message})
}

// send sends JSON to WordPress, signed if the request was.
func (v *visit) send(status int, facts any) error {
	body, err := json.Marshal(facts)
	if err != nil { // facts are texts and numbers
		status, body = http.StatusInternalServerError, nil
	}
	v.w.Header().Set("Content-Type", "application/json")
	sign := v.signAnswer
	if v.frame != nil {
		sign = v.frame.sign
	}
	if sign != nil {
		v.w.Header().Set(signed.Header, sign(status, body))
	}
	v.w.WriteHeader(status)
	_, _ = v.w.Write(body) // fails only if the client is gone
	return nil
}
