package console

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
)

// view shows the form below its errors.
func (f *keyForm) view(csrf string) g.Node {
	terms := f.terms()
	permissions := slices.IndexFunc(terms, func(a keys.Attribute[keys.Key, keys.NewKey]) bool { return a.Name == permissionsField })
	limits := len(terms) - 2
	return g.Group{
		f.Summary(),
		f.description(),
		h.Form(h.Method("post"), h.Action(f.path()), h.AutoComplete("off"), g.Attr("novalidate"),
			page.Hidden("csrf", csrf),
			f.Guard(),
			fields(&f.Form, terms[:permissions]),
			f.permissions(terms[permissions].Label, terms[permissions].Hint),
			fields(&f.Form, terms[permissions+1:limits]),
			h.Div(h.Class("pair"), fields(&f.Form, terms[limits:])),
			f.actions(),
		),
	}
}

// terms returns the attributes shown in the form; limits have the configured
// ones as hints.
func (f *keyForm) terms() []keys.Attribute[keys.Key, keys.NewKey] {
	terms := f.attributes()
	for i, a := range terms {
		if configured, limit := map[string]string{"per_minute": f.DefaultPerMinute, "per_hour": f.DefaultPerHour}[a.Name]; limit {
			terms[i].Hint += ": " + configured + "."
		}
	}
	return terms
}

// description shows the terms that the form cannot change.
func (f *keyForm) description() g.Node {
	if f.ID == 0 {
		return nil
	}
	return h.P(h.Class("hint"),
		g.Text("A "+f.Value("kind")+" key"),
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

func (f *keyForm) permissions(label, hint string) g.Node {
	problem, described := f.ErrorFor("permissions"), "permissions-hint"
	if problem != "" {
		described += " permissions-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(g.Text(label)),
		page.Error("permissions", problem),
		h.Div(h.Class("choices presets"),
			g.Map(keys.Presets, func(p keys.Preset) g.Node { return f.preset(p.Name, p.Name, p.Hint) }),
			f.preset(customPreset, "custom", "the boxes that you tick"),
		),
		h.P(h.Class("hint"), h.ID("permissions-hint"), g.Text(hint)),
		h.Table(h.Class("permissions"),
			h.THead(h.Tr(
				h.Th(h.Scope("col"), page.ScreenReaderText("Resource")),
				g.Map(keys.PermissionVerbs, func(verb string) g.Node { return h.Th(h.Scope("col"), g.Text(verb)) }),
			)),
			h.TBody(g.Map(f.rows(), permissionRow)),
		),
	)
}

func (f *keyForm) preset(name, label, hint string) g.Node {
	id := "preset-" + strings.ReplaceAll(name, " ", "-")
	return h.Label(
		h.Input(h.Type("radio"), h.ID(id), h.Name("preset"), h.Value(name), g.If(f.Preset == name || f.Preset == "" && name == customPreset, h.Checked())),
		h.Span(g.Text(label+" "), h.Span(h.Class("hint"), g.Text(hint))),
	)
}

func permissionRow(r facts.PermissionRow) g.Node {
	return h.Tr(h.Th(h.Scope("row"), g.Text(r.Label)), g.Map(r.Cells, permissionCell))
}

// permissionCell gives the first box the id that the error summary links to.
func permissionCell(c facts.PermissionCell) g.Node {
	if c.Value == "" {
		return h.Td()
	}
	first := c.Value == keys.PermissionVerbs[0]
	return h.Td(h.Label(
		h.Input(h.Type("checkbox"), h.Name("permissions"), h.Value(c.Value), g.If(first, h.ID("permissions")), g.If(c.Checked, h.Checked())),
		page.ScreenReaderText(c.Label),
	))
}

func (f *keyForm) actions() g.Node {
	text := "Create the key"
	if f.ID != 0 {
		text = "Change the key"
	}
	return h.P(h.Class("actions"), h.Button(h.Class("main"), g.Text(text)), page.Button(keysPath, g.Text("Cancel")))
}
