package console

import (
	"time"

	"golang.org/x/text/language"

	"github.com/bookside/bookside/handlers/console/page"
)

// languages are those that the console speaks. Browsers that ask for none of them get the first.
var languages = language.NewMatcher([]language.Tag{language.English, language.German})

// reader is who reads the page: in the language of the browser and the zone of the site.
func (c *Console) reader(v *visit) page.Reader {
	reader := page.Reader{Zone: v.zone()}
	switch {
	case v.frame != nil:
		reader.Frame = page.Frame{Address: v.frame.address, Guard: page.Hidden(nonceParameter, v.frame.Nonce)}
	case v.session != "":
		reader.Frame.Guard = page.Hidden("csrf", csrfToken(v.session))
	}
	wanted, _, _ := language.ParseAcceptLanguage(v.r.Header.Get("Accept-Language")) // none if it cannot be read
	if _, i, _ := languages.Match(wanted...); i == 1 && c.german != nil {
		reader.Language, reader.Texts = "de", c.german
	}
	return reader
}

// zone is that of the site; nil, which means UTC, before the login and if it cannot be read.
func (v *visit) zone() *time.Location {
	if !v.known() {
		return nil
	}
	site, err := v.site()
	if err != nil {
		return nil
	}
	return site.Zone.Location
}
