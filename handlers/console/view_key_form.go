package console

import (
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"bookside/adapter/keys"
)

// view shows the form below its errors.
func (f *keyForm) view(csrf string) g.Node {
	limits := len(keys.NewTerms) - 2
	return g.Group{
		f.errorSummary(),
		f.description(),
		h.Form(h.Method("post"), h.Action(f.path()), h.AutoComplete("off"), g.Attr("novalidate"),
			hidden("csrf", csrf),
			f.hiddenFields(),
			fields(&f.form, keys.NewTerms[:limits], f.special),
			h.Div(h.Class("pair"), fields(&f.form, keys.NewTerms[limits:], f.special)),
			f.actions(),
		),
	}
}

// special shows an attribute that is more than a line of text.
func (f *keyForm) special(a keys.Attribute[keys.Key, keys.NewKey]) g.Node {
	switch a.Name {
	case "permissions":
		return g.Group{f.kinds(), f.permissions(a.Label, a.Hint)}
	case "kind":
		return g.Group{} // above the permissions
	case "networks":
		return f.field(a.Name, a.Label, a.Hint, f.networksArea())
	case "mask_personal":
		return h.FieldSet(h.Legend(g.Text(a.Label)), h.Div(h.Class("choices"), f.box(a.Name, a.Hint, h.ID(a.Name))))
	case "per_minute":
		return f.text(a.Name, a.Label, a.Hint+": "+f.DefaultPerMinute+".", g.Attr("inputmode", "numeric"))
	case "per_hour":
		return f.text(a.Name, a.Label, a.Hint+": "+f.DefaultPerHour+".", g.Attr("inputmode", "numeric"))
	default:
		return nil
	}
}

// description shows what the form cannot change about a key.
func (f *keyForm) description() g.Node {
	if f.ID == 0 {
		return nil
	}
	return h.P(h.Class("hint"),
		g.Text("A "+f.value("kind")+" key"),
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

func (f *keyForm) networksArea() g.Node {
	return h.Textarea(h.ID("networks"), h.Name("networks"), h.Class("code"), h.Rows("3"), g.Attr("spellcheck", "false"), g.Attr("autocapitalize", "none"),
		describedBy("networks", f.errorFor("networks")), g.Text(f.value("networks")))
}

// kinds are offered for new keys only: a key keeps its kind.
func (f *keyForm) kinds() g.Node {
	if f.ID != 0 {
		return nil
	}
	problem := f.errorFor("kind")
	choice := func(kind keys.Kind, text string, attributes ...g.Node) g.Node {
		return h.Label(
			h.Input(h.Type("radio"), g.Group(attributes), h.Name("kind"), h.Value(string(kind)), g.If(f.value("kind") == string(kind), h.Checked())),
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

func (f *keyForm) permissions(label, hint string) g.Node {
	problem, described := f.errorFor("permissions"), "permissions-hint"
	if problem != "" {
		described += " permissions-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(g.Text(label)),
		errorView("permissions", problem),
		h.Div(h.Class("choices presets"),
			g.Map(keys.Presets, func(p keys.Preset) g.Node { return f.preset(p.Name, p.Name, presetHints[p.Name]) }),
			f.preset(customPreset, "custom", "the boxes that you tick"),
		),
		h.P(h.Class("hint"), h.ID("permissions-hint"), g.Text(hint)),
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
