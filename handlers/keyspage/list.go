package keyspage

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
	Created, LastUsed utcTime
	Expires           utcTime
	Limited           bool
	PerMinute         int64
	PerHour           int64
}

// utcTime is a time in UTC, for machines and for people; the zero value is none.
type utcTime struct{ Machine, Text string }

func newUTCTime(t domain.Timestamp) utcTime {
	instant, ok := t.Time()
	if !ok {
		return utcTime{}
	}
	return utcTime{instant.Format("2006-01-02T15:04:05Z"), instant.Format("2006-01-02 15:04")}
}

// maskedSecret returns the first and last characters of the secret.
func (r keyRow) maskedSecret() string {
	if r.Start == "" {
		return ""
	}
	return r.Start + "…" + r.LastFour
}

func (p *Page) row(v *visit, key keys.Key) keyRow {
	limits := v.limits.For(key)
	return keyRow{
		Key: key, Status: key.Status(p.now()), Created: newUTCTime(key.CreatedAt), LastUsed: newUTCTime(key.LastUsedAt), Expires: newUTCTime(key.ExpiresAt),
		Limited: v.limits.Enabled, PerMinute: limits.PerMinute, PerHour: limits.PerHour,
	}
}

// list shows all keys: active ones first, the newest on top.
func (p *Page) list(v *visit) error {
	all, err := v.keys.List(v.ctx())
	if err != nil && !errors.Is(err, wpdb.ErrSchema) { // without the table there are no keys
		return err
	}
	var active, inactive []keyRow
	slices.Reverse(all)
	for _, key := range all {
		if row := p.row(v, key); row.Status == keys.Active {
			active = append(active, row)
		} else {
			inactive = append(inactive, row)
		}
	}
	p.show(v, http.StatusOK, layout{Title: "API keys", Session: v.session}, listView(confirmation(v.r), active, inactive))
	return nil
}

// confirmation describes what was just done, as the address of the list says;
// "" for nothing.
func confirmation(r *http.Request) string {
	id, err := strconv.ParseInt(r.URL.Query().Get("id"), 10, 64)
	if err != nil {
		return ""
	}
	switch r.URL.Query().Get("done") {
	case "changed":
		return "Key " + strconv.FormatInt(id, 10) + " was changed. The change is in effect."
	case "revoked":
		return "Key " + strconv.FormatInt(id, 10) + " was revoked. It is rejected from now on."
	default:
		return ""
	}
}

// redirectDone responds with the list, which confirms what was done.
func redirectDone(v *visit, what string, id int64) error {
	http.Redirect(v.w, v.r, "/keys?done="+what+"&id="+strconv.FormatInt(id, 10), http.StatusSeeOther)
	return nil
}

// withKey calls serve with the key in the path.
func (p *Page) withKey(v *visit, serve func(keys.Key) error) error {
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
		p.showMessage(v, http.StatusConflict, "Key "+strconv.FormatInt(id, 10)+" is revoked", "It is rejected, and it can no longer be changed. Create another key.")
		return nil
	default:
		return serve(key)
	}
}

func (p *Page) showRevoke(v *visit) error { return p.redisplayRevoke(v, http.StatusOK, "") }

func (p *Page) redisplayRevoke(v *visit, status int, problem string) error {
	return p.withKey(v, func(key keys.Key) error {
		p.show(v, status, layout{Title: "Revoke key " + strconv.FormatInt(key.ID, 10) + "?", Invalid: problem != "", Session: v.session},
			revokeView(p.row(v, key), csrfToken(v.session), problem))
		return nil
	})
}

func (p *Page) revoke(v *visit) error {
	return p.withKey(v, func(key keys.Key) error {
		if _, err := v.keys.Revoke(v.ctx(), key.ID); err != nil {
			problem, status := p.explain(v, err)
			return p.redisplayRevoke(v, status, problem)
		}
		p.log.InfoContext(v.ctx(), "keys page: key revoked", "key_id", key.ID)
		return redirectDone(v, "revoked", key.ID)
	})
}

// permissionText lists the permissions for people.
func (r keyRow) permissionText() string {
	texts := make([]string, len(r.Permissions))
	for i, permission := range r.Permissions {
		verb, resource, _ := strings.Cut(permission, "_")
		texts[i] = verb + " " + cmp.Or(resource, everything)
	}
	return strings.Join(texts, ", ")
}
