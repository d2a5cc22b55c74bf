package session

import (
	"testing"
	"time"

	"github.com/bookside/bookside/adapter/ask"
	"github.com/bookside/bookside/adapter/domain"
)

// TestNobodyIsAskedForNobody: if nothing listens to LatePoint, or asking is off, no statement is run: there
// is no database here.
func TestNobodyIsAskedForNobody(t *testing.T) {
	t.Parallel()
	asker := ask.New(nil, time.Now, time.Minute)
	for name, s := range map[string]*Session{
		"a plain site":          {Asker: asker},
		"nothing listens":       {Asker: asker, options: domain.Options{domain.OptionReported: "0123456789abcdef 1796000000 0"}},
		"an earlier companion":  {Asker: asker, options: domain.Options{domain.OptionReported: "0123456789abcdef 1796000000"}},
		"it is not to be asked": {options: domain.Options{domain.OptionReported: "0123456789abcdef 1796000000 7"}},
	} {
		if asked, err := s.Asked(t.Context()); err != nil || len(asked) > 0 {
			t.Errorf("%s: %v, %v", name, asked, err)
		}
	}
}
