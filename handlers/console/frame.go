package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	g "maragu.dev/gomponents"

	"golang.org/x/net/html"

	"github.com/bookside/bookside/adapter/diagnose"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/signature"
)

// WordPressPath is where the companion asks for pages of the console, by signed requests. It has checked the right of
// the user of WordPress, and the nonce of a form.
const WordPressPath = "/wordpress"

// frame is a page of wp-admin that shows pages of the console.
type frame struct {
	Method   string `json:"method"`   // GET or POST
	Path     string `json:"path"`     // of the page below Path, with its query, such as /keys?done=changed&id=3
	Form     string `json:"form"`     // as the browser sent it
	UserID   int64  `json:"user_id"`  // who looks
	Login    string `json:"login"`    // the name of that user
	Language string `json:"language"` // that the user reads, such as de-DE
	Address  string `json:"address"`  // of the page of wp-admin; the path of a page is added as a parameter
	Nonce    string `json:"nonce"`    // for forms

	sign signature.Signer
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

// frameKey is the key of a frame in the context of the request for a page.
type frameKey struct{}

// showFramed answers a signed request with the page that it asks for.
func (c *Console) showFramed(v *visit) error {
	return c.inFrame(v, func(f *frame, r *http.Request) error {
		c.pages.ServeHTTP(v.w, r.WithContext(context.WithValue(r.Context(), frameKey{}, f)))
		return nil
	})
}

// showReport answers a signed request with what needs a person.
func (c *Console) showReport(v *visit) error {
	return c.inFrame(v, func(f *frame, r *http.Request) error {
		v.frame, v.r = f, r
		found, _, err := v.overview.health.Get(v.ctx())
		if err != nil {
			return err
		}
		worst := diagnose.Good
		for _, need := range found.needs() {
			worst = max(worst, need.Level)
		}
		content, err := f.render(needsView(found), c.reader(v))
		if err != nil {
			return err
		}
		return v.send(http.StatusOK, framedReport{worst.String(), content})
	})
}

// inFrame reads what the companion asks for. The request that it calls serve with is the one of the browser.
func (c *Console) inFrame(v *visit, serve func(*frame, *http.Request) error) error {
	f := &frame{sign: v.signAnswer}
	if err := json.NewDecoder(v.r.Body).Decode(f); err != nil {
		return c.badForm(v)
	}
	r, err := http.NewRequestWithContext(v.ctx(), f.Method, Path+f.Path, strings.NewReader(f.Form))
	if err != nil {
		return c.badForm(v)
	}
	r.URL, r.RemoteAddr = page.ValidQuery(r.URL), v.r.RemoteAddr
	r.Header.Set("Accept-Language", f.Language)
	if f.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return serve(f, r)
}

// showFramedPage sends a page as a part of the page of wp-admin.
func (c *Console) showFramedPage(v *visit, status int, l page.Layout, content g.Node) error {
	reader := c.reader(v)
	inner, err := v.frame.render(l.Inner(content), reader)
	if err != nil {
		return err
	}
	var whole bytes.Buffer
	if err := l.Part(g.Raw(inner)).Render(page.For(&whole, reader)); err != nil {
		return fmt.Errorf("show a page in WordPress: %w", err)
	}
	return v.send(status, framed{Title: l.Title.For(reader), Content: whole.String()})
}

// address returns where a page of the console is in wp-admin.
func (f *frame) address(path string) string {
	below := strings.TrimPrefix(path, Path)
	if below == "" {
		return f.Address
	}
	return f.Address + "&" + url.Values{pathParameter: {below}}.Encode()
}

// render renders a part of a page for a reader. Its links and forms lead to the page of wp-admin.
func (f *frame) render(node g.Node, reader page.Reader) (string, error) {
	var rendered bytes.Buffer
	if err := node.Render(page.For(&rendered, reader)); err != nil {
		return "", fmt.Errorf("show a page in WordPress: %w", err)
	}
	var out strings.Builder
	for z := html.NewTokenizer(&rendered); ; {
		switch z.Next() {
		case html.ErrorToken:
			if err := z.Err(); !errors.Is(err, io.EOF) {
				return "", fmt.Errorf("show a page in WordPress: %w", err)
			}
			return out.String(), nil
		case html.StartTagToken:
			raw := string(z.Raw())
			switch tag := z.Token(); tag.Data {
			case "a":
				out.WriteString(f.lead(tag, "href", f.address).String())
			case "form":
				out.WriteString(f.form(tag))
			default:
				out.WriteString(raw)
			}
		default:
			out.Write(z.Raw())
		}
	}
}

// lead returns a tag whose attribute leads to the page of wp-admin, if it led to the console.
func (f *frame) lead(tag html.Token, name string, to func(string) string) html.Token {
	for i, a := range tag.Attr {
		if a.Key == name && (a.Val == Path || strings.HasPrefix(a.Val, Path+"/") || strings.HasPrefix(a.Val, Path+"?")) {
			tag.Attr[i].Val = to(a.Val)
		}
	}
	return tag
}

// form returns the start of a form. One that asks sends the parameters of the page along, because browsers drop those of its
// address; one that changes something has the nonce.
func (f *frame) form(tag html.Token) string {
	hidden := url.Values{nonceParameter: {f.Nonce}}
	posts, action := false, f.Path
	for _, a := range tag.Attr {
		switch a.Key {
		case "method":
			posts = strings.EqualFold(a.Val, http.MethodPost)
		case "action":
			action = strings.TrimPrefix(a.Val, Path)
		}
	}
	if !posts {
		address, err := url.Parse(f.address(Path + action))
		if err != nil { // the companion made it
			return tag.String()
		}
		hidden = address.Query()
	}
	start := f.lead(tag, "action", f.address).String()
	for name := range hidden {
		start += html.Token{Type: html.StartTagToken, Data: "input", Attr: []html.Attribute{
			{Key: "type", Val: "hidden"}, {Key: "name", Val: name}, {Key: "value", Val: hidden.Get(name)},
		}}.String()
	}
	return start
}
