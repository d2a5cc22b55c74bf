package handlers

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
)

// keyForm is the form for the terms of a key: what was typed, and what is wrong
// with it.
type keyForm struct {
	ID                           int64  // 0 for a new key
	Shown                        string // of a stored key's secret
	Name, Kind                   string
	Permissions                  []string
	Networks, Expires            string // "" for any, and for never
	PerMinute, PerHour           string // "" for the configured limits
	Mark                         string // by which a form that was sent is known again
	Seen                         string // the terms that the form was made from
	Problem                      string
	Errors                       []fieldError
	UsualPerMinute, UsualPerHour string // the configured limits, for people
}

// fieldError is what is wrong with a field.
type fieldError struct{ Field, Error string }

// wrong is what is wrong with a field, or "".
func (f *keyForm) wrong(field string) string {
	for _, e := range f.Errors {
		if e.Field == field {
			return e.Error
		}
	}
	return ""
}

// failed tells whether anything is wrong.
func (f *keyForm) failed() bool { return f.Problem != "" || len(f.Errors) > 0 }

// permissionRow is a line of the table of permissions.
type permissionRow struct {
	Label string
	Cells []permissionCell
}

type permissionCell struct {
	Value, Label string // "" where there is no such permission
	Checked      bool
}

// everything is what a permission without a resource is for.
const everything = "everything"

// rows are the table of permissions: everything, each resource, and what only a
// permission of its own is for, which not every verb has.
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

// sentForm reads what was typed.
func sentForm(r *http.Request) *keyForm {
	text := func(name string) string { return strings.TrimSpace(r.PostForm.Get(name)) }
	return &keyForm{
		Name: text("name"), Kind: text("kind"), Permissions: r.PostForm["permissions"],
		Networks: strings.ReplaceAll(text("networks"), "\r\n", "\n"), Expires: text("expires"),
		PerMinute: text("per_minute"), PerHour: text("per_hour"), Mark: text("mark"), Seen: text("seen"),
	}
}

// storedForm is the form of a key as it is.
func storedForm(key keys.Key) *keyForm {
	f := &keyForm{
		ID: key.ID, Shown: keyRow{Key: key}.shown(), Name: key.Name, Kind: string(key.Kind), Permissions: key.Permissions,
		Expires: lastDay(key.ExpiresAt), PerMinute: numberText(key.PerMinute), PerHour: numberText(key.PerHour),
	}
	if len(key.Networks) > 0 {
		f.Networks = strings.ReplaceAll(keys.FormatNetworks(key.Networks), ",", "\n")
	}
	terms := fmt.Sprintf("%q %q %q %q %q %q", key.Name, key.Permissions, f.Networks, key.ExpiresAt, f.PerMinute, f.PerHour)
	sum := sha256.Sum256([]byte(terms))
	f.Seen = hex.EncodeToString(sum[:16])
	return f
}

// sentTerms is what was typed about a stored key, and what is stored.
func sentTerms(r *http.Request, key keys.Key) (sent, stored *keyForm) {
	sent, stored = sentForm(r), storedForm(key)
	sent.ID, sent.Shown, sent.Kind = stored.ID, stored.Shown, stored.Kind
	return sent, stored
}

// lastDay is the last day on which a key can be used, at least for a part of it.
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

// parseField parses a field and notes what is wrong with it.
func parseField[T any](f *keyForm, name, text string, parse func(string) (T, error)) T {
	value, err := parse(text)
	if err != nil {
		f.Errors = append(f.Errors, fieldError{name, capitalized(err.Error()) + "."})
	}
	return value
}

// unlessEmpty lets an empty field stand for the zero value.
func unlessEmpty[T any](parse func(string) (T, error)) func(string) (T, error) {
	return func(text string) (value T, err error) {
		if text == "" {
			return value, nil
		}
		return parse(text)
	}
}

func expiryFrom(now time.Time) func(string) (*time.Time, error) {
	return unlessEmpty(func(text string) (*time.Time, error) { return keys.ParseExpiry(text, now) })
}

func permissionsOf(list string) ([]string, error) {
	if list == "" {
		return nil, fmt.Errorf("tick at least one")
	}
	return keys.ParsePermissions(list)
}

// newKey reads the form for a new key; Errors tells what is wrong.
func (f *keyForm) newKey(now time.Time) keys.NewKey {
	return keys.NewKey{
		Name:        parseField(f, "name", f.Name, keys.ParseName),
		Kind:        parseField(f, "kind", f.Kind, keys.ParseKind),
		Permissions: parseField(f, "permissions", strings.Join(f.Permissions, ","), permissionsOf),
		Networks:    parseField(f, "networks", f.Networks, unlessEmpty(keys.ParseNetworks)),
		ExpiresAt:   parseField(f, "expires", f.Expires, expiryFrom(now)),
		PerMinute:   parseField(f, "per_minute", f.PerMinute, unlessEmpty(keys.ParseRequestLimit)),
		PerHour:     parseField(f, "per_hour", f.PerHour, unlessEmpty(keys.ParseRequestLimit)),
	}
}

// patch is what the form changes of the stored terms. What was left as it is
// need not be right: the day of a key may be over.
func (f *keyForm) patch(stored *keyForm, now time.Time) (p keys.Patch) {
	if f.Name != stored.Name {
		name := parseField(f, "name", f.Name, keys.ParseName)
		p.Name = &name
	}
	if !samePermissions(f.Permissions, stored.Permissions) {
		p.Permissions = parseField(f, "permissions", strings.Join(f.Permissions, ","), permissionsOf)
	}
	if f.Networks != stored.Networks {
		networks := parseField(f, "networks", f.Networks, unlessEmpty(keys.ParseNetworks))
		p.Networks = &networks
	}
	if f.Expires != stored.Expires {
		p.ExpiresAt = orZero(parseField(f, "expires", f.Expires, expiryFrom(now)))
	}
	if f.PerMinute != stored.PerMinute {
		p.PerMinute = orZero(parseField(f, "per_minute", f.PerMinute, unlessEmpty(keys.ParseRequestLimit)))
	}
	if f.PerHour != stored.PerHour {
		p.PerHour = orZero(parseField(f, "per_hour", f.PerHour, unlessEmpty(keys.ParseRequestLimit)))
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

// showForm shows a form with what is wrong with it.
func (p *KeysPage) showForm(v *visit, status int, title string, f *keyForm) error {
	f.UsualPerMinute, f.UsualPerHour = f.usualLimits(v.rate)
	p.show(v, status, frame{Title: title, Failed: f.failed(), Session: v.session}, f.view(csrfOf(v.session)))
	return nil
}

// usualLimits words the configured limits: of the key's kind, or of both where
// it is still to be chosen.
func (f *keyForm) usualLimits(rate RateLimit) (perMinute, perHour string) {
	var minutes, hours []string
	for _, kind := range keys.Kinds {
		if f.ID != 0 && string(kind) != f.Kind {
			continue
		}
		usual := rate.limits(keys.Key{Kind: kind})
		minutes = append(minutes, fmt.Sprintf("%d for %s keys", usual.PerMinute, kind))
		hours = append(hours, fmt.Sprintf("%d for %s keys", usual.PerHour, kind))
	}
	return strings.Join(minutes, ", "), strings.Join(hours, ", ")
}

const newKeyTitle = "New key"

func (p *KeysPage) showNew(v *visit) error {
	return p.showForm(v, http.StatusOK, newKeyTitle, &keyForm{Kind: string(keys.Live), Mark: rand.Text()})
}

func (p *KeysPage) newAgain(v *visit, status int, problem string) error {
	f := sentForm(v.r)
	f.Problem, f.Mark = problem, rand.Text()
	return p.showForm(v, status, newKeyTitle, f)
}

func (p *KeysPage) create(v *visit) error {
	f := sentForm(v.r)
	n := f.newKey(p.now())
	if len(f.Errors) > 0 {
		f.Mark = rand.Text()
		return p.showForm(v, http.StatusUnprocessableEntity, newKeyTitle, f)
	}
	first, err := v.tokens.Spend(v.ctx(), f.Mark)
	if err == nil && !first {
		p.tell(v, http.StatusConflict, "This form was sent before", "The key was made then, and shown once. If it was not kept, revoke it and make another one.")
		return nil
	}
	var secret string
	var key keys.Key
	if err == nil {
		secret, key, err = v.keys.Create(v.ctx(), n)
	}
	if err != nil {
		problem, status := p.trouble(v, err)
		return p.newAgain(v, status, problem)
	}
	p.log.InfoContext(v.ctx(), "key created in the page for keys", "key_id", key.ID)
	p.show(v, http.StatusOK, frame{Title: "Key " + strconv.FormatInt(key.ID, 10) + " is made", Session: v.session}, createdView(key.Name, secret))
	return nil
}

func termsTitle(key keys.Key) string { return "Change key " + strconv.FormatInt(key.ID, 10) }

func (p *KeysPage) showTerms(v *visit) error {
	return p.withKey(v, func(key keys.Key) error { return p.showForm(v, http.StatusOK, termsTitle(key), storedForm(key)) })
}

func (p *KeysPage) termsAgain(v *visit, status int, problem string) error {
	return p.withKey(v, func(key keys.Key) error {
		f, stored := sentTerms(v.r, key)
		f.Seen, f.Problem = stored.Seen, problem
		return p.showForm(v, status, termsTitle(key), f)
	})
}

func (p *KeysPage) restrict(v *visit) error {
	return p.withKey(v, func(key keys.Key) error {
		f, stored := sentTerms(v.r, key)
		if f.Seen != stored.Seen {
			f.Seen, f.Problem = stored.Seen, "Somebody else changed this key in the meantime. Compare with the list of keys before you send this again."
			return p.showForm(v, http.StatusConflict, termsTitle(key), f)
		}
		patch := f.patch(stored, p.now())
		if len(f.Errors) > 0 {
			return p.showForm(v, http.StatusUnprocessableEntity, termsTitle(key), f)
		}
		if _, _, err := v.keys.Restrict(v.ctx(), key.ID, patch); err != nil {
			problem, status := p.trouble(v, err)
			f.Problem = problem
			return p.showForm(v, status, termsTitle(key), f)
		}
		p.log.InfoContext(v.ctx(), "key restricted in the page for keys", "key_id", key.ID)
		return toDone(v, "changed", key.ID)
	})
}
