package extensions_test

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/extensions"
)

// TestCatalogue: every extension occurs once, and each of its parts explains its meaning in a sentence.
func TestCatalogue(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, e := range extensions.Catalogue {
		if seen[e.ID] {
			t.Errorf("%s is there twice", e.ID)
		}
		seen[e.ID] = true
		if found, known := extensions.Find(e.ID); !known || found.ID != e.ID {
			t.Errorf("%s is not found by its id", e.ID)
		}
		if e.Title == "" || len(e.Parts) == 0 {
			t.Errorf("%s has no title or no parts", e.ID)
		}
		for _, part := range e.Parts {
			if part.Subject == "" || part.Kind == "" || !strings.HasSuffix(part.Means, ".") {
				t.Errorf("%s: not a sentence with subject and kind: %+v", e.ID, part)
			}
		}
	}
}
