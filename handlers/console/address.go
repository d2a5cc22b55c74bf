package console

import (
	"net/url"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/api"
)

// apiAddresses are the addresses of the API: the one on this machine, and the one below the site's own
// address, if known.
type apiAddresses struct{ local, public string }

// addresses returns the addresses of the API. The public one is only a convenience: a new key must be shown
// even if that address cannot be found.
func (c *Console) addresses(v *visit) apiAddresses {
	found := apiAddresses{local: v.API}
	if !v.Proxied {
		return found
	}
	site, err := v.site()
	if err == nil {
		var home string
		home, err = slots.Home(v.ctx(), site)
		found.public = api.PublicAddress(home, v.basePath())
	}
	if err != nil {
		c.log.WarnContext(v.ctx(), "console: the address of the site cannot be read", "error", err)
	}
	return found
}

// api returns how to ask the API.
func (s *Site) api() api.Caller { return api.Caller{Send: s.Ask, Base: s.basePath()} }

// askAsAdmin asks the API in the name of the person who has logged in, here or in WordPress.
func (v *visit) askAsAdmin(ask api.Request) (*api.Answer, error) {
	admin := keys.Key{Kind: keys.Admin, Name: v.person}
	if v.wordpress || v.frame != nil {
		admin = keys.Key{Kind: keys.User, UserID: v.userID}
	}
	return v.api().AsAdmin(v.ctx(), admin, ask)
}

// basePath returns the base path of the API.
func (s *Site) basePath() string {
	address, err := url.Parse(s.API)
	if err != nil {
		return ""
	}
	return address.Path
}
