package console

import (
	"cmp"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
)

// keyPath returns the path of the page that changes a key.
func keyPath(id int64) string { return keysPath + "/" + strconv.FormatInt(id, 10) }

// createdView is the only page that ever shows a secret. rolled is the key that the new one replaces; nil
// for none.
func createdView(api apiAddresses, key keys.Key, secret string, rolled *keys.Key) g.Node {
	return g.Group{
		h.P(g.Text("This is the only time the key "), h.Strong(g.Text(key.Name)),
			g.Text(" is shown: Bookside stores only a hash of it. Copy it now.")),
		g.Iff(rolled != nil, func() g.Node {
			return h.P(g.Text("The old key, "+strconv.FormatInt(rolled.ID, 10)+", is valid until "), page.NewUTC(rolled.ExpiresAt).View("now"), g.Text(" (UTC)."))
		}),
		page.Secret("Key", secret),
		g.If(api.local != "", api.view(secret)),
		h.P(listLink("I have copied it: back to all keys")),
	}
}

// view shows how a client sends a key.
func (a apiAddresses) view(secret string) g.Node {
	line := func(label, api string) g.Node {
		return h.Pre(h.TabIndex("0"), h.Aria("label", label), h.Code(g.Text("curl -H 'X-API-Key: "+secret+"' '"+api+"/status'")))
	}
	sentAs := func(where string) g.Node {
		return h.P(g.Text("A client sends it as "), h.Code(g.Text("X-API-Key")), g.Text(", such as "+where+":"))
	}
	examples := g.Group{sentAs("on this machine"), line("Example", a.local)}
	if a.public != "" {
		examples = g.Group{sentAs("through the site"), line("Example", a.public), h.P(g.Text("or on this machine:")), line("Example on this machine", a.local)}
	}
	return append(examples,
		h.P(g.Text("What else it can ask for is in "), h.A(h.Href(cmp.Or(a.public, a.local)+"/docs"), h.Target("_blank"), h.Rel("noreferrer"), g.Text("the documentation of the API")), g.Text(".")))
}

// view asks how long the old key stays valid.
func (f *rollForm) view(key keyRow, csrf string) g.Node {
	return g.Group{
		f.Summary(),
		h.P(g.Text("Makes a new key with the terms of "), h.Strong(g.Text(key.Name)),
			g.If(key.maskedSecret() != "", g.Group{g.Text(" ("), h.Code(g.Text(key.maskedSecret())), g.Text(")")}),
			g.Text(". Its webhooks pass to the new key at once, and its holds if it stays valid for less than 30 minutes.")),
		h.P(key.useText()),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/roll"),
			page.Hidden("csrf", csrf), f.Guard(),
			fields(&f.Form, keys.RollTerms),
			h.P(h.Class("actions"),
				h.Button(h.Class("main"), g.Text("Create the new key")),
				page.Button(keysPath, g.Text("Cancel")),
			),
		),
	}
}

// useText describes the last use of the key.
func (r keyRow) useText() g.Node {
	if r.LastUsed.Text == "" {
		return g.Text("It was never used.")
	}
	return g.Group{g.Text("It was last used " + page.Ago(r.Unused) + ", on "), r.LastUsed.View(""), g.Text(" (UTC).")}
}

func revokeView(key keyRow, csrf, problem string) g.Node {
	return g.Group{
		page.Alert(problem),
		h.P(g.Text("Clients that use the key "), h.Strong(g.Text(key.Name)),
			g.If(key.maskedSecret() != "", g.Group{g.Text(" ("), h.Code(g.Text(key.maskedSecret())), g.Text(")")}),
			g.Text(" will be rejected immediately. This cannot be undone.")),
		h.P(key.useText()),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/revoke"),
			page.Hidden("csrf", csrf),
			h.P(h.Class("actions"),
				h.Button(h.Class("danger"), g.Text("Revoke the key")),
				page.Button(keysPath, g.Text("Keep it")),
			),
		),
	}
}
