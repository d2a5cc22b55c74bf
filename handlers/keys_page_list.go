package handlers

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"bookside/adapter/domain"
	"bookside/adapter/keys"
	"bookside/wpdb"
)

// keyRow is a key as the list shows it.
type keyRow struct {
	keys.Key
	Status            keys.Status
	Created, LastUsed moment
	Expires           moment
	Limited           bool
	PerMinute         int64
	PerHour           int64
}

// moment is an instant of UTC; the zero one is none.
type moment struct{ Machine, Text string }

func momentOf(t domain.Timestamp) moment {
	instant, ok := t.Time()
	if !ok {
		return moment{}
	}
	return moment{instant.Format("2006-01-02T15:04:05Z"), instant.Format("2006-01-02 15:04")}
}

// shown is what may be shown of the secret.
func (r keyRow) shown() string {
	if r.Start == "" {
		return ""
	}
	return r.Start + "…" + r.LastFour
}

func (p *KeysPage) row(v *visit, key keys.Key) keyRow {
	limits := v.rate.limits(key)
	return keyRow{
		Key: key, Status: key.Status(p.now()), Created: momentOf(key.CreatedAt), LastUsed: momentOf(key.LastUsedAt), Expires: momentOf(key.ExpiresAt),
		Limited: v.rate.Enabled, PerMinute: limits.PerMinute, PerHour: limits.PerHour,
	}
}

// list shows all keys: those that can be used first, the newest on top.
func (p *KeysPage) list(v *visit) error {
	all, err := v.keys.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without a table there are no keys
		return err
	}
	var active, ended []keyRow
	slices.Reverse(all)
	for _, key := range all {
		if row := p.row(v, key); row.Status == keys.Active {
			active = append(active, row)
		} else {
			ended = append(ended, row)
		}
	}
	p.show(v, http.StatusOK, frame{Title: "API keys", Session: v.session}, listView(doneText(v.r), active, ended))
	return nil
}

// doneText words what the address of the list says was done.
func doneText(r *http.Request) string {
	id, err := strconv.ParseInt(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		return ""
	}
	switch r.URL.Query().Get("done") {
	case "changed":
		return "Key " + strconv.FormatInt(id, 10) + " was changed. The change holds already."
	case "revoked":
		return "Key " + strconv.FormatInt(id, 10) + " was revoked. It is refused from now on."
	default:
		return ""
	}
}

// toDone answers with the list, which says what was done.
func toDone(v *visit, what string, id int64) error {
	http.Redirect(v.w, v.r, "/keys?done="+what+"&id="+strconv.FormatInt(id, 10), http.StatusSeeOther)
	return nil
}

// withKey runs work on the key of the path.
func (p *KeysPage) withKey(v *visit, work func(keys.Key) error) error {
	id, err := strconv.ParseInt(v.r.PathValue("id"), 10, 64)
	if err != nil {
		return p.notFound(v)
	}
	key, found, err := v.keys.Find(v.ctx(), id)
	switch {
	case err != nil && !errors.Is(err, wpdb.ErrSchema):
		return err
	case !found:
		return p.notFound(v)
	case key.Revoked:
		p.tell(v, http.StatusConflict, "Key "+strconv.FormatInt(id, 10)+" is revoked", "It is refused, and nothing about it can be changed. Make another key.")
		return nil
	default:
		return work(key)
	}
}

func (p *KeysPage) showRevoke(v *visit) error { return p.revokeAgain(v, http.StatusOK, "") }

func (p *KeysPage) revokeAgain(v *visit, status int, problem string) error {
	return p.withKey(v, func(key keys.Key) error {
		p.show(v, status, frame{Title: "Revoke key " + strconv.FormatInt(key.ID, 10) + "?", Failed: problem != "", Session: v.session},
			revokeView(p.row(v, key), csrfOf(v.session), problem))
		return nil
	})
}

func (p *KeysPage) revoke(v *visit) error {
	return p.withKey(v, func(key keys.Key) error {
		if _, err := v.keys.Revoke(v.ctx(), key.ID); err != nil {
			problem, status := p.trouble(v, err)
			return p.revokeAgain(v, status, problem)
		}
		p.log.InfoContext(v.ctx(), "key revoked in the page for keys", "key_id", key.ID)
		return toDone(v, "revoked", key.ID)
	})
}

// permissionText are the permissions, for people.
func (r keyRow) permissionText() string {
	texts := make([]string, len(r.Permissions))
	for i, permission := range r.Permissions {
		verb, resource, _ := strings.Cut(permission, "_")
		texts[i] = verb + " " + cmp.Or(resource, everything)
	}
	return strings.Join(texts, ", ")
}
