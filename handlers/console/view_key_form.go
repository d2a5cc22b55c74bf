package console

import (
	"slices"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/handlers/console/words"
)

// view shows the form below its errors.
func (f *keyForm) view(csrf string, names slots.Labels) g.Node {
	attributes := f.attributes()
	permissions := slices.IndexFunc(attributes, func(a keys.Attribute[keys.Key, keys.NewKey]) bool { return a.Name == permissionsField })
	limits := len(attributes) - 2
	return g.Group{
		f.Summary(),
		f.description(),
		h.Form(h.Method("post"), h.Action(f.path()), h.AutoComplete("off"), g.Attr("novalidate"),
			page.Hidden("csrf", csrf),
			f.Guard(),
			terms.Fields(&f.Form, attributes[:permissions], names),
			f.permissions(page.Text(attributes[permissions].Label), page.Text(attributes[permissions].Hint)),
			terms.Fields(&f.Form, attributes[permissions+1:limits], names),
			h.Div(h.Class("pair"), f.limit("per_minute", attributes[limits], f.DefaultPerMinute), f.limit("per_hour", attributes[limits+1], f.DefaultPerHour)),
			f.actions(),
		),
	}
}

// limit is the field of a limit, with the configured one in its hint.
func (f *keyForm) limit(name string, a keys.Attribute[keys.Key, keys.NewKey], configured page.Phrase) g.Node {
	return f.Field(name, page.Text(a.Label), page.Textf("%s: %s.", page.Text(a.Hint), configured), f.Input(name, f.Value(name)))
}

// description shows the terms that the form cannot change.
func (f *keyForm) description() g.Node {
	if f.ID == 0 {
		return nil
	}
	return h.P(h.Class("hint"),
		page.Textf("A %s key", page.Text(f.Value("kind"))),
		g.If(f.MaskedSecret != "", g.Group{g.Text(", "), h.Code(g.Text(f.MaskedSecret))}),
		g.Text(". "), page.Text("Changes take effect immediately; the key itself stays the same."),
	)
}

func (f *keyForm) path() string {
	if f.ID == 0 {
		return keysPath + "/new"
	}
	return keyPath(f.ID)
}

func (f *keyForm) permissions(label, hint page.Text) g.Node {
	problem, described := f.ErrorFor("permissions"), "permissions-hint"
	if problem != "" {
		described += " permissions-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(label),
		page.Error("permissions", problem),
		h.Div(h.Class("choices presets"),
			g.Map(keys.Presets, func(p keys.Preset) g.Node { return f.preset(p.Name, page.Text(p.Name), page.Text(p.Hint)) }),
			f.preset(customPreset, "custom", "the boxes that you tick"),
		),
		h.P(h.Class("hint"), h.ID("permissions-hint"), hint),
		h.Table(h.Class("permissions"),
			h.THead(h.Tr(
				h.Th(h.Scope("col"), page.ScreenReaderText(page.Text("Resource"))),
				g.Map(keys.PermissionVerbs, func(verb string) g.Node { return h.Th(h.Scope("col"), page.Text(verb)) }),
			)),
			h.TBody(g.Map(f.rows(), permissionRow)),
		),
	)
}

func (f *keyForm) preset(name string, label, hint page.Text) g.Node {
	id := "preset-" + strings.ReplaceAll(name, " ", "-")
	return h.Label(
		h.Input(h.Type("radio"), h.ID(id), h.Name("preset"), h.Value(name), g.If(f.Preset == name || f.Preset == "" && name == customPreset, h.Checked())),
		h.Span(label, g.Text(" "), h.Span(h.Class("hint"), hint)),
	)
}

func permissionRow(r facts.PermissionRow) g.Node {
	return h.Tr(h.Th(h.Scope("row"), page.Text(r.Label)), g.Map(r.Cells, func(c facts.PermissionCell) g.Node { return permissionCell(c, r.Label) }))
}

// permissionCell gives the first box the id that the error summary links to.
func permissionCell(c facts.PermissionCell, resource string) g.Node {
	if c.Value == "" {
		return h.Td()
	}
	verb, _, _ := strings.Cut(c.Value, "_")
	first := c.Value == keys.PermissionVerbs[0]
	return h.Td(h.Label(
		h.Input(h.Type("checkbox"), h.Name("permissions"), h.Value(c.Value), g.If(first, h.ID("permissions")), g.If(c.Checked, h.Checked())),
		page.ScreenReaderText(words.Permission(verb, resource)),
	))
}

func (f *keyForm) actions() g.Node {
	text := page.Text("Create the key")
	if f.ID != 0 {
		text = "Change the key"
	}
	return h.P(h.Class("actions"), h.Button(h.Class("main"), text), page.Button(keysPath, page.Text("Cancel")))
}
