package console

import (
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
)

// fields shows the fields of attributes.
func fields[S, N any](f *form, attributes []keys.Attribute[S, N]) g.Node {
	shown := make(g.Group, len(attributes))
	for i, a := range attributes {
		switch {
		case len(a.Choices) > 0:
			shown[i] = f.choices(a.Name, a.Label, a.Hint, a.Choices)
		case a.Lines:
			shown[i] = f.field(a.Name, a.Label, a.Hint, h.Textarea(h.ID(a.Name), h.Name(a.Name), h.Class("code"), h.Rows("3"), g.Attr("spellcheck", "false"), g.Attr("autocapitalize", "none"),
				describedBy(a.Name, f.errorFor(a.Name)), g.Text(f.value(a.Name))))
		case a.Box && a.Label != "":
			shown[i] = h.FieldSet(h.Legend(g.Text(a.Label)), h.Div(h.Class("choices"), f.box(a.Name, a.Hint, h.ID(a.Name))))
		case a.Box:
			shown[i] = h.P(f.box(a.Name, a.Hint))
		default:
			shown[i] = f.text(a.Name, a.Label, a.Hint, g.If(a.Max > 0, h.MaxLength(strconv.Itoa(a.Max))), g.If(a.Date, h.Type("date")),
				g.If(!a.Optional, h.Required()), g.If(!a.Optional && i == 0 && !f.invalid(), h.AutoFocus()))
		}
	}
	return shown
}

// choices shows a field that has one of several values.
func (f *form) choices(name, label, hint string, choices []keys.Choice) g.Node {
	problem := f.errorFor(name)
	return h.FieldSet(h.ID(name), g.If(problem != "", h.Aria("describedby", name+"-error")),
		h.Legend(g.Text(label)),
		errorView(name, problem),
		h.Div(h.Class("choices"), g.Map(choices, func(c keys.Choice) g.Node {
			return h.Label(h.Input(h.Type("radio"), h.Name(name), h.Value(c.Value), g.If(f.value(name) == c.Value, h.Checked())), g.Text(" "+c.Text))
		})),
		g.If(hint != "", h.P(h.Class("hint"), g.Text(hint))),
	)
}

// errorSummary lists the errors, each with a link to its field.
func (f *form) errorSummary() g.Node {
	if !f.invalid() {
		return nil
	}
	return h.Div(h.Class("problem"), h.Role("alert"), takesFocus(),
		g.If(f.Problem != "", h.P(g.Text(f.Problem))),
		g.If(len(f.Errors) > 0, g.Group{
			h.P(g.Text("Nothing was saved. Please correct:")),
			h.Ul(g.Map(f.Errors, func(e fieldError) g.Node { return h.Li(h.A(h.Href("#"+e.Field), g.Text(e.Error))) })),
		}),
	)
}

// hiddenFields keep the form of something new from being submitted twice, and that of something stored from
// overwriting somebody else's changes.
func (f *form) hiddenFields() g.Node {
	if f.ID == 0 {
		return hidden("nonce", f.Nonce)
	}
	return hidden("version", f.Version)
}

// field shows a label, a hint, the error and the control.
func (f *form) field(name, label, hint string, control g.Node) g.Node {
	return h.Div(h.Class("field"),
		h.Label(h.For(name), g.Text(label)),
		h.P(h.Class("hint"), h.ID(name+"-hint"), g.Text(hint)),
		errorView(name, f.errorFor(name)),
		control,
	)
}

// text shows a field with a line of text.
func (f *form) text(name, label, hint string, attributes ...g.Node) g.Node {
	return f.field(name, label, hint, f.input(name, f.value(name), attributes...))
}

// box shows a checkbox.
func (f *form) box(name, text string, attributes ...g.Node) g.Node {
	return h.Label(
		h.Input(h.Type("checkbox"), g.Group(attributes), h.Name(name), h.Value("1"), g.If(f.value(name) != "", h.Checked())),
		g.Text(" "+text),
	)
}

func (f *form) input(name, value string, attributes ...g.Node) g.Node {
	return h.Input(h.ID(name), h.Name(name), h.Value(value), describedBy(name, f.errorFor(name)), g.Group(attributes))
}
