package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"bookside/adapter/keys"
	"bookside/wpdb"
)

// sessionCookie holds the secret of a session. Cookies know no ports: the path
// keeps it from most other servers of the same host.
const sessionCookie = "bookside_keys"

// signedIn runs what needs a session.
func (p *KeysPage) signedIn(work func(*visit) error) http.Handler {
	return p.visited(func(v *visit) error {
		found, err := p.findSession(v)
		if err != nil {
			return err
		}
		if found {
			return work(v)
		}
		if v.r.Method == http.MethodPost {
			p.show(v, http.StatusForbidden, frame{Title: "Your login is over", Failed: true}, overView())
			return nil
		}
		http.Redirect(v.w, v.r, "/keys/login", http.StatusSeeOther)
		return nil
	})
}

func (p *KeysPage) findSession(v *visit) (bool, error) {
	cookies := v.r.CookiesNamed(sessionCookie)
	if len(cookies) == 0 {
		return false, nil
	}
	found, err := v.tokens.Session(v.ctx(), cookies[0].Value)
	if errors.Is(err, wpdb.ErrSchema) {
		return false, nil // the table is made with the first token
	}
	if found {
		v.session = cookies[0].Value
	}
	return found, err
}

// again shows a form once more, with what was typed and what is wrong.
type again func(v *visit, status int, problem string) error

// sent runs what a form asks for, once it is sure that it is a form of this
// session's. One of an earlier login is shown to be sent again.
func (p *KeysPage) sent(show again, act func(*visit) error) http.Handler {
	return p.signedIn(func(v *visit) error {
		if v.r.ParseForm() != nil {
			return p.unreadable(v)
		}
		if !hmac.Equal([]byte(v.r.PostForm.Get("csrf")), []byte(csrfOf(v.session))) {
			return show(v, http.StatusForbidden, "This form is from an earlier login. Look over it and send it again.")
		}
		return act(v)
	})
}

// unreadable answers for a body that is no form of the page, or too long.
func (p *KeysPage) unreadable(v *visit) error {
	p.tell(v, http.StatusBadRequest, "This form cannot be read", "Go back and send it again.")
	return nil
}

// csrfOf is what only a page of the session can know, besides the cookie.
func csrfOf(session string) string {
	if session == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(session))
	mac.Write([]byte("form"))
	return hex.EncodeToString(mac.Sum(nil))
}

func (p *KeysPage) showLogin(v *visit) error {
	found, err := p.findSession(v)
	if err != nil {
		return err
	}
	if found {
		return toList(v, 0, "")
	}
	p.show(v, http.StatusOK, frame{Title: "Log in"}, loginView(""))
	return nil
}

// loginLimits bound the logins, right and wrong ones, of everybody together. A
// token cannot be guessed anyway; this keeps the tries cheap.
var loginLimits = Limits{PerMinute: 20, PerHour: 20 * 60}

func (p *KeysPage) login(v *visit) error {
	if used, allowed := p.logins.take(v.ctx(), 0, 1, loginLimits); !allowed {
		v.w.Header().Set(retryAfterHeader, strconv.FormatInt(untilEnd(used.now, minuteLength), 10))
		p.show(v, http.StatusTooManyRequests, frame{Title: "Log in", Failed: true}, loginView("Too many tries. Wait a minute."))
		return nil
	}
	session, ok, err := v.tokens.Login(v.ctx(), v.r.PostFormValue("token"))
	if err != nil && !errors.Is(err, wpdb.ErrSchema) {
		return err
	}
	if !ok {
		p.log.WarnContext(v.ctx(), "login to the page for keys refused")
		p.show(v, http.StatusForbidden, frame{Title: "Log in", Failed: true}, loginView("This token is wrong, used or too old. Make another one."))
		return nil
	}
	p.log.InfoContext(v.ctx(), "login to the page for keys")
	setSession(v, session, int(keys.AdminSessionLife.Seconds()))
	return toList(v, 0, "")
}

func (p *KeysPage) logout(v *visit) error {
	if err := v.tokens.Logout(v.ctx(), v.session); err != nil {
		return err
	}
	setSession(v, "", -1)
	http.Redirect(v.w, v.r, "/keys/login", http.StatusSeeOther)
	return nil
}

// setSession sends the cookie. Secure only where the browser says that it came
// by https: the usual loopback address has none.
func setSession(v *visit, value string, maxAge int) {
	http.SetCookie(v.w, &http.Cookie{
		Name: sessionCookie, Value: value, Path: "/keys", MaxAge: maxAge, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: strings.HasPrefix(v.r.Header.Get("Origin"), "https://"),
	})
}
