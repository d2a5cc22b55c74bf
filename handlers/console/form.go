package console

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"strconv"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// storedValues returns a form filled with stored values.
func storedValues[S, N any](id int64, attributes []keys.Attribute[S, N], is S) page.Form {
	values := url.Values{}
	for _, a := range attributes {
		values.Set(a.Name, a.Format(is))
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return page.Form{ID: id, Values: values, Version: hex.EncodeToString(sum[:16])}
}

// parseForm puts the fields that differ from those of stored, or all fields if stored is nil, into n, and
// returns the names of their attributes. It fills f.Errors. Unchanged fields are not checked: a key's last
// day may be in the past, or its agent deleted.
func parseForm[S, N any](c *Console, v *visit, f, stored *page.Form, attributes []keys.Attribute[S, N], n *N) (changed []string) {
	for _, a := range attributes {
		text := f.Value(a.Name)
		if stored != nil && text == stored.Value(a.Name) {
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
			f.AddError(a.Name, err.Error())
		}
	}
	return changed
}

// numbers converts a list of ids or names of agents, services or locations to ids.
func (c *Console) numbers(v *visit, resource domain.Resource, text string) (string, error) {
	site, err := v.site()
	if err == nil {
		text, err = slots.Numbers(v.ctx(), site, resource, text)
	}
	if _, unknown := errors.AsType[*slots.ChoiceError](err); err != nil && !unknown {
		problem, _ := c.explain(v, err)
		return "", errors.New(strings.TrimSuffix(string(problem), "."))
	}
	return text, err
}

// fields shows the fields of attributes.
func fields[S, N any](f *page.Form, attributes []keys.Attribute[S, N]) g.Node {
	shown := make(g.Group, len(attributes))
	for i, a := range attributes {
		label, hint := page.Text(a.Label), page.Text(a.Hint)
		switch {
		case len(a.Choices) > 0:
			shown[i] = f.Radios(a.Name, label, hint, choicesOf(a))
		case a.Lines:
			shown[i] = f.Field(a.Name, label, hint, h.Textarea(h.ID(a.Name), h.Name(a.Name), h.Class("code"), h.Rows("3"), g.Attr("spellcheck", "false"), g.Attr("autocapitalize", "none"),
				page.DescribedBy(a.Name, f.ErrorFor(a.Name)), g.Text(f.Value(a.Name))))
		case a.Box && a.Label != "":
			shown[i] = h.FieldSet(h.Legend(label), h.Div(h.Class("choices"), f.Box(a.Name, hint, h.ID(a.Name))))
		case a.Box:
			shown[i] = h.P(f.Box(a.Name, hint))
		default:
			shown[i] = f.Text(a.Name, label, hint, g.If(a.Max > 0, h.MaxLength(strconv.Itoa(a.Max))), g.If(a.Date, h.Type("date")),
				g.If(!a.Optional, h.Required()), g.If(!a.Optional && i == 0 && !f.Invalid(), h.AutoFocus()))
		}
	}
	return shown
}

func choicesOf[S, N any](a keys.Attribute[S, N]) []page.Choice {
	choices := make([]page.Choice, len(a.Choices))
	for i, c := range a.Choices {
		choices[i] = page.Choice{Value: c.Value, Text: page.Text(c.Text)}
	}
	return choices
}
