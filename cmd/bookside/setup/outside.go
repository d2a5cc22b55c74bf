package setup

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// probe returns an error unless the service is ready.
func (s *Setup) probe(ctx context.Context, adminListen string) error {
	got, err := ask(ctx, client(s.Host.Dial), http.MethodGet, "http://"+adminListen+"/readyz", "")
	if err == nil && got.status != http.StatusOK {
		err = fmt.Errorf("%s/readyz answers %d", adminListen, got.status)
	}
	return err
}

// api returns the address of the API under the site's own.
func (r *record) api() string { return r.Home + apiPath }

// connect says how to make the web server forward calls, and waits until they arrive or the user does not
// want to wait.
func (s *Setup) connect(ctx context.Context, r *record) (works bool, err error) {
	home, err := url.Parse(r.Home)
	if err != nil || s.DryRun {
		return true, err
	}
	web := s.view(ctx, home)
	for told := ""; ; {
		faults := strings.Join(s.faults(ctx, web, r), "\n  ")
		if faults == "" {
			s.say("\nGET, PUT and DELETE arrive at %s.\n", r.api())
			return true, nil
		}
		if told == "" {
			s.say("\n%s", s.instructions(softwareOf(r.WebServer), home, r.Listen))
			if !s.NoWait {
				s.say("Setup waits until it works; press Enter to go on without.\n")
			}
		}
		if told != faults {
			s.say("\n  %s\n", faults)
			told = faults
		}
		if s.NoWait {
			break
		}
		select {
		case <-time.After(s.Host.Pause):
			continue
		case <-s.lines:
		case <-ctx.Done():
		}
		break
	}
	s.say("\nCalls do not reach Bookside yet. When they should: sudo bookside setup checks it again.\n")
	return false, nil
}

// view returns a client that sees the site as others do, if this machine can.
func (s *Setup) view(ctx context.Context, home *url.URL) *http.Client {
	web := client(s.Host.Dial)
	_, err := ask(ctx, web, http.MethodGet, home.String(), "")
	var unreachable *url.Error
	if !errors.As(err, &unreachable) {
		return web
	}
	// The name may lead to this machine only elsewhere, or not yet, and the certificate may be one that
	// only the site's clients trust.
	local := s.Host.localClient()
	if _, err := ask(ctx, local, http.MethodGet, home.String(), ""); err != nil {
		return web
	}
	s.say("\nFrom here %s cannot be reached (%v), so setup asks the web server of this machine.\n", home, unreachable.Err)
	return local
}

// localClient returns an HTTP client for which every name is that of this machine.
func (h *Host) localClient() *http.Client {
	web := client(func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return h.Dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
	})
	web.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // to this machine only
	return web
}

// faults returns what keeps calls from arriving as they should. None of the calls changes anything: PUT and
// DELETE have no key.
func (s *Setup) faults(ctx context.Context, web *http.Client, r *record) (found []string) {
	if err := s.probe(ctx, r.AdminListen); err != nil {
		text := fmt.Sprintf("Bookside is not ready: %v.", err)
		if !s.Host.systemd() {
			text += " Now " + s.startYourself()
		}
		return []string{text}
	}
	address := r.api() + "/services"
	switch got, err := ask(ctx, web, http.MethodGet, address, r.secret); {
	case err != nil:
		return []string{fmt.Sprintf("GET %s fails: %v", address, err)}
	case !got.arrived:
		return []string{fmt.Sprintf("GET %s does not arrive at Bookside: %s", address, got.text)}
	case r.secret != "" && got.status != http.StatusOK:
		return []string{fmt.Sprintf("GET %s with the key is answered with %d: the header X-API-Key must arrive, too", address, got.status)}
	}
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		if got, err := ask(ctx, web, method, address+"/0", ""); err != nil || !got.arrived {
			found = append(found, fmt.Sprintf("%s does not arrive at Bookside: %s", method, got.text))
		}
	}
	if plain, err := url.Parse(address); err == nil && plain.Scheme == "https" {
		plain.Scheme, plain.Host = "http", plain.Hostname()
		if got, err := ask(ctx, web, http.MethodGet, plain.String(), ""); err == nil && got.arrived {
			found = append(found, "The API answers over http, too, where others on the way can read keys: include the line only where the site speaks TLS")
		}
	}
	return found
}

// answer is what came of a request.
type answer struct {
	arrived  bool // at Bookside
	status   int
	server   string   // its software, as it says
	redirect *url.URL // nil for none
	text     string   // the answer in words
}

// ask sends a request. Bookside is known by the id of the request, which it repeats.
func ask(ctx context.Context, web *http.Client, method, address, secret string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, nil)
	if err != nil {
		return answer{text: err.Error()}, err
	}
	id := "setup-" + rand.Text()
	request.Header.Set("X-Request-Id", id)
	if secret != "" {
		request.Header.Set("X-API-Key", secret)
	}
	response, err := web.Do(request)
	if err != nil {
		return answer{text: err.Error()}, err
	}
	isAPI := strings.HasPrefix(response.Header.Get("Content-Type"), "application/json")
	got := answer{
		arrived: isAPI && response.Header.Get("X-Request-Id") == id,
		status:  response.StatusCode, server: response.Header.Get("Server"),
		text: fmt.Sprintf("the web server, or something before it, answers with status %d", response.StatusCode),
	}
	if isAPI && !got.arrived {
		got.text = fmt.Sprintf("another API answers there, such as the PHP extension, with status %d", response.StatusCode)
	}
	if got.redirect, err = response.Location(); err == nil {
		got.text += fmt.Sprintf(" and redirects to %s; if that is the site's address, undo setup and name it: --url", got.redirect)
	}
	return got, response.Body.Close()
}
