package console

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"bookside/adapter/keys"
)

// view shows the form below its errors.
func (f *keyForm) view(csrf string) g.Node {
	return g.Group{
		f.errorSummary(),
		f.description(),
		h.Form(h.Method("post"), h.Action(f.path()), h.AutoComplete("off"), g.Attr("novalidate"),
			hidden("csrf", csrf),
			f.hiddenFields(),
			f.field("name", "Name", "Distinguishes this key from others: an app, a till, a partner.",
				f.input("name", f.Name, h.MaxLength("190"), h.Required(), g.If(!f.invalid(), h.AutoFocus()))),
			f.kinds(),
			f.permissions(),
			f.field("networks", "Networks", "The key is accepted only from these: networks such as 192.0.2.0/24 or addresses such as 192.0.2.7, one per line. Leave empty for any.",
				f.networksArea()),
			f.field("agents", "Agents", "Ids or names, separated by commas: the key sees only bookings with these agents, their customers and orders, and writes nothing else. Leave empty for all.",
				f.input("agents", f.Agents)),
			f.field("services", "Services", "The same for services. All that is named must hold.", f.input("services", f.Services)),
			f.field("locations", "Locations", "The same for locations.", f.input("locations", f.Locations)),
			h.FieldSet(h.Legend(g.Text("Personal data")), h.Div(h.Class("choices"), h.Label(
				h.Input(h.Type("checkbox"), h.ID("mask_personal"), h.Name("mask_personal"), h.Value("1"), g.If(f.MaskPersonal, h.Checked())),
				g.Text(" Mask e-mail addresses, phone numbers, addresses and notes; the key can neither search nor write them"),
			))),
			f.field("expires", "Last day", "The key expires at the end of this day (UTC). Leave empty for never.",
				f.input("expires", f.Expires, h.Type("date"))),
			h.Div(h.Class("pair"),
				f.field("per_minute", "Requests per minute", "Leave empty for the configured limit: "+f.DefaultPerMinute+".",
					f.input("per_minute", f.PerMinute, g.Attr("inputmode", "numeric"))),
				f.field("per_hour", "Requests per hour", "Leave empty for the configured limit: "+f.DefaultPerHour+".",
					f.input("per_hour", f.PerHour, g.Attr("inputmode", "numeric"))),
			),
			f.actions(),
		),
	}
}

// errorSummary lists the errors, each with a link to its field.
func (f *keyForm) errorSummary() g.Node {
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

// description shows what the form cannot change about a key.
func (f *keyForm) description() g.Node {
	if f.ID == 0 {
		return nil
	}
	return h.P(h.Class("hint"),
		g.Text("A "+f.Kind+" key"),
		g.If(f.MaskedSecret != "", g.Group{g.Text(", "), h.Code(g.Text(f.MaskedSecret))}),
		g.Text(". Changes take effect immediately; the key itself stays the same."),
	)
}

func (f *keyForm) path() string {
	if f.ID == 0 {
		return keysPath + "/new"
	}
	return keyPath(f.ID)
}

// hiddenFields keep the form of a new key from being submitted twice, and that of
// an existing key from overwriting the changes of somebody else.
func (f *keyForm) hiddenFields() g.Node {
	if f.ID == 0 {
		return hidden("nonce", f.Nonce)
	}
	return hidden("version", f.Version)
}

// field shows a label, a hint, the error and the control.
func (f *keyForm) field(name, label, hint string, control g.Node) g.Node {
	return h.Div(h.Class("field"),
		h.Label(h.For(name), g.Text(label)),
		h.P(h.Class("hint"), h.ID(name+"-hint"), g.Text(hint)),
		errorView(name, f.errorFor(name)),
		control,
	)
}

func (f *keyForm) input(name, value string, attributes ...g.Node) g.Node {
	return h.Input(h.ID(name), h.Name(name), h.Value(value), describedBy(name, f.errorFor(name)), g.Group(attributes))
}

func (f *keyForm) networksArea() g.Node {
	return h.Textarea(h.ID("networks"), h.Name("networks"), h.Class("code"), h.Rows("3"), g.Attr("spellcheck", "false"), g.Attr("autocapitalize", "none"),
		describedBy("networks", f.errorFor("networks")), g.Text(f.Networks))
}

// kinds are offered for new keys only: a key keeps its kind.
func (f *keyForm) kinds() g.Node {
	if f.ID != 0 {
		return nil
	}
	problem := f.errorFor("kind")
	choice := func(kind keys.Kind, text string, attributes ...g.Node) g.Node {
		return h.Label(
			h.Input(h.Type("radio"), g.Group(attributes), h.Name("kind"), h.Value(string(kind)), g.If(f.Kind == string(kind), h.Checked())),
			g.Text(" "+text),
		)
	}
	return h.FieldSet(g.If(problem != "", h.Aria("describedby", "kind-error")),
		h.Legend(g.Text("Kind")),
		errorView("kind", problem),
		h.Div(h.Class("choices"),
			choice(keys.Live, "live", h.ID("kind")),
			choice(keys.Test, "test, with separate limits"),
		),
	)
}

func (f *keyForm) permissions() g.Node {
	problem, described := f.errorFor("permissions"), "permissions-hint"
	if problem != "" {
		described += " permissions-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(g.Text("Permissions")),
		errorView("permissions", problem),
		h.Div(h.Class("choices presets"),
			g.Map(keys.Presets, func(p keys.Preset) g.Node { return f.preset(p.Name, p.Name, presetHints[p.Name]) }),
			f.preset(customPreset, "custom", "the boxes that you tick"),
		),
		h.P(h.Class("hint"), h.ID("permissions-hint"), g.Text("Of the boxes, one in the row “everything” covers the rows below it except changes, users and webhooks: keys with write users can link customers to users of the site.")),
		h.Table(h.Class("permissions"),
			h.THead(h.Tr(
				h.Th(h.Scope("col"), screenReaderText("Resource")),
				g.Map(keys.PermissionVerbs, func(verb string) g.Node { return h.Th(h.Scope("col"), g.Text(verb)) }),
			)),
			h.TBody(g.Map(f.rows(), permissionRow.view)),
		),
	)
}

// presetHints say what presets are for.
var presetHints = map[string]string{
	"read only": "sees everything", "booking app": "finds free times, books for customers and changes bookings", "everything": "reads, writes and deletes, also webhooks and links to users",
}

func (f *keyForm) preset(name, label, hint string) g.Node {
	id := "preset-" + strings.ReplaceAll(name, " ", "-")
	return h.Label(
		h.Input(h.Type("radio"), h.ID(id), h.Name("preset"), h.Value(name), g.If(f.Preset == name || f.Preset == "" && name == customPreset, h.Checked())),
		h.Span(g.Text(label+" "), h.Span(h.Class("hint"), g.Text(hint))),
	)
}

func (r permissionRow) view() g.Node {
	return h.Tr(h.Th(h.Scope("row"), g.Text(r.Label)), g.Map(r.Cells, permissionCell.view))
}

// view gives the first box the id that the error summary links to.
func (c permissionCell) view() g.Node {
	if c.Value == "" {
		return h.Td()
	}
	first := c.Value == keys.PermissionVerbs[0]
	return h.Td(h.Label(
		h.Input(h.Type("checkbox"), h.Name("permissions"), h.Value(c.Value), g.If(first, h.ID("permissions")), g.If(c.Checked, h.Checked())),
		screenReaderText(c.Label),
	))
}

func (f *keyForm) actions() g.Node {
	text := "Create the key"
	if f.ID != 0 {
		text = "Change the key"
	}
	return h.P(h.Class("actions"), h.Button(h.Class("main"), g.Text(text)), button(keysPath, g.Text("Cancel")))
}
