package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
)

// rollForm is the form that replaces a key with a new one.
type rollForm struct{ page.Form }

func (c *Console) showRoll(v *visit) error {
	return c.showRollForm(v, http.StatusOK, rollForm{page.NewForm(url.Values{"overlap": {"1d"}})})
}

func (c *Console) redisplayRoll(v *visit, status int, problem page.Text) error {
	return c.showRollForm(v, status, rollForm{page.Submitted(v.r, problem)})
}

func (c *Console) showRollForm(v *visit, status int, f rollForm) error {
	return c.withKey(v, func(key keys.Key) error {
		c.answer(v, status, page.Layout{Title: page.Textf("Roll key %d", key.ID), Invalid: f.Invalid()},
			f.view(c.row(v, key), csrfToken(v.session)), facts.FormOf(&f.Form, keys.RollTerms, nil))
		return nil
	})
}

func (c *Console) roll(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		f := rollForm{page.Submitted(v.r, "")}
		var overlap time.Duration
		terms.Read(c.terms(v), &f.Form, nil, keys.RollTerms, &overlap)
		if len(f.Errors) > 0 {
			return c.showRollForm(v, http.StatusUnprocessableEntity, f)
		}
		var secret string
		var made, old keys.Key
		var found bool
		err := v.spend(f.Value("nonce"))
		if err == nil {
			secret, made, old, found, err = v.Keys.Roll(v.ctx(), key.ID, overlap, v.creator())
		}
		switch {
		case errors.Is(err, errSubmitted):
			c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its key was created and shown then. If you did not copy it, revoke it and create another one.")
			return nil
		case err != nil:
			problem, status := c.explain(v, err)
			return c.redisplayRoll(v, status, problem)
		case !found:
			return c.redisplayRoll(v, http.StatusConflict, "This key has expired. Change its last day first.")
		}
		c.log.InfoContext(v.ctx(), "console: key rolled", "key_id", key.ID, "new_key_id", made.ID)
		c.showCreated(v, made, secret, &old)
		return nil
	})
}
