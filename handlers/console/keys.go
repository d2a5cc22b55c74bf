package console

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/console/terms"
	"github.com/bookside/bookside/handlers/console/words"
	"github.com/bookside/bookside/wpdb"
)

// keyRow is a key as the list shows it.
type keyRow struct {
	keys.Key
	Status    keys.Status
	Limited   bool
	PerMinute int64
	PerHour   int64
	LastDay   int64 // requests in the last 24 hours
	Labels    slots.Labels
	Unused    time.Duration // time since the last use
}

// maskedSecret returns the first and last characters of the secret.
func (r keyRow) maskedSecret() string {
	if r.Start == "" {
		return ""
	}
	return r.Start + "…" + r.LastFour
}

func (c *Console) row(v *visit, key keys.Key) keyRow {
	limits := v.Limits.For(key)
	var unused time.Duration
	if used, ok := key.LastUsedAt.Time(); ok {
		unused = c.now().Sub(used)
	}
	return keyRow{
		Unused: unused,
		Key:    key, Status: key.Status(c.now()),
		Limited: v.Limits.Enabled, PerMinute: limits.PerMinute, PerHour: limits.PerHour,
	}
}

// labels returns the names of agents, services and locations, if needed. Pages work without them.
func (c *Console) labels(v *visit, needed bool) slots.Labels {
	if !needed {
		return nil
	}
	site, err := v.site()
	var labels slots.Labels
	if err == nil {
		labels, err = slots.LoadLabels(v.ctx(), site)
	}
	if err != nil {
		c.log.WarnContext(v.ctx(), "console: names not read", "error", err)
	}
	return labels
}

// terms returns what reads the forms of keys, webhooks and calendars.
func (c *Console) terms(v *visit) terms.Reader {
	return terms.Reader{Now: c.now(), Numbers: func(of domain.Resource, text string) (string, error) {
		site, err := v.site()
		if err == nil {
			text, err = slots.Numbers(v.ctx(), site, of, text)
		}
		if _, unknown := errors.AsType[*slots.ChoiceError](err); unknown && !v.wordpress { // where names can be typed
			return "", errors.New("one of these does not exist any more")
		} else if err != nil && !unknown {
			problem, _ := c.explain(v, err)
			return "", errors.New(strings.TrimSuffix(string(problem), "."))
		}
		return text, err
	}}
}

func limited(key keys.Key) bool { return !key.Scope.Unlimited() }

func (c *Console) addKeys(mux *http.ServeMux) {
	mux.Handle("GET "+keysPath, c.withSession(c.list))
	mux.Handle("GET "+keysPath+"/new", c.withSession(c.showNew))
	mux.Handle("POST "+keysPath+"/new", c.withForm(c.redisplayNew, c.create))
	mux.Handle("GET "+keysPath+"/{id}", c.withSession(c.showEdit))
	mux.Handle("POST "+keysPath+"/{id}", c.withForm(c.redisplayEdit, c.update))
	mux.Handle("GET "+keysPath+"/{id}/roll", c.withSession(c.showRoll))
	mux.Handle("POST "+keysPath+"/{id}/roll", c.withForm(c.redisplayRoll, c.roll))
	mux.Handle("GET "+keysPath+"/{id}/revoke", c.withSession(c.showRevoke))
	mux.Handle("POST "+keysPath+"/{id}/revoke", c.withForm(c.redisplayRevoke, c.revoke))
}

// matches reports whether a search matches the key's name, id, visible characters, permissions in the language of the reader,
// networks or creator.
func (r keyRow) matches(search string, reader page.Reader) bool {
	text := strings.Join([]string{r.Name, strconv.FormatInt(r.ID, 10), r.maskedSecret(), string(r.Kind), r.permissionView().For(reader), strings.Join(r.Permissions, " "),
		keys.FormatNetworks(r.Networks), r.CreatedBy}, "\n")
	return strings.Contains(strings.ToLower(text), strings.ToLower(search))
}

// list shows the keys that match a search, or all: active ones first, the newest first.
func (c *Console) list(v *visit) error {
	all, err := v.Keys.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no keys
		return err
	}
	found := keyList{Search: strings.TrimSpace(v.r.URL.Query().Get("q")), Total: len(all), Confirmation: confirmation(v.r)}
	day, _, err := v.overview.figures.Get(v.ctx())
	if err != nil {
		return err
	}
	slices.Reverse(all)
	labels, reader := c.labels(v, slices.ContainsFunc(all, limited)), c.reader(v)
	for _, key := range all {
		row := c.row(v, key)
		row.Labels = labels
		row.LastDay = day.Keys[key.ID]
		switch {
		case !row.matches(found.Search, reader):
		case row.Status == keys.Active:
			found.Active = append(found.Active, row)
		default:
			found.Inactive = append(found.Inactive, row)
		}
	}
	c.answer(v, http.StatusOK, page.Layout{Title: page.Text("API keys")}, found.view(), found.facts())
	return nil
}

// confirmation describes the action that the list's address says was just done; nil for none.
func confirmation(r *http.Request) page.Phrase {
	id, err := strconv.ParseInt(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		return nil
	}
	switch r.URL.Query().Get("done") {
	case "changed":
		return page.Textf("Key %d was changed. The change is in effect.", id)
	case "revoked":
		return page.Textf("Key %d was revoked. It is rejected from now on.", id)
	default:
		return nil
	}
}

// redirectDone redirects to the list, which confirms the action. WordPress has its own list.
func redirectDone(v *visit, what string, id int64) error {
	if v.wordpress {
		return v.send(http.StatusOK, struct{}{})
	}
	return v.redirect(keysPath + "?done=" + what + "&id=" + strconv.FormatInt(id, 10))
}

// withKey calls serve with the key in the path.
func (c *Console) withKey(v *visit, serve func(keys.Key) error) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return c.notFound(v)
	}
	key, found, err := v.Keys.Find(v.ctx(), id)
	switch {
	case err != nil && !errors.Is(err, wpdb.ErrSchema):
		return err
	case !found:
		return c.notFound(v)
	case key.Revoked:
		c.showMessage(v, http.StatusConflict, "This key is revoked", "It is rejected, and it can no longer be changed. Create another key.")
		return nil
	default:
		return serve(key)
	}
}

func (c *Console) showRevoke(v *visit) error { return c.redisplayRevoke(v, http.StatusOK, "") }

func (c *Console) redisplayRevoke(v *visit, status int, problem page.Text) error {
	return c.withKey(v, func(key keys.Key) error {
		c.show(v, status, page.Layout{Title: page.Textf("Revoke key %d?", key.ID), Invalid: problem != ""},
			revokeView(c.row(v, key), csrfToken(v.session), problem))
		return nil
	})
}

func (c *Console) revoke(v *visit) error {
	return c.withKey(v, func(key keys.Key) error {
		if _, err := v.Keys.Revoke(v.ctx(), key.ID); err != nil {
			problem, status := c.explain(v, err)
			return c.redisplayRevoke(v, status, problem)
		}
		c.log.InfoContext(v.ctx(), "console: key revoked", "key_id", key.ID)
		return redirectDone(v, "revoked", key.ID)
	})
}

// permissionView lists the permissions for people.
func (r keyRow) permissionView() page.Phrase {
	texts := make([]page.Phrase, len(r.Permissions))
	for i, permission := range r.Permissions {
		verb, resource, _ := strings.Cut(permission, "_")
		texts[i] = words.Permission(verb, cmp.Or(resource, everything))
	}
	return page.List(texts...)
}
