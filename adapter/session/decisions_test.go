package session

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
)

// TestNobodyIsAskedForNobody: if nothing listens to LatePoint, or asking is off, no statement is run: there
// is no database here.
func TestNobodyIsAskedForNobody(t *testing.T) {
	t.Parallel()
	asking := &Platform{Asker: extensions.NewAsker(nil, time.Now)}
	const seen, reported = "0.2.0 1796000000", "0123456789abcdef 1796000000"
	for name, s := range map[string]*Session{
		"a plain site":                 {Platform: asking},
		"nothing listens":              {Platform: asking, options: domain.Options{domain.OptionCompanion: seen, domain.OptionReported: reported + " 0"}},
		"an earlier companion":         {Platform: asking, options: domain.Options{domain.OptionCompanion: seen, domain.OptionReported: reported}},
		"it is not to be asked":        {Platform: new(Platform), options: domain.Options{domain.OptionCompanion: seen, domain.OptionReported: reported + " 7"}},
		"the companion was removed":    {Platform: asking, options: domain.Options{domain.OptionCompanion: "", domain.OptionReported: reported + " 7"}},
		"the companion is not seen":    {Platform: asking, options: domain.Options{domain.OptionReported: reported + " 7"}},
		"somebody else's option":       {Platform: asking, options: domain.Options{domain.OptionCompanion: "a:0:{}", domain.OptionReported: reported + " 7"}},
		"the companion is long silent": {Platform: asking, options: domain.Options{domain.OptionCompanion: "0.2.0 1795700000", domain.OptionReported: reported + " 7"}},
	} {
		s.Now = time.Unix(1_796_000_000, 0)
		if asked, err := s.Asked(t.Context()); err != nil || len(asked) > 0 {
			t.Errorf("%s: %v, %v", name, asked, err)
		}
	}
}
