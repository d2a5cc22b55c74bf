package console

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/adapter/slots"
	"bookside/handlers/ratelimit"
)

// keyForm is the form for the terms of a key, with what was typed and the
// errors in it.
type keyForm struct {
	ID                               int64  // 0 for a new key
	MaskedSecret                     string // of an existing key
	Name, Kind                       string
	Permissions                      []string // of the boxes
	Preset                           string   // the name of one, or custom
	Networks, Expires                string   // "" for any, and for never
	Agents, Services, Locations      string   // ids; "" for all
	MaskPersonal                     bool
	PerMinute, PerHour               string // "" for the configured limits
	Nonce                            string // identifies the form, which can be submitted once
	Version                          string // hash of the terms that the form was filled from
	Problem                          string // of the form as a whole
	Errors                           []fieldError
	DefaultPerMinute, DefaultPerHour string // the configured limits, for people
}

// fieldError describes what is wrong with a field.
type fieldError struct{ Field, Error string }

// errorFor returns the error of a field, or "".
func (f *keyForm) errorFor(field string) string {
	for _, e := range f.Errors {
		if e.Field == field {
			return e.Error
		}
	}
	return ""
}

// invalid reports whether the form has any error.
func (f *keyForm) invalid() bool { return f.Problem != "" || len(f.Errors) > 0 }

// permissionRow is a row of the table of permissions.
type permissionRow struct {
	Label string
	Cells []permissionCell
}

type permissionCell struct {
	Value, Label string // "" where there is no such permission
	Checked      bool
}

// everything labels the permissions that hold for every resource.
const everything = "everything"

// rows returns the table of permissions: for everything, for each resource, and
// those that no general permission includes, which not every verb has.
func (f *keyForm) rows() []permissionRow {
	resources := append([]string{""}, keys.PermissionResources...)
	for _, permission := range keys.NamedPermissions {
		_, resource, _ := strings.Cut(permission, "_")
		resources = append(resources, resource)
	}
	rows := make([]permissionRow, len(resources))
	for i, resource := range resources {
		rows[i].Label = cmp.Or(resource, everything)
		for _, verb := range keys.PermissionVerbs {
			cell := permissionCell{Value: strings.TrimSuffix(verb+"_"+resource, "_"), Label: verb + " " + rows[i].Label}
			if !keys.KnownPermission(cell.Value) {
				cell = permissionCell{}
			}
			cell.Checked = slices.Contains(f.Permissions, cell.Value)
			rows[i].Cells = append(rows[i].Cells, cell)
		}
	}
	return rows
}

// submittedForm returns the form as submitted.
func submittedForm(r *http.Request) *keyForm {
	text := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	return &keyForm{
		Name: text("name"), Kind: text("kind"), Permissions: r.PostForm["permissions"], Preset: text("preset"),
		Networks: strings.ReplaceAll(text("networks"), "\r\n", "\n"), Expires: text("expires"),
		Agents: text("agents"), Services: text("services"), Locations: text("locations"),
		MaskPersonal: text("mask_personal") != "",
		PerMinute:    text("per_minute"), PerHour: text("per_hour"), Nonce: text("nonce"), Version: text("version"),
	}
}

// storedForm returns the form filled with a key as stored.
func storedForm(key keys.Key) *keyForm {
	f := &keyForm{
		ID: key.ID, MaskedSecret: keyRow{Key: key}.maskedSecret(), Name: key.Name, Kind: string(key.Kind), Permissions: key.Permissions,
		Expires: lastDay(key.ExpiresAt), PerMinute: numberText(key.PerMinute), PerHour: numberText(key.PerHour),
	}
	if len(key.Networks) > 0 {
		f.Networks = strings.ReplaceAll(keys.FormatNetworks(key.Networks), ",", "\n")
	}
	f.MaskPersonal = key.MaskPersonal
	f.Agents, f.Services, f.Locations = idsText(key.Scope.Agents), idsText(key.Scope.Services), idsText(key.Scope.Locations)
	f.Preset = presetOf(key.Permissions)
	terms := fmt.Sprintf("%q %q %q %q %q %q %s %t", key.Name, key.Permissions, f.Networks, key.ExpiresAt, f.PerMinute, f.PerHour, key.Scope, key.MaskPersonal)
	sum := sha256.Sum256([]byte(terms))
	f.Version = hex.EncodeToString(sum[:16])
	return f
}

// submittedTerms returns the form of an existing key as submitted and as stored.
func submittedTerms(r *http.Request, key keys.Key) (submitted, stored *keyForm) {
	submitted, stored = submittedForm(r), storedForm(key)
	submitted.ID, submitted.MaskedSecret, submitted.Kind = stored.ID, stored.MaskedSecret, stored.Kind
	return submitted, stored
}

// customPreset stands for the boxes.
const customPreset = "custom"

// presetOf returns the preset with these permissions, or customPreset.
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

// lastDay returns the last day on which a key is valid, for at least a part of it.
func lastDay(end domain.Timestamp) string {
	instant, ok := end.Time()
	if !ok {
		return ""
	}
	return instant.Add(-time.Second).Format(time.DateOnly)
}

func numberText(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func idsText(ids []int64) string {
	if len(ids) == 0 {
		return ""
	}
	return keys.FormatIDs(ids)
}

// parseField parses a field and adds its error to the form.
func parseField[T any](f *keyForm, name, text string, parse func(string) (T, error)) T {
	value, err := parse(text)
	if err != nil {
		f.Errors = append(f.Errors, fieldError{name, domain.Capitalize(err.Error()) + "."})
	}
	return value
}

// optional makes an empty field parse as the zero value.
func optional[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (value T, err error) {
		if text == "" {
			return value, nil
		}
		return parse(text)
	}
}

func expiryFrom(now time.Time) func(string) (*time.Time, error) {
	return optional(func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) })
}

// choices returns how a field is parsed that has ids or names of agents, services or locations: parse gets
// the ids of what exists.
func choices[T any](c *Console, v *visit, of domain.Resource, parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (value T, err error) {
		numbers := text
		if _, err := keys.ParseChoices(text); err != nil {
			return parse(text) // which says what to write
		}
		site, err := v.Platform.Session(v.ctx())
		if err == nil {
			numbers, err = slots.Numbers(v.ctx(), site, of, text)
		}
		var unknown *slots.ChoiceError
		if err != nil && !errors.As(err, &unknown) {
			problem, _ := c.explain(v, err)
			return value, errors.New(strings.TrimSuffix(problem, "."))
		}
		if err != nil {
			return value, err
		}
		return parse(numbers)
	}
}

// parsePermissions parses a comma-separated list, which must not be empty.
func parsePermissions(list string) ([]string, error) {
	if list == "" {
		return nil, fmt.Errorf("tick at least one")
	}
	return keys.ParsePermissions(list)
}

// newKey parses the form for a new key and fills f.Errors.
func (c *Console) newKey(v *visit, f *keyForm) keys.NewKey {
	now := c.now()
	return keys.NewKey{
		Name:         parseField(f, "name", f.Name, keys.ParseName),
		Kind:         parseField(f, "kind", f.Kind, keys.ParseKind),
		Permissions:  parseField(f, "permissions", strings.Join(f.chosen(), ","), parsePermissions),
		Networks:     parseField(f, "networks", f.Networks, optional(keys.ParseNetworks)),
		ExpiresAt:    parseField(f, "expires", f.Expires, expiryFrom(now)),
		PerMinute:    parseField(f, "per_minute", f.PerMinute, optional(keys.ParseRequestLimit)),
		PerHour:      parseField(f, "per_hour", f.PerHour, optional(keys.ParseRequestLimit)),
		MaskPersonal: f.MaskPersonal,
		Scope: domain.Scope{
			Agents:    parseField(f, "agents", f.Agents, optional(choices(c, v, domain.AgentResource, keys.ParseIDs))),
			Services:  parseField(f, "services", f.Services, optional(choices(c, v, domain.ServiceResource, keys.ParseIDs))),
			Locations: parseField(f, "locations", f.Locations, optional(choices(c, v, domain.LocationResource, keys.ParseIDs))),
		},
	}
}

// patch parses what differs from the stored terms and fills f.Errors. Unchanged
// fields are not checked: the last day of a key may be in the past, an agent deleted.
func (c *Console) patch(v *visit, f, stored *keyForm) (p keys.Patch) {
	now := c.now()
	if f.Name != stored.Name {
		name := parseField(f, "name", f.Name, keys.ParseName)
		p.Name = &name
	}
	if !samePermissions(f.chosen(), stored.Permissions) {
		p.Permissions = parseField(f, "permissions", strings.Join(f.chosen(), ","), parsePermissions)
	}
	if f.Networks != stored.Networks {
		networks := parseField(f, "networks", f.Networks, optional(keys.ParseNetworks))
		p.Networks = &networks
	}
	for _, of := range []struct {
		resource     domain.Resource
		text, stored string
		change       **[]int64
	}{
		{domain.AgentResource, f.Agents, stored.Agents, &p.Agents}, {domain.ServiceResource, f.Services, stored.Services, &p.Services},
		{domain.LocationResource, f.Locations, stored.Locations, &p.Locations},
	} {
		if of.text != of.stored {
			ids := parseField(f, string(of.resource)+"s", of.text, optional(choices(c, v, of.resource, keys.ParseIDs)))
			*of.change = &ids
		}
	}
	if f.MaskPersonal != stored.MaskPersonal {
		p.MaskPersonal = &f.MaskPersonal
	}
	if f.Expires != stored.Expires {
		p.ExpiresAt = orZero(parseField(f, "expires", f.Expires, expiryFrom(now)))
	}
	if f.PerMinute != stored.PerMinute {
		p.PerMinute = orZero(parseField(f, "per_minute", f.PerMinute, optional(keys.ParseRequestLimit)))
	}
	if f.PerHour != stored.PerHour {
		p.PerHour = orZero(parseField(f, "per_hour", f.PerHour, optional(keys.ParseRequestLimit)))
	}
	return p
}

func samePermissions(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func orZero[T any](p *T) *T {
	if p == nil {
		return new(T)
	}
	return p
}

// showForm sends a page with a form and its errors.
func (c *Console) showForm(v *visit, status int, title string, f *keyForm) error {
	f.DefaultPerMinute, f.DefaultPerHour = f.defaultLimits(v.Limits)
	c.show(v, status, layout{Title: title, Invalid: f.invalid()}, f.view(csrfToken(v.session)))
	return nil
}

// defaultLimits describes the configured limits for the key's kind, or for both
// kinds if it is still to be chosen.
func (f *keyForm) defaultLimits(options ratelimit.Options) (perMinute, perHour string) {
	var minutes, hours []string
	for _, kind := range keys.Kinds {
		if f.ID != 0 && string(kind) != f.Kind {
			continue
		}
		limits := options.For(keys.Key{Kind: kind})
		minutes = append(minutes, fmt.Sprintf("%d for %s keys", limits.PerMinute, kind))
		hours = append(hours, fmt.Sprintf("%d for %s keys", limits.PerHour, kind))
	}
	return strings.Join(minutes, ", "), strings.Join(hours, ", ")
}

const newKeyTitle = "New key"

func (c *Console) showNew(v *visit) error {
	return c.showForm(v, http.StatusOK, newKeyTitle, &keyForm{Kind: string(keys.Live), Preset: keys.Presets[0].Name, Nonce: rand.Text()})
}

func (c *Console) redisplayNew(v *visit, status int, problem string) error {
	f := submittedForm(v.r)
	f.Problem, f.Nonce = problem, rand.Text()
	return c.showForm(v, status, newKeyTitle, f)
}

func (c *Console) create(v *visit) error {
	f := submittedForm(v.r)
	n := c.newKey(v, f)
	n.CreatedBy = v.creator()
	if len(f.Errors) > 0 {
		f.Nonce = rand.Text()
		return c.showForm(v, http.StatusUnprocessableEntity, newKeyTitle, f)
	}
	secret, key, err := createOnce(v, f.Nonce, n)
	switch {
	case errors.Is(err, errSubmitted):
		c.showMessage(v, http.StatusConflict, "This form was already submitted", "Its key was created and shown then. If you did not copy it, revoke it and create another one.")
		return nil
	case err != nil:
		problem, status := c.explain(v, err)
		return c.redisplayNew(v, status, problem)
	}
	c.log.InfoContext(v.ctx(), "console: key created", "key_id", key.ID)
	c.show(v, http.StatusOK, layout{Title: "Key " + strconv.FormatInt(key.ID, 10) + " was created"}, createdView(c.addresses(v), key, secret, nil))
	return nil
}

// creator says who made a key.
func (v *visit) creator() string {
	const place = "console"
	if v.person != "" {
		return v.person + ", " + place
	}
	return place
}

func editTitle(key keys.Key) string { return "Change key " + strconv.FormatInt(key.ID, 10) }

func (c *Console) showEdit(v *visit) error {
	return c.withKey(v, func(key keys.Key) error { return c.showForm(v, http.StatusOK, editTitle(key), storedForm(key)) })
}

func (c *Console) redisplayEdit(v *visit, status int, problem string) error {
	return c.withKey(v, func(key keys.Key) error {
		f, stored := submittedTerms(v.r, key)
		f.Version, f.Problem = stored.Version, problem
		return c.showForm(v, status, editTitle(key), f)
	})
}

func (c *Console) update(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		f, stored := submittedTerms(v.r, key)
		if f.Version != stored.Version {
			f.Version, f.Problem = stored.Version, "Somebody else has changed this key in the meantime. Compare with the list of keys before you send the form again."
			return c.showForm(v, http.StatusConflict, editTitle(key), f)
		}
		patch := c.patch(v, f, stored)
		if len(f.Errors) > 0 {
			return c.showForm(v, http.StatusUnprocessableEntity, editTitle(key), f)
		}
		if _, _, err := v.Keys.Restrict(v.ctx(), key.ID, patch); err != nil {
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

// createOnce creates a key or a calendar, or returns errSubmitted if the form with this nonce
// has created one.
func createOnce(v *visit, nonce string, n keys.NewKey) (secret string, key keys.Key, err error) {
	first, err := v.Tokens.Spend(v.ctx(), nonce)
	if err != nil {
		return "", keys.Key{}, err
	}
	if !first {
		return "", keys.Key{}, errSubmitted
	}
	return v.Keys.Create(v.ctx(), n)
}
