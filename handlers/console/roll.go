package console

import (
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"strconv"

	"bookside/adapter/keys"
)

// rollForm is the form that makes a new key for an old one.
type rollForm struct {
	Overlap string // one of overlapChoices
	Nonce   string
	Problem string
}

// overlapChoice is how long the old key stays valid.
type overlapChoice struct{ value, text string }

var overlapChoices = []overlapChoice{{"0", "no time: somebody else may know it"}, {"1d", "a day"}, {"7d", "a week"}, {"30d", "30 days"}}

func (c *Console) showRoll(v *visit) error { return c.showRollForm(v, http.StatusOK, "1d", "") }

func (c *Console) redisplayRoll(v *visit, status int, problem string) error {
	return c.showRollForm(v, status, v.r.PostForm.Get("overlap"), problem)
}

func (c *Console) showRollForm(v *visit, status int, overlap, problem string) error {
	return c.withKey(v, func(key keys.Key) error {
		c.show(v, status, layout{Title: "Roll key " + strconv.FormatInt(key.ID, 10), Invalid: problem != ""},
			rollView(c.row(v, key), rollForm{Overlap: overlap, Nonce: rand.Text(), Problem: problem}, csrfToken(v.session)))
		return nil
	})
}

func (c *Console) roll(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		text := v.r.PostForm.Get("overlap")
		overlap, err := keys.ParseOverlap(text)
		if err != nil || !slices.ContainsFunc(overlapChoices, func(o overlapChoice) bool { return o.value == text }) {
			return c.redisplayRoll(v, http.StatusUnprocessableEntity, "Choose how long the old key stays valid.")
		}
		var secret string
		var made, old keys.Key
		var found bool
		if err = v.spend(v.r.PostForm.Get("nonce")); err == nil {
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
		c.show(v, http.StatusOK, layout{Title: "Key " + strconv.FormatInt(made.ID, 10) + " was created"}, createdView(c.addresses(v), made, secret, &old))
		return nil
	})
}
