package page

import (
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
)

// Form is a form for the attributes of something, with the submitted values and their errors.
type Form struct {
	ID      int64 // 0 for something new
	Values  url.Values
	Nonce   string // identifies the form, which can be submitted once
	Version string // hash of the values that the form was filled from
	Problem Text   // of the form as a whole
	Errors  []FieldError
}

// FieldError describes what is wrong with a field, or with something that is not in the form if that is "".
type FieldError struct {
	Field string
	Error Text
}

// NewForm returns a form for something new.
func NewForm(values url.Values) Form { return Form{Values: values, Nonce: rand.Text()} }

// Submitted returns a submitted form with its general problem; "" for none. Values of the same name become a list, separated
// by commas.
func Submitted(r *http.Request, problem Text) Form {
	f := NewForm(url.Values{})
	f.Problem = problem
	for name, values := range r.PostForm {
		f.Values.Set(name, strings.Join(values, ","))
	}
	return f
}

// Value returns the text of a field.
func (f *Form) Value(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(f.Values.Get(name)), "\r\n", "\n")
}

// AddError adds the error of a field.
func (f *Form) AddError(name, problem string) {
	f.Errors = append(f.Errors, FieldError{name, Text(Sentence(domain.Capitalize(problem)))})
}

// Sentence ends a text with a full stop, unless it is a sentence.
func Sentence(text string) string {
	if strings.HasSuffix(text, "?") {
		return text
	}
	return strings.TrimSuffix(text, ".") + "."
}

// ErrorFor returns the error of a field, or "".
func (f *Form) ErrorFor(field string) Text {
	for _, e := range f.Errors {
		if e.Field == field {
			return e.Error
		}
	}
	return ""
}

// Invalid reports whether the form has any error.
func (f *Form) Invalid() bool { return f.Problem != "" || len(f.Errors) > 0 }

// Summary lists the errors, each with a link to its field.
func (f *Form) Summary() g.Node {
	if !f.Invalid() {
		return nil
	}
	return h.Div(h.Class("problem"), h.Role("alert"), TakesFocus(),
		g.If(f.Problem != "", h.P(f.Problem)),
		g.If(len(f.Errors) > 0, g.Group{
			h.P(Text("Nothing was saved. Please correct:")),
			h.Ul(g.Map(f.Errors, func(e FieldError) g.Node {
				if e.Field == "" {
					return h.Li(e.Error)
				}
				return h.Li(h.A(h.Href("#"+e.Field), e.Error))
			})),
		}),
	)
}

// Guard keeps the form of something new from being submitted twice, and that of something stored from
// overwriting somebody else's changes.
func (f *Form) Guard() g.Node {
	if f.ID == 0 {
		return Hidden("nonce", f.Nonce)
	}
	return Hidden("version", f.Version)
}

// Field shows a label, a hint, the error and the control.
func (f *Form) Field(name string, label Text, hint Phrase, control g.Node) g.Node {
	return h.Div(h.Class("field"),
		h.Label(h.For(name), label),
		h.P(h.Class("hint"), h.ID(name+"-hint"), hint),
		Error(name, f.ErrorFor(name)),
		control,
	)
}

// Text shows a field with a line of text.
func (f *Form) Text(name string, label, hint Text, attributes ...g.Node) g.Node {
	return f.Field(name, label, hint, f.Input(name, f.Value(name), attributes...))
}

// Input shows the control of a field with a line of text.
func (f *Form) Input(name, value string, attributes ...g.Node) g.Node {
	return h.Input(h.ID(name), h.Name(name), h.Value(value), DescribedBy(name, f.ErrorFor(name)), g.Group(attributes))
}

// Box shows a checkbox.
func (f *Form) Box(name string, text Text, attributes ...g.Node) g.Node {
	return h.Label(
		h.Input(h.Type("checkbox"), g.Group(attributes), h.Name(name), h.Value("1"), g.If(f.Value(name) != "", h.Checked())),
		g.Text(" "), text,
	)
}

// Select shows a field with a list of values to choose from.
func (f *Form) Select(name string, label, hint Text, choices []Choice) g.Node {
	return f.Field(name, label, hint, Select(name, f.Value(name), choices, DescribedBy(name, f.ErrorFor(name))))
}

// Radios shows a field that has one of several values.
func (f *Form) Radios(name string, label, hint Text, choices []Choice) g.Node {
	return f.options("radio", name, label, hint, choices)
}

// Boxes shows a field that has any number of values, which Submitted separates by commas, after BoxesShown.
func (f *Form) Boxes(name string, label, hint Text, choices []Choice) g.Node {
	return f.options("checkbox", name, label, hint, choices, Hidden(name, BoxesShown))
}

// BoxesShown is sent before the values of boxes. Browsers send nothing else if no box is ticked.
const BoxesShown = "-"

// searched is how many choices people take in without a search.
const searched = 6

// options shows the choices of a field, with a search above many of them. The search appears where scripts run; it is
// in no form, so that Enter does not send this one.
func (f *Form) options(kind, name string, label, hint Text, choices []Choice, more ...g.Node) g.Node {
	problem, class := f.ErrorFor(name), "choices"
	long := len(choices) > searched
	if long {
		class += " long"
	}
	var chosen []string // nothing if the field was not sent; the choice "" if it is empty
	if f.Values.Has(name) {
		chosen = strings.Split(f.Value(name), ",")
	}
	described := name + "-hint"
	if problem != "" {
		described += " " + name + "-error"
	}
	return h.FieldSet(h.ID(name), h.Aria("describedby", described),
		h.Legend(label),
		Error(name, problem),
		g.Group(more),
		g.If(long, h.Input(h.Type("search"), g.Attr("hidden"), h.FormAttr(""), Label("Search this list"), Placeholder("Search this list"))),
		h.Div(h.Class(class), g.Map(choices, func(c Choice) g.Node {
			return h.Label(h.Input(h.Type(kind), h.Name(name), h.Value(c.Value), g.If(slices.Contains(chosen, c.Value), h.Checked())), g.Text(" "), c.Text)
		})),
		h.P(h.Class("hint"), h.ID(name+"-hint"), hint),
	)
}

// Choice is a value to choose, and its text.
type Choice struct {
	Value string
	Text  Phrase
}

// Selection is a list of values to choose from, or any.
func Selection(name, chosen string, choices []Choice) g.Node {
	return Select(name, chosen, choices, h.Option(h.Value(""), Text("any")))
}

// Select is a list of values to choose from, after more nodes: attributes and other options.
func Select(name, chosen string, choices []Choice, more ...g.Node) g.Node {
	return h.Select(h.ID(name), h.Name(name), g.Group(more), g.Map(choices, func(c Choice) g.Node {
		return h.Option(h.Value(c.Value), g.If(c.Value == chosen, h.Selected()), c.Text)
	}))
}

// Condition is a field of a form that filters a list.
func Condition(name string, label Text, control g.Node) g.Node {
	return h.Div(h.Label(h.For(name), label), control)
}

// Hidden is a value that is sent with a form.
func Hidden(name, value string) g.Node {
	return h.Input(h.Type("hidden"), h.Name(name), h.Value(value))
}

// Error shows the error of a field; "" for none.
func Error(field string, problem Text) g.Node {
	return g.If(problem != "", h.P(h.Class("error"), h.ID(field+"-error"), problem))
}

// DescribedBy links a field to its hint and to its error.
func DescribedBy(field string, problem Text) g.Node {
	if problem == "" {
		return h.Aria("describedby", field+"-hint")
	}
	return g.Group{h.Aria("describedby", field+"-hint "+field+"-error"), h.Aria("invalid", "true")}
}
