package console

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// sessionCookie holds the secret of a session. Cookies ignore ports, so its path keeps it from most other
// servers on the same host.
const sessionCookie = "bookside_console"

// withSession serves requests with a valid session.
func (c *Console) withSession(serve func(*visit) error) http.Handler {
	return c.withDatabase(func(v *visit) error {
		found, err := c.findSession(v)
		if err != nil {
			return err
		}
		if found {
			return serve(v)
		}
		if v.r.Method == http.MethodPost {
			c.show(v, http.StatusForbidden, page.Layout{Title: page.Text("Your session has expired"), Invalid: true}, sessionExpiredView())
			return nil
		}
		return redirect(v, loginPath)
	})
}

func (c *Console) findSession(v *visit) (bool, error) {
	if v.frame != nil {
		return true, nil
	}
	v.proxied = v.Proxy.person(v.r, c.log)
	found, err := v.resume()
	if err == nil && !found && v.proxied != "" {
		found, err = true, c.open(v)
	}
	if errors.Is(err, wpdb.ErrSchema) {
		return false, nil // the first token creates the table
	}
	return found, err
}

// resume finds the session of the cookie. If the proxy names a person, it is one that was opened for that person,
// otherwise one of a login token.
func (v *visit) resume() (found bool, err error) {
	cookies := v.r.CookiesNamed(sessionCookie)
	if len(cookies) == 0 {
		return false, nil
	}
	session, person := cookies[0].Value, v.proxied
	if person != "" {
		found, err = v.Tokens.Opened(v.ctx(), session, person)
	} else {
		person, found, err = v.Tokens.Session(v.ctx(), session)
	}
	if err != nil || !found {
		return false, err
	}
	v.session, v.person = session, person
	return true, nil
}

// open opens a session for the person whom the proxy names.
func (c *Console) open(v *visit) error {
	session, err := v.Tokens.Open(v.ctx(), v.proxied)
	if err != nil {
		return err
	}
	c.log.InfoContext(v.ctx(), "console: login through the proxy")
	setSession(v, session, int(keys.AdminSessionLife.Seconds()))
	v.session, v.person = session, v.proxied
	return nil
}

// redisplay shows a submitted form again, with a problem.
type redisplay func(v *visit, status int, problem page.Text) error

// withForm serves forms that change something.
func (c *Console) withForm(show redisplay, submit func(*visit) error) http.Handler {
	return c.withSentForm(show, func(v *visit) error {
		defer v.Reports.Forget() // what the form changes may be on the overview
		return submit(v)
	})
}

// withSentForm serves forms of the current session. A form of an earlier session is shown again for
// resubmission.
func (c *Console) withSentForm(show redisplay, submit func(*visit) error) http.Handler {
	return c.withSession(func(v *visit) error {
		if v.r.ParseForm() != nil {
			return c.badForm(v)
		}
		if v.frame == nil && !hmac.Equal([]byte(v.r.PostForm.Get("csrf")), []byte(csrfToken(v.session))) {
			return show(v, http.StatusForbidden, "This form is from an earlier login. Check it and send it again.")
		}
		return submit(v)
	})
}

// badForm responds to a body that is too long or not a form.
func (c *Console) badForm(v *visit) error {
	c.showMessage(v, http.StatusBadRequest, "This form cannot be read", "Go back and send it again.")
	return nil
}

// csrfToken returns a value that only the holder of the cookie and pages of the session know; "" without a
// session.
func csrfToken(session string) string {
	if session == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (c *Console) showLogin(v *visit) error {
	found, err := c.findSession(v)
	if err != nil {
		return err
	}
	if found {
		return redirectToOverview(v, 0, "")
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Text("Log in")}, loginView(""))
	return nil
}

// loginLimits bound the login attempts from an address, successful ones too. Tokens cannot be guessed; this
// only bounds the cost. Beyond the limits tokens are still checked, one at a time: behind a tunnel
// everybody has the same address, and wrong tokens must not keep out the holder of a valid one.
var loginLimits = ratelimit.Limits{PerMinute: 20, PerHour: 20 * 60}

func (c *Console) login(v *visit) error {
	used, allowed := c.logins.Take(v.ctx(), ratelimit.AddressBucket(v.r.RemoteAddr), 1, loginLimits)
	if !allowed {
		select {
		case c.crowded <- struct{}{}:
			defer func() { <-c.crowded }()
		case <-v.ctx().Done():
			return v.ctx().Err()
		}
	}
	session, ok, err := v.Tokens.Login(v.ctx(), v.r.PostFormValue("token"))
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	if !ok && !allowed {
		v.w.Header().Set(retryAfterHeader, strconv.FormatInt(ratelimit.Minute.Remaining(used.Now), 10))
		c.show(v, http.StatusTooManyRequests, page.Layout{Title: page.Text("Log in"), Invalid: true}, loginView("This token is wrong, and there were too many attempts. Wait a minute."))
		return nil
	}
	if !ok {
		c.log.WarnContext(v.ctx(), "console: login rejected")
		c.show(v, http.StatusForbidden, page.Layout{Title: page.Text("Log in"), Invalid: true}, loginView("This token is wrong, already used or expired. Create another one."))
		return nil
	}
	c.log.InfoContext(v.ctx(), "console: login")
	setSession(v, session, int(keys.AdminSessionLife.Seconds()))
	return redirectToOverview(v, 0, "")
}

func (c *Console) logout(v *visit) error {
	if v.frame != nil {
		return c.noPage(v)
	}
	if err := v.Tokens.Logout(v.ctx(), v.session); err != nil {
		return err
	}
	setSession(v, "", -1)
	return redirect(v, loginPath)
}

// setSession sends the cookie. It is Secure only if the browser reports https, or the proxy is known to have
// it: a loopback address usually has none.
func setSession(v *visit, value string, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{
		Name: sessionCookie, Value: value, Path: Path, MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(v.r.Header.Get("Origin"), "https://") || v.proxied != "" && strings.HasPrefix(v.Proxy.Address, "https://"),
	})
}

// sessionExpiredView answers a form sent after its session expired.
func sessionExpiredView() g.Node {
	return g.Group{
		page.Alert("Nothing was changed."),
		h.Ol(
			h.Li(page.Textf("%s, in another tab.", page.A(loginPath, h.Target("_blank"), page.Text("Log in again")))),
			h.Li(page.Text("Come back here, reload this page and let the browser send the form again. Your input is kept and shown to you before anything happens.")),
		),
	}
}

func loginView(problem page.Text) g.Node {
	return page.PostForm(loginPath, h.AutoComplete("off"), h.Class("narrow"),
		h.P(h.ID("token-hint"), page.Textf("On the server, %s prints a token. It can be used once, within ten minutes.", h.Kbd(page.Code("bookside admin-token")))),
		h.Div(h.Class("field"),
			h.Label(h.For("token"), page.Text("Token")),
			page.Error("token", problem),
			h.Input(h.ID("token"), h.Name("token"), h.Class("code"), h.Required(), h.AutoFocus(), h.AutoComplete("one-time-code"),
				g.Attr("autocapitalize", "characters"), g.Attr("spellcheck", "false"), page.DescribedBy("token", problem)),
		),
		h.Button(h.Class("main"), page.Text("Log in")),
	)
}
