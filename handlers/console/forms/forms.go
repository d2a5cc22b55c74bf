// Package forms has the forms of what an administrator makes: keys, webhooks and calendars. It shows a field for each of their
// attributes, and reads what was sent. It imports the adapter's packages of keys and of choices, and handlers/console/page.
package forms

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// Form returns a form filled with the values of something stored, or of something new if id is 0.
func Form[S, N any](id int64, attributes []keys.Attribute[S, N], is S) page.Form {
	values := url.Values{}
	for _, a := range attributes {
		values.Set(a.Name, a.Format(is))
	}
	sum := sha256.Sum256([]byte(values.Encode()))
	return page.Form{ID: id, Values: values, Nonce: rand.Text(), Version: hex.EncodeToString(sum[:16])}
}

// Reader reads what was sent.
type Reader struct {
	Now time.Time
	// Numbers converts a list of ids or names of agents, services or locations to ids. Its errors are shown.
	Numbers func(of domain.Resource, text string) (string, error)
}

// Read puts the fields that differ from those of stored, or all fields if stored is nil, into n, and
// returns the names of their attributes. It fills f.Errors. Unchanged fields are not checked: a key's last
// day may be in the past, or its agent deleted.
func Read[S, N any](r Reader, f, stored *page.Form, attributes []keys.Attribute[S, N], n *N) (changed []string) {
	for _, a := range attributes {
		sent := f.Value(a.Name)
		text := sent
		if a.Of != "" {
			text = Ticked(sent)
		}
		none := a.Of != "" && sent == page.BoxesShown // a key must not get all agents because it loses its last one
		unsent := a.Of != "" && !f.Values.Has(a.Name) // as if cut off: boxes send something even if none is ticked
		if stored != nil && (text == stored.Value(a.Name) && !none || unsent) {
			continue
		}
		changed = append(changed, a.Name)
		var err error
		switch {
		case none:
			err = errors.New("tick at least one, or all")
		case text == "" && a.Optional:
			a.Clear(n)
			continue
		case text == "" && a.Missing != "":
			err = errors.New(a.Missing)
		case a.Of != "" && a.CheckChoices(text) == nil: // otherwise Parse reports the error
			text, err = r.Numbers(a.Of, text)
		}
		if err == nil {
			err = a.Parse(text, r.Now, n)
		}
		if err != nil {
			f.AddError(a.Name, err.Error())
		}
	}
	return changed
}

// Ticked returns the ids that were ticked, or the ids or names that were written; "" for all.
func Ticked(text string) string {
	ids, shown := strings.CutPrefix(text+",", page.BoxesShown+",")
	if !shown {
		return text
	}
	return strings.Trim(ids, ",") // all, and some: some
}

// Texts of the fields for agents, services and locations.
const (
	All      = "all"
	WriteIDs = "The site's names cannot be read at the moment. Write ids, separated by commas; leave empty for all."
)

// Fields shows the fields of attributes. Names are those of agents, services and locations; without them, people write ids.
func Fields[S, N any](f *page.Form, attributes []keys.Attribute[S, N], names slots.Labels) g.Node {
	shown := make(g.Group, len(attributes))
	for i, a := range attributes {
		label, hint := page.Text(a.Label), page.Text(a.Hint)
		switch {
		case a.Of != "" && names != nil:
			choices := []page.Choice{{Text: page.Text(All)}}
			for _, c := range Choices(a.Of, names, f.Value(a.Name)) {
				text := page.Phrase(page.Name(c.String()))
				if _, exists := names[a.Of][c.ID]; !exists {
					text = page.Textf("%s (deleted)", c.ID)
				}
				choices = append(choices, page.Choice{Value: strconv.FormatInt(c.ID, 10), Text: text})
			}
			shown[i] = f.Boxes(a.Name, label, hint, choices)
		case a.Of != "":
			shown[i] = f.Field(a.Name, label, page.Text(WriteIDs), f.Input(a.Name, Ticked(f.Value(a.Name))))
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

// Choices returns the agents, services or locations to choose from, by id: all that exist, and those of a list of ids, without
// a name.
func Choices(of domain.Resource, names slots.Labels, list string) []slots.Choice {
	choices := names.Choices(of)
	for word := range strings.SplitSeq(list, ",") {
		if id, err := keys.ParseID(word); err == nil && names[of][id].ID == 0 {
			choices = append(choices, slots.Choice{ID: id})
		}
	}
	slices.SortFunc(choices, func(a, b slots.Choice) int { return cmp.Compare(a.ID, b.ID) })
	return choices
}

func choicesOf[S, N any](a keys.Attribute[S, N]) []page.Choice {
	choices := make([]page.Choice, len(a.Choices))
	for i, c := range a.Choices {
		choices[i] = page.Choice{Value: c.Value, Text: page.Text(c.Text)}
	}
	return choices
}
