package console

import (
	"cmp"
	"strconv"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
)

// keyPath returns the path of the page that changes a key.
func keyPath(id int64) string { return keysPath + "/" + strconv.FormatInt(id, 10) }

// createdView is the only page that ever shows a secret. rolled is the key that the new one replaces; nil
// for none.
func createdView(api apiAddresses, key keys.Key, secret string, rolled *keys.Key) g.Node {
	return g.Group{
		h.P(page.Textf("This is the only time the key %s is shown: Bookside stores only a hash of it. Copy it now.", h.Strong(g.Text(key.Name)))),
		g.Iff(rolled != nil, func() g.Node {
			return h.P(page.Textf("The old key, %d, is valid until %s.", rolled.ID, page.Stamp(rolled.ExpiresAt, "now")))
		}),
		page.Secret("Key", secret),
		g.If(api.local != "", api.view(secret)),
		h.P(listLink("I have copied it: back to all keys")),
	}
}

// view shows how a client sends a key.
func (a apiAddresses) view(secret string) g.Node {
	line := func(label page.Text, api string) g.Node {
		return h.Pre(h.TabIndex("0"), page.Label(label), h.Code(page.Code("curl -H 'X-API-Key: "+secret+"' '"+api+"/status'")))
	}
	sentAs := func(format page.Text) g.Node { return h.P(page.Textf(format, h.Code(page.Code("X-API-Key")))) }
	examples := g.Group{sentAs("A client sends it as %s, such as on this machine:"), line("Example", a.local)}
	if a.public != "" {
		examples = g.Group{sentAs("A client sends it as %s, such as through the site:"), line("Example", a.public), h.P(page.Text("or on this machine:")), line("Example on this machine", a.local)}
	}
	return append(examples,
		h.P(page.Textf("What else it can ask for is in %s.", h.A(h.Href(cmp.Or(a.public, a.local)+"/docs"), h.Target("_blank"), h.Rel("noreferrer"), page.Text("the documentation of the API")))))
}

// view asks how long the old key stays valid.
func (f *rollForm) view(key keyRow, csrf string) g.Node {
	return g.Group{
		f.Summary(),
		h.P(page.Textf("Makes a new key with the terms of %s. Its webhooks pass to the new key at once, and its holds if it stays valid for less than 30 minutes.", key.nameView())),
		h.P(key.useText()),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/roll"),
			page.Hidden("csrf", csrf), f.Guard(),
			terms.Fields(&f.Form, keys.RollTerms, nil),
			h.P(h.Class("actions"),
				h.Button(h.Class("main"), page.Text("Create the new key")),
				page.Button(keysPath, page.Text("Cancel")),
			),
		),
	}
}

// useText describes the last use of the key.
func (r keyRow) useText() g.Node {
	if r.LastUsedAt == "" {
		return page.Text("It was never used.")
	}
	return page.Textf("It was last used %s, on %s.", page.Ago(r.Unused), page.Stamp(r.LastUsedAt, ""))
}

// nameView shows the name of the key, and the visible characters of its secret.
func (r keyRow) nameView() g.Node {
	return g.Group{h.Strong(g.Text(r.Name)), g.If(r.maskedSecret() != "", g.Group{g.Text(" ("), h.Code(g.Text(r.maskedSecret())), g.Text(")")})}
}

func revokeView(key keyRow, csrf string, problem page.Text) g.Node {
	return g.Group{
		page.Alert(problem),
		h.P(page.Textf("Clients that use the key %s will be rejected immediately. This cannot be undone.", key.nameView())),
		h.P(key.useText()),
		h.Form(h.Method("post"), h.Action(keyPath(key.ID)+"/revoke"),
			page.Hidden("csrf", csrf),
			h.P(h.Class("actions"),
				h.Button(h.Class("danger"), page.Text("Revoke the key")),
				page.Button(keysPath, page.Text("Keep it")),
			),
		),
	}
}
