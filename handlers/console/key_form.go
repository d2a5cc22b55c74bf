package console

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/forms"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/handlers/ratelimit"
)

const newKeyTitle page.Text = "New key"

func editTitle(key keys.Key) page.Phrase { return page.Textf("Change key %d", key.ID) }

// keyForm is the form for the attributes of a key.
type keyForm struct {
	page.Form
	secret      g.Node   // the visible characters of an existing key
	permissions []string // ticked boxes
	preset      string   // name of a preset, or custom
}

// attributes returns the attributes in the order of the Form: the kind of a new key comes before the many
// permissions.
func (f *keyForm) attributes() []keys.Attribute[keys.Key, keys.NewKey] {
	if f.ID != 0 {
		return slices.Clone(keys.ChangeableAttributes)
	}
	attributes := slices.Clone(keys.NewAttributes)
	kind := slices.IndexFunc(attributes, func(a keys.Attribute[keys.Key, keys.NewKey]) bool { return a.Name == "kind" })
	attributes[kind-1], attributes[kind] = attributes[kind], attributes[kind-1]
	return attributes
}

const permissionsField = "permissions"

// everything labels the permissions that hold for every resource.
const everything = "everything"

// customPreset is the choice of individual boxes.
const customPreset = "custom"

// submittedForm returns the form as submitted.
func submittedForm(r *http.Request, problem page.Text) *keyForm {
	f := &keyForm{Form: page.Submitted(r, problem)}
	f.permissions, f.preset = strings.FieldsFunc(f.Value(permissionsField), func(r rune) bool { return r == ',' }), f.Value("preset")
	f.Values.Set(permissionsField, strings.Join(f.chosen(), ","))
	return f
}

// storedForm returns the form filled with a key as stored.
func storedForm(key keys.Key) *keyForm {
	return &keyForm{Form: forms.Form(key.ID, keys.NewAttributes, key), secret: keyRow{Key: key}.secretView(", ", ""), permissions: key.Permissions, preset: presetOf(key.Permissions)}
}

// submittedAndStored returns the form of an existing key, as submitted and as stored.
func submittedAndStored(r *http.Request, key keys.Key, problem page.Text) (submitted, stored *keyForm) {
	submitted, stored = submittedForm(r, problem), storedForm(key)
	submitted.ID, submitted.Version, submitted.secret = stored.ID, stored.Version, stored.secret
	submitted.Values.Set("kind", stored.Value("kind"))
	if samePermissions(submitted.chosen(), stored.permissions) {
		submitted.Values.Set(permissionsField, stored.Value(permissionsField))
	}
	return submitted, stored
}

// presetOf returns the preset with exactly these permissions, or customPreset.
func presetOf(permissions []string) string {
	for _, p := range keys.Presets {
		if samePermissions(p.Permissions, permissions) {
			return p.Name
		}
	}
	return customPreset
}

// chosen returns the permissions of the preset, or of the boxes.
func (f *keyForm) chosen() []string {
	for _, p := range keys.Presets {
		if p.Name == f.preset {
			return p.Permissions
		}
	}
	return f.permissions
}

func samePermissions(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// showForm sends a page with a form and its errors.
func (c *Console) showForm(v *visit, status int, title page.Phrase, f *keyForm) error {
	c.show(v, status, page.Layout{Title: title, Invalid: f.Invalid()}, f.view(c.labels(v, true), v.Limits))
	return nil
}

// view shows the form below its errors.
func (f *keyForm) view(names slots.Labels, limits ratelimit.Options) g.Node {
	attributes, path, press := f.attributes(), keysPath+"/new", page.Text("Create the key")
	if f.ID != 0 {
		path, press = keyPath(f.ID), "Change the key"
	}
	permissions := slices.IndexFunc(attributes, func(a keys.Attribute[keys.Key, keys.NewKey]) bool { return a.Name == permissionsField })
	rates := len(attributes) - 2
	perMinute, perHour := f.configured(limits)
	return g.Group{
		f.Summary(),
		g.If(f.ID != 0, h.P(h.Class("hint"), page.Textf("A %s key", page.Text(f.Value("kind"))), f.secret, g.Text(". "), page.Text("Changes take effect immediately; the key itself stays the same."))),
		page.PostForm(path, h.AutoComplete("off"), g.Attr("novalidate"),
			f.Guard(),
			forms.Fields(&f.Form, attributes[:permissions], names),
			f.permissionsView(page.Text(attributes[permissions].Label), page.Text(attributes[permissions].Hint)),
			forms.Fields(&f.Form, attributes[permissions+1:rates], names),
			h.Div(h.Class("pair"), f.limit(attributes[rates], perMinute), f.limit(attributes[rates+1], perHour)),
			h.P(h.Class("actions"), h.Button(h.Class("main"), press), page.Button(keysPath, page.Text("Cancel"))),
		),
	}
}

// limit is the field of a limit, with the configured one in its hint.
func (f *keyForm) limit(a keys.Attribute[keys.Key, keys.NewKey], configured page.Phrase) g.Node {
	return f.Field(a.Name, page.Text(a.Label), page.Textf("%s: %s.", page.Text(a.Hint), configured), f.Input(a.Name, f.Value(a.Name)))
}

// configured describes the configured limits for the key's kind, or for both kinds while the kind is not chosen.
func (f *keyForm) configured(options ratelimit.Options) (perMinute, perHour page.Phrase) {
	var minutes, hours []page.Phrase
	for _, kind := range keys.Kinds {
		if f.ID != 0 && string(kind) != f.Value("kind") {
			continue
		}
		limits := options.For(keys.Key{Kind: kind})
		minutes = append(minutes, page.Textf("%d for %s keys", limits.PerMinute, page.Text(kind)))
		hours = append(hours, page.Textf("%d for %s keys", limits.PerHour, page.Text(kind)))
	}
	return page.List(minutes...), page.List(hours...)
}

func (f *keyForm) permissionsView(label, hint page.Text) g.Node {
	problem, described := f.ErrorFor(permissionsField), permissionsField+"-hint"
	if problem != "" {
		described += " " + permissionsField + "-error"
	}
	return h.FieldSet(h.Aria("describedby", described),
		h.Legend(label),
		page.Error(permissionsField, problem),
		h.Div(h.Class("choices presets"),
			g.Map(keys.Presets, func(p keys.Preset) g.Node { return f.presetView(p.Name, page.Text(p.Name), page.Text(p.Hint)) }),
			f.presetView(customPreset, "custom", "the boxes that you tick"),
		),
		h.P(h.Class("hint"), h.ID(permissionsField+"-hint"), hint),
		h.Table(h.Class("permissions"),
			h.THead(h.Tr(
				h.Th(h.Scope("col"), page.ScreenReaderText(page.Text("Resource"))),
				g.Map(keys.PermissionVerbs, func(verb string) g.Node { return h.Th(h.Scope("col"), page.Text(verb)) }),
			)),
			h.TBody(g.Map(permissionRows(), f.permissionRow)),
		),
	)
}

func (f *keyForm) presetView(name string, label, hint page.Text) g.Node {
	id := "preset-" + strings.ReplaceAll(name, " ", "-")
	return h.Label(
		h.Input(h.Type("radio"), h.ID(id), h.Name("preset"), h.Value(name), g.If(f.preset == name || f.preset == "" && name == customPreset, h.Checked())),
		h.Span(label, g.Text(" "), h.Span(h.Class("hint"), hint)),
	)
}

// permissionRows are the resources of permissions: "" for everything, each, and those that no general permission includes.
func permissionRows() []string {
	rows := append([]string{""}, keys.PermissionResources...)
	for _, permission := range keys.NamedPermissions {
		_, resource, _ := strings.Cut(permission, "_")
		rows = append(rows, resource)
	}
	return rows
}

// permissionRow is a row of boxes. Not every cell has a permission.
func (f *keyForm) permissionRow(resource string) g.Node {
	label := cmp.Or(resource, everything)
	return h.Tr(h.Th(h.Scope("row"), page.Text(label)), g.Map(keys.PermissionVerbs, func(verb string) g.Node {
		permission := strings.TrimSuffix(verb+"_"+resource, "_")
		if !keys.KnownPermission(permission) {
			return h.Td()
		}
		first := permission == keys.PermissionVerbs[0] // the error summary links to it
		return h.Td(h.Label(
			h.Input(h.Type("checkbox"), h.Name(permissionsField), h.Value(permission), g.If(first, h.ID(permissionsField)), g.If(slices.Contains(f.permissions, permission), h.Checked())),
			page.ScreenReaderText(words.Permission(verb, label)),
		))
	}))
}

func (c *Console) showNewKey(v *visit) error {
	f := storedForm(keys.Key{Kind: keys.Live})
	f.preset = keys.Presets[0].Name
	return c.showForm(v, http.StatusOK, newKeyTitle, f)
}

func (c *Console) redisplayNewKey(v *visit, status int, problem page.Text) error {
	return c.showForm(v, status, newKeyTitle, submittedForm(v.r, problem))
}

func (c *Console) createKey(v *visit) error {
	f := submittedForm(v.r, "")
	n := keys.NewKey{CreatedBy: v.creator()}
	forms.Read(c.formReader(v), &f.Form, nil, keys.NewAttributes, &n)
	if len(f.Errors) > 0 {
		return c.showForm(v, http.StatusUnprocessableEntity, newKeyTitle, f)
	}
	secret, key, err := createOnce(v, f.Value("nonce"), n)
	switch {
	case errors.Is(err, errSubmitted):
		return c.showSubmitted(v, keyWasShown)
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNewKey(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: key created", "key_id", key.ID)
	c.showCreated(v, key, secret, nil)
	return nil
}

const keyWasShown page.Text = "Its key was created and shown then. If you did not copy it, revoke it and create another one."

// showCreated is the only page that ever shows a secret. rolled is the key that the new one replaces; nil for none.
func (c *Console) showCreated(v *visit, key keys.Key, secret string, rolled *keys.Key) {
	public := c.publicAddress(v)
	example := func(label page.Text, api string) g.Node {
		return h.Pre(h.TabIndex("0"), page.Label(label), h.Code(page.Code("curl -H 'X-API-Key: "+secret+"' '"+api+"/status'")))
	}
	c.show(v, http.StatusOK, page.Layout{Title: page.Textf("Key %d was created", key.ID)}, g.Group{
		h.P(page.Textf("This is the only time the key %s is shown: Bookside stores only a hash of it. Copy it now.", h.Strong(g.Text(key.Name)))),
		g.Iff(rolled != nil, func() g.Node {
			return h.P(page.Textf("The old key, %d, is valid until %s.", rolled.ID, page.Stamp(rolled.ExpiresAt, "now")))
		}),
		page.Secret("Key", secret),
		h.P(page.Textf("A client sends it as %s, such as:", h.Code(page.Code("X-API-Key")))),
		g.If(public != "", g.Group{example("Example", public), h.P(page.Text("or on this machine:"))}),
		example("Example on this machine", v.API),
		h.P(page.Textf("What else it can ask for is in %s.", h.A(h.Href(cmp.Or(public, v.API)+"/docs"), h.Target("_blank"), h.Rel("noreferrer"), page.Text("the documentation of the API")))),
		h.P(page.A(keysPath, page.Text("I have copied it: back to the list"))),
	})
}

// creator returns the name to record as a new key's creator.
func (v *visit) creator() string {
	place := "console"
	if v.frame != nil {
		place = "WordPress"
	}
	if v.person != "" {
		return v.person + ", " + place
	}
	return place
}

func (c *Console) showEditKey(v *visit) error {
	return c.withKey(v, func(key keys.Key) error { return c.showForm(v, http.StatusOK, editTitle(key), storedForm(key)) })
}

func (c *Console) redisplayEditKey(v *visit, status int, problem page.Text) error {
	return c.withKey(v, func(key keys.Key) error {
		f, _ := submittedAndStored(v.r, key, problem)
		return c.showForm(v, status, editTitle(key), f)
	})
}

func (c *Console) updateKey(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		f, stored := submittedAndStored(v.r, key, "")
		if f.Value("version") != f.Version {
			f.Problem = "Somebody else has changed this key in the meantime. Compare with the list of keys before you send the form again."
			return c.showForm(v, http.StatusConflict, editTitle(key), f)
		}
		var n keys.NewKey
		changed := forms.Read(c.formReader(v), &f.Form, &stored.Form, keys.ChangeableAttributes, &n)
		if len(f.Errors) > 0 {
			return c.showForm(v, http.StatusUnprocessableEntity, editTitle(key), f)
		}
		if _, _, err := v.Keys.Restrict(v.ctx(), key.ID, n.Patch(changed...)); err != nil {
			problem, status := c.explain(v, err)
			f.Problem = problem
			return c.showForm(v, status, editTitle(key), f)
		}
		c.log.InfoContext(v.ctx(), "console: key changed", "key_id", key.ID)
		return redirectDone(v, "changed", key.ID)
	})
}

// errSubmitted is the error for a form that was submitted before.
var errSubmitted = errors.New("form already submitted")

// spend returns errSubmitted if the form with this nonce was submitted before.
func (v *visit) spend(nonce string) error {
	first, err := v.Tokens.Spend(v.ctx(), nonce)
	if err == nil && !first {
		return errSubmitted
	}
	return err
}

// createOnce creates a key or a calendar, or returns errSubmitted if the form with this nonce
// has created one.
func createOnce(v *visit, nonce string, n keys.NewKey) (secret string, key keys.Key, err error) {
	if err := v.spend(nonce); err != nil {
		return "", keys.Key{}, err
	}
	return v.Keys.Create(v.ctx(), n)
}

func (c *Console) showRoll(v *visit) error {
	return c.showRollForm(v, http.StatusOK, page.NewForm(url.Values{"overlap": {"1d"}}))
}

func (c *Console) redisplayRoll(v *visit, status int, problem page.Text) error {
	return c.showRollForm(v, status, page.Submitted(v.r, problem))
}

// showRollForm asks how long the old key stays valid.
func (c *Console) showRollForm(v *visit, status int, f page.Form) error {
	return c.withKey(v, func(key keys.Key) error {
		row := c.row(v, key)
		c.show(v, status, page.Layout{Title: page.Textf("Roll key %d", key.ID), Invalid: f.Invalid()}, g.Group{
			f.Summary(),
			h.P(page.Textf("Makes a new key with the terms of %s. Its webhooks pass to the new key at once, and its holds if it stays valid for less than 30 minutes.", row.nameView())),
			h.P(row.useText()),
			page.PostForm(keyPath(key.ID)+"/roll",
				f.Guard(),
				forms.Fields(&f, keys.RollAttributes, nil),
				h.P(h.Class("actions"), h.Button(h.Class("main"), page.Text("Create the new key")), page.Button(keysPath, page.Text("Cancel"))),
			),
		})
		return nil
	})
}

func (c *Console) roll(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		f := page.Submitted(v.r, "")
		var overlap time.Duration
		forms.Read(c.formReader(v), &f, nil, keys.RollAttributes, &overlap)
		if len(f.Errors) > 0 {
			return c.showRollForm(v, http.StatusUnprocessableEntity, f)
		}
		var secret string
		var made, old keys.Key
		var found bool
		err := v.spend(f.Value("nonce"))
		if err == nil {
			secret, made, old, found, err = v.Keys.Roll(v.ctx(), key.ID, overlap, v.creator())
		}
		switch {
		case errors.Is(err, errSubmitted):
			return c.showSubmitted(v, keyWasShown)
		case err != nil:
			problem, status := c.explain(v, err)
			return c.redisplayRoll(v, status, problem)
		case !found:
			return c.redisplayRoll(v, http.StatusConflict, "This key has expired. Change its last day first.")
		}
		c.log.InfoContext(v.ctx(), "console: key rolled", "key_id", key.ID, "new_key_id", made.ID)
		c.showCreated(v, made, secret, &old)
		return nil
	})
}
