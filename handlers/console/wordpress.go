package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/signature"
)

// WordPressPath is the path below which the companion asks for pages of the console, by signed requests. It has checked the
// right of the user of WordPress, and the nonce of a form.
const WordPressPath = "/wordpress"

// frame is a page of wp-admin that shows a page of the console.
type frame struct {
	Method   string `json:"method"`   // GET or POST
	Path     string `json:"path"`     // of the page below Path, with its query, such as /keys?done=changed&id=3
	Form     string `json:"form"`     // as the browser sent it
	UserID   int64  `json:"user_id"`  // who looks
	Login    string `json:"login"`    // the name of that user
	Language string `json:"language"` // that the user reads, such as de-DE
	Address  string `json:"address"`  // of the page of wp-admin; the path of a page is added as a parameter
	Nonce    string `json:"nonce"`    // for forms
}

// Parameters of the page of wp-admin.
const (
	pathParameter  = "at"
	nonceParameter = "_wpnonce"
)

// framed is a page for the companion: what it prints, or where it sends the browser.
type framed struct {
	Title    string `json:"title"`
	Content  string `json:"content"`
	Location string `json:"location,omitempty"`
}

// framedReport is the state of the site for WordPress's Site Health.
type framedReport struct {
	Level   string `json:"level"`
	Content string `json:"content"`
}

// refusal says why a request from WordPress is not answered.
type refusal struct {
	Message string `json:"message"`
}

// address returns where a page of the console is in wp-admin.
func (f *frame) address(path string) string {
	below := strings.TrimPrefix(path, Path)
	if below == "" {
		return f.Address
	}
	return f.Address + "&" + url.Values{pathParameter: {below}}.Encode()
}

// frameOf returns the page of wp-admin that shows a page; nil for a browser.
func frameOf(r *http.Request) *frame {
	f, _ := r.Context().Value(frame{}).(*frame)
	return f
}

// framedPath matches the paths of pages with their queries.
var framedPath = regexp.MustCompile(`^(/[a-z0-9-]+)*(\?.*)?$`)

// errFrame means that the companion asks for no page.
var errFrame = errors.New("not a page")

// request is the one of the browser that looks at the frame.
func (f *frame) request(ctx context.Context, from string) (*http.Request, error) {
	if !framedPath.MatchString(f.Path) || f.Method != http.MethodGet && f.Method != http.MethodPost {
		return nil, errFrame
	}
	r, err := http.NewRequestWithContext(context.WithValue(ctx, frame{}, f), f.Method, Path+f.Path, strings.NewReader(f.Form))
	if err != nil {
		return nil, err
	}
	r.URL, r.RemoteAddr = page.ValidQuery(r.URL), from
	r.Header.Set("Accept-Language", f.Language)
	if f.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return r, nil
}

// response is what a page answers, before it is signed.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *response) Header() http.Header            { return a.header }
func (a *response) WriteHeader(status int)         { a.status = status }
func (a *response) Write(text []byte) (int, error) { return a.body.Write(text) }

// inWordPress answers signed requests for a frame.
func (c *Console) inWordPress(serve func(*Site, *http.Request) (status int, answer []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		site := c.site.Load()
		if site == nil {
			refuse(w, &signature.Error{Status: http.StatusServiceUnavailable, Message: "The server of the API is not connected to the database yet. Try again in a moment.", RetryAfter: retryAfter})
			return
		}
		body, sign, err := c.readSigned(r, site)
		if refused, ok := errors.AsType[*signature.Error](err); ok {
			refuse(w, refused)
			return
		}
		if err != nil {
			c.log.ErrorContext(r.Context(), "console failed", "error", err)
			refuse(w, &signature.Error{Status: http.StatusServiceUnavailable, Message: "The database cannot be used at the moment. Try again later.", RetryAfter: retryAfter})
			return
		}
		var f frame
		asked, err := r, json.Unmarshal(body, &f)
		if err == nil {
			asked, err = f.request(r.Context(), r.RemoteAddr)
		}
		if err != nil {
			refuse(w, &signature.Error{Status: http.StatusBadRequest, Message: "This form cannot be read. Go back and send it again."})
			return
		}
		status, answer := serve(site, asked)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(extensions.SignatureHeader, sign(status, answer))
		w.WriteHeader(status)
		_, _ = w.Write(answer) // fails only if the client is gone
	}
}

// readSigned returns the body of a signed request, and how to sign the answer.
func (c *Console) readSigned(r *http.Request, site *Site) (body []byte, sign signature.Signer, err error) {
	if err := c.signatures.CheckForm(r); err != nil {
		return nil, nil, err
	}
	body, err = io.ReadAll(r.Body)
	if err != nil {
		return nil, nil, &signature.Error{Status: http.StatusRequestEntityTooLarge, Message: "The request is too long, or broke off."}
	}
	sign, err = c.signatures.Check(r, body, site.Platform, site.Tokens)
	return body, sign, err
}

// framedPage answers with a page, or where it leads.
func (c *Console) framedPage(_ *Site, r *http.Request) (status int, answer []byte) {
	a := &response{header: http.Header{}, status: http.StatusOK}
	c.routes.ServeHTTP(a, r)
	if to := a.header.Get("Location"); to != "" {
		return http.StatusOK, encoded(framed{Location: frameOf(r).address(to)})
	}
	return a.status, a.body.Bytes()
}

// report answers with what needs a person.
func (c *Console) report(site *Site, r *http.Request) (status int, answer []byte) {
	v := &visit{Site: site, r: r, frame: frameOf(r)}
	needs, level, err := v.needs()
	if err != nil {
		problem, status := c.explain(v, err)
		return status, encoded(refusal{string(problem)})
	}
	return http.StatusOK, encoded(framedReport{level.String(), rendered(needs, c.reader(v))})
}

// rendered is a node as HTML.
func rendered(node interface{ Render(io.Writer) error }, reader page.Reader) string {
	var text bytes.Buffer
	_ = node.Render(page.For(&text, reader)) // a buffer takes everything
	return text.String()
}

// encoded is an answer as JSON.
func encoded(answer any) []byte {
	text, err := json.Marshal(answer)
	if err != nil { // answers are texts
		panic(err)
	}
	return text
}

// refuse says why a request is not answered, unsigned.
func refuse(w http.ResponseWriter, why *signature.Error) {
	if why.RetryAfter > 0 {
		w.Header().Set(retryAfterHeader, strconv.FormatInt(why.RetryAfter, 10))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(why.Status)
	_, _ = w.Write(encoded(refusal{why.Message})) // fails only if the client is gone
}

// person is the login of who looks, as a name for what they make.
func (f *frame) person() string { return keys.NameOr(f.Login, "") }
