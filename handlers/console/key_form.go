package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/handlers/console/facts"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// keyForm is the form for the terms of a key.
type keyForm struct {
	page.Form
	MaskedSecret                     string      // of an existing key
	Permissions                      []string    // ticked boxes
	Preset                           string      // name of a preset, or custom
	DefaultPerMinute, DefaultPerHour page.Phrase // the configured limits
}

// attributes returns the attributes in the order of the Form: the kind of a new key comes before the many
// permissions.
func (f *keyForm) attributes() []keys.Attribute[keys.Key, keys.NewKey] {
	if f.ID != 0 {
		return slices.Clone(keys.Terms)
	}
	attributes := slices.Clone(keys.NewTerms)
	kind := slices.IndexFunc(attributes, func(a keys.Attribute[keys.Key, keys.NewKey]) bool { return a.Name == "kind" })
	attributes[kind-1], attributes[kind] = attributes[kind], attributes[kind-1]
	return attributes
}

const permissionsField = "permissions"

// everything labels the permissions that hold for every resource.
const everything = "everything"

// rows returns the table of permissions: those for everything, those of each resource, and those that no
// general permission includes. Not every cell has a permission.
func (f *keyForm) rows() []facts.PermissionRow {
	resources := append([]string{""}, keys.PermissionResources...)
	for _, permission := range keys.NamedPermissions {
		_, resource, _ := strings.Cut(permission, "_")
		resources = append(resources, resource)
	}
	rows := make([]facts.PermissionRow, len(resources))
	for i, resource := range resources {
		rows[i].Resource, rows[i].Label = resource, cmp.Or(resource, everything)
		for _, verb := range keys.PermissionVerbs {
			cell := facts.PermissionCell{Value: strings.TrimSuffix(verb+"_"+resource, "_"), Label: verb + " " + rows[i].Label}
			if !keys.KnownPermission(cell.Value) {
				cell = facts.PermissionCell{}
			}
			cell.Checked = slices.Contains(f.Permissions, cell.Value)
			rows[i].Cells = append(rows[i].Cells, cell)
		}
	}
	return rows
}

// submittedForm returns the form as submitted.
func submittedForm(r *http.Request, problem page.Text) *keyForm {
	f := &keyForm{Form: page.Submitted(r, problem)}
	f.Permissions, f.Preset = strings.FieldsFunc(f.Value("permissions"), func(r rune) bool { return r == ',' }), f.Value("preset")
	f.Values.Set("permissions", strings.Join(f.chosen(), ","))
	return f
}

// storedForm returns the form filled with a key as stored.
func storedForm(key keys.Key) *keyForm {
	return &keyForm{
		Form: terms.Form(key.ID, keys.NewTerms, key), MaskedSecret: keyRow{Key: key}.maskedSecret(),
		Permissions: key.Permissions, Preset: presetOf(key.Permissions),
	}
}

// submittedTerms returns the form of an existing key, as submitted and as stored.
func submittedTerms(r *http.Request, key keys.Key, problem page.Text) (submitted, stored *keyForm) {
	submitted, stored = submittedForm(r, problem), storedForm(key)
	submitted.ID, submitted.Version, submitted.MaskedSecret = stored.ID, stored.Version, stored.MaskedSecret
	submitted.Values.Set("kind", stored.Value("kind"))
	if samePermissions(submitted.chosen(), stored.Permissions) {
		submitted.Values.Set("permissions", stored.Value("permissions"))
	}
	return submitted, stored
}

// customPreset is the choice of individual boxes.
const customPreset = "custom"

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
		if p.Name == f.Preset {
			return p.Permissions
		}
	}
	return f.Permissions
}

func samePermissions(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// showForm sends a page with a form and its errors.
func (c *Console) showForm(v *visit, status int, title page.Phrase, f *keyForm) error {
	f.DefaultPerMinute, f.DefaultPerHour = f.defaultLimits(v.Limits)
	names := c.labels(v, true)
	c.answer(v, status, page.Layout{Title: title, Invalid: f.Invalid()}, f.view(csrfToken(v.session), names), f.facts(names))
	return nil
}

// defaultLimits describes the configured limits for the key's kind, or for both kinds while the kind is not
// chosen.
func (f *keyForm) defaultLimits(options ratelimit.Options) (perMinute, perHour page.Phrase) {
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

const newKeyTitle page.Text = "New key"

func (c *Console) showNew(v *visit) error {
	f := storedForm(keys.Key{Kind: keys.Live})
	f.Preset = keys.Presets[0].Name
	return c.showForm(v, http.StatusOK, newKeyTitle, f)
}

func (c *Console) redisplayNew(v *visit, status int, problem page.Text) error {
	return c.showForm(v, status, newKeyTitle, submittedForm(v.r, problem))
}

func (c *Console) create(v *visit) error {
	f := submittedForm(v.r, "")
	n := keys.NewKey{CreatedBy: v.creator()}
	terms.Read(c.terms(v), &f.Form, nil, keys.NewTerms, &n)
	if len(f.Errors) > 0 {
		return c.showForm(v, http.StatusUnprocessableEntity, newKeyTitle, f)
	}
	secret, key, err := createOnce(v, f.Value("nonce"), n)
	switch {
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its key was created and shown then. If you did not copy it, revoke it and create another one.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNew(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: key created", "key_id", key.ID)
	c.showCreated(v, key, secret, nil)
	return nil
}

// showCreated shows a new key. rolled is the key that it replaces; nil for none.
func (c *Console) showCreated(v *visit, key keys.Key, secret string, rolled *keys.Key) {
	c.answer(v, http.StatusOK, page.Layout{Title: page.Textf("Key %d was created", key.ID)},
		createdView(c.addresses(v), key, secret, rolled), facts.Created{Secret: secret, ID: key.ID})
}

// creator returns the name to record as a new key's creator.
func (v *visit) creator() string {
	place := "console"
	if v.wordpress || v.frame != nil {
		place = "WordPress"
	}
	if v.person != "" {
		return v.person + ", " + place
	}
	return place
}

func editTitle(key keys.Key) page.Phrase { return page.Textf("Change key %d", key.ID) }

func (c *Console) showEdit(v *visit) error {
	return c.withKey(v, func(key keys.Key) error { return c.showForm(v, http.StatusOK, editTitle(key), storedForm(key)) })
}

func (c *Console) redisplayEdit(v *visit, status int, problem page.Text) error {
	return c.withKey(v, func(key keys.Key) error {
		f, _ := submittedTerms(v.r, key, problem)
		return c.showForm(v, status, editTitle(key), f)
	})
}

func (c *Console) update(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		f, stored := submittedTerms(v.r, key, "")
		if f.Value("version") != f.Version {
			f.Problem = "Somebody else has changed this key in the meantime. Compare with the list of keys before you send the form again."
			return c.showForm(v, http.StatusConflict, editTitle(key), f)
		}
		var n keys.NewKey
		changed := terms.Read(c.terms(v), &f.Form, &stored.Form, keys.Terms, &n)
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
