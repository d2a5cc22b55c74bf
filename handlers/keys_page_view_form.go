package handlers

import (
	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"bookside/adapter/keys"
)

// view is the whole form, below what is wrong with it.
func (f *keyForm) view(csrf string) g.Node {
	return g.Group{
		f.problems(),
		f.about(),
		h.Form(h.Method("post"), h.Action(f.path()), h.AutoComplete("off"), g.Attr("novalidate"),
			hidden("csrf", csrf),
			f.origin(),
			f.field("name", "Name", "Tells this key from others: an app, a till, a partner.",
				f.input("name", f.Name, h.MaxLength("190"), h.Required(), g.If(!f.failed(), h.AutoFocus()))),
			f.kinds(),
			f.permissions(),
			f.field("networks", "Networks", "The key is taken from these alone: networks such as 192.0.2.0/24 or addresses such as 192.0.2.7, one a line. Empty for any.",
				f.networksArea()),
			f.field("expires", "Last day", "The key ends with this day (UTC). Empty for never.",
				f.input("expires", f.Expires, h.Type("date"))),
			h.Div(h.Class("pair"),
				f.field("per_minute", "Requests a minute", "Empty: as configured, "+f.UsualPerMinute+".",
					f.input("per_minute", f.PerMinute, g.Attr("inputmode", "numeric"))),
				f.field("per_hour", "Requests an hour", "Empty: as configured, "+f.UsualPerHour+".",
					f.input("per_hour", f.PerHour, g.Attr("inputmode", "numeric"))),
			),
			f.actions(),
		),
	}
}

// problems are what is wrong, each with the way to its field.
func (f *keyForm) problems() g.Node {
	if !f.failed() {
		return nil
	}
	return h.Div(h.Class("problem"), h.Role("alert"), focused(),
		g.If(f.Problem != "", h.P(g.Text(f.Problem))),
		g.If(len(f.Errors) > 0, g.Group{
			h.P(g.Text("Nothing was stored yet. Look at:")),
			h.Ul(g.Map(f.Errors, func(e fieldError) g.Node { return h.Li(h.A(h.Href("#"+e.Field), g.Text(e.Error))) })),
		}),
	)
}

// about tells of the key what the form cannot change.
func (f *keyForm) about() g.Node {
	if f.ID == 0 {
		return nil
	}
	return h.P(h.Class("hint"),
		g.Text("A "+f.Kind+" key"),
		g.If(f.Shown != "", g.Group{g.Text(", "), h.Code(g.Text(f.Shown))}),
		g.Text(". What you change holds at once; the key itself stays the same."),
	)
}

func (f *keyForm) path() string {
	if f.ID == 0 {
		return "/keys/new"
	}
	return keyPath(f.ID)
}

// origin is what keeps the form from being sent twice, or over the changes of
// somebody else.
func (f *keyForm) origin() g.Node {
	if f.ID == 0 {
		return hidden("mark", f.Mark)
	}
	return hidden("seen", f.Seen)
}

// field is a label, a hint, what is wrong, and where to type.
func (f *keyForm) field(name, label, hint string, control g.Node) g.Node {
	return h.Div(h.Class("field"),
		h.Label(h.For(name), g.Text(label)),
		h.P(h.Class("hint"), h.ID(name+"-hint"), g.Text(hint)),
		fieldErrorText(name, f.wrong(name)),
		control,
	)
}

func (f *keyForm) input(name, value string, attributes ...g.Node) g.Node {
	return h.Input(h.ID(name), h.Name(name), h.Value(value), describedBy(name, f.wrong(name)), g.Group(attributes))
}

func (f *keyForm) networksArea() g.Node {
	return h.Textarea(h.ID("networks"), h.Name("networks"), h.Class("code"), h.Rows("3"), g.Attr("spellcheck", "false"), g.Attr("autocapitalize", "none"),
		describedBy("networks", f.wrong("networks")), g.Text(f.Networks))
}

// kinds are chosen once: a stored key stays what it is.
func (f *keyForm) kinds() g.Node {
	if f.ID != 0 {
		return nil
	}
	problem := f.wrong("kind")
	choice := func(kind keys.Kind, text string, attributes ...g.Node) g.Node {
		return h.Label(
			h.Input(h.Type("radio"), g.Group(attributes), h.Name("kind"), h.Value(string(kind)), g.If(f.Kind == string(kind), h.Checked())),
			g.Text(" "+text),
		)
	}
	return h.FieldSet(g.If(problem != "", h.Aria("describedby", "kind-error")),
		h.Legend(g.Text("Kind")),
		fieldErrorText("kind", problem),
		h.Div(h.Class("choices"),
			choice(keys.Live, "live", h.ID("kind")),
			choice(keys.Test, "test, with limits of its own"),
		),
	)
}

func (f *keyForm) permissions() g.Node {
	problem, described := f.wrong("permissions"), "permissions-hint"
	if problem != "" {
		described += " permissions-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(g.Text("Permissions")),
		h.P(h.Class("hint"), h.ID("permissions-hint"), g.Text("What is ticked for everything holds for each line below it, except users: who may write these can link customers to users of the site.")),
		fieldErrorText("permissions", problem),
		h.Table(h.Class("permissions"),
			h.THead(h.Tr(
				h.Th(h.Scope("col"), unseen("Resource")),
				g.Map(keys.PermissionVerbs, func(verb string) g.Node { return h.Th(h.Scope("col"), g.Text(verb)) }),
			)),
			h.TBody(g.Map(f.rows(), permissionRow.view)),
		),
	)
}

func (r permissionRow) view() g.Node {
	return h.Tr(h.Th(h.Scope("row"), g.Text(r.Label)), g.Map(r.Cells, permissionCell.view))
}

// view of the first box is where an error about all of them leads.
func (c permissionCell) view() g.Node {
	if c.Value == "" {
		return h.Td()
	}
	first := c.Value == keys.PermissionVerbs[0]
	return h.Td(h.Label(
		h.Input(h.Type("checkbox"), h.Name("permissions"), h.Value(c.Value), g.If(first, h.ID("permissions")), g.If(c.Checked, h.Checked())),
		unseen(c.Label),
	))
}

func (f *keyForm) actions() g.Node {
	text := "Make the key"
	if f.ID != 0 {
		text = "Change the key"
	}
	return h.P(h.Class("actions"), h.Button(h.Class("main"), g.Text(text)), button("/keys", g.Text("Cancel")))
}
