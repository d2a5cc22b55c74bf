package console

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
)

// form is a form for the attributes of something, with the submitted values and their errors.
type form struct {
	ID      int64 // 0 for something new
	Values  url.Values
	Nonce   string // identifies the form, which can be submitted once
	Version string // hash of the values that the form was filled from
	Problem string // of the form as a whole
	Errors  []fieldError
}

// fieldError describes what is wrong with a field.
type fieldError struct{ Field, Error string }

func newForm(values url.Values) form { return form{Values: values, Nonce: rand.Text()} }

// submittedValues returns a submitted form with its general problem; "" for none.
func submittedValues(r *http.Request, problem string) form {
	f := newForm(maps.Clone(r.PostForm))
	f.Problem = problem
	return f
}

// storedValues returns a form filled with stored values.
func storedValues[S, N any](id int64, attributes []keys.Attribute[S, N], is S) form {
	values := url.Values{}
	for _, a := range attributes {
		values.Set(a.Name, a.Format(is))
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return form{ID: id, Values: values, Version: hex.EncodeToString(sum[:16])}
}

// value returns the text of a field.
func (f *form) value(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(f.Values.Get(name)), "\r\n", "\n")
}

// addError adds the error of a field.
func (f *form) addError(name, problem string) {
	f.Errors = append(f.Errors, fieldError{name, domain.Capitalize(problem) + "."})
}

// errorFor returns the error of a field, or "".
func (f *form) errorFor(field string) string {
	for _, e := range f.Errors {
		if e.Field == field {
			return e.Error
		}
	}
	return ""
}

// invalid reports whether the form has any error.
func (f *form) invalid() bool { return f.Problem != "" || len(f.Errors) > 0 }

// parseForm puts the fields that differ from those of stored, or all fields if stored is nil, into n, and
// returns the names of their attributes. It fills f.Errors. Unchanged fields are not checked: a key's last
// day may be in the past, or its agent deleted.
func parseForm[S, N any](c *Console, v *visit, f, stored *form, attributes []keys.Attribute[S, N], n *N) (changed []string) {
	for _, a := range attributes {
		text := f.value(a.Name)
		if stored != nil && text == stored.value(a.Name) {
			continue
		}
		changed = append(changed, a.Name)
		var err error
		switch {
		case text == "" && a.Optional:
			a.Clear(n)
			continue
		case text == "" && a.Missing != "":
			err = errors.New(a.Missing)
		case a.Of != "" && a.CheckChoices(text) == nil: // otherwise Parse reports the error
			text, err = c.numbers(v, a.Of, text)
		}
		if err == nil {
			err = a.Parse(text, c.now(), n)
		}
		if err != nil {
			f.addError(a.Name, err.Error())
		}
	}
	return changed
}

// numbers converts a list of ids or names of agents, services or locations to ids.
func (c *Console) numbers(v *visit, resource domain.Resource, text string) (string, error) {
	site, err := v.Platform.Session(v.ctx())
	if err == nil {
		text, err = slots.Numbers(v.ctx(), site, resource, text)
	}
	if _, unknown := errors.AsType[*slots.ChoiceError](err); err != nil && !unknown {
		problem, _ := c.explain(v, err)
		return "", errors.New(strings.TrimSuffix(problem, "."))
	}
	return text, err
}
