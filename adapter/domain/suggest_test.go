package domain_test

import (
	"testing"

	"github.com/bookside/bookside/adapter/domain"
)

func TestClosest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text       string
		candidates []string
		closest    string
		likely     bool
	}{
		{"agentid", []string{"page", "agent_id", "status"}, "agent_id", true},
		{"Status", []string{"page", "status"}, "status", true},
		{"sort", []string{"order"}, "order", false},
		{"page", []string{"page", "status"}, "page", true},
		{"xyzpage", []string{"page"}, "page", false},
		{"b", []string{"c", "a"}, "a", true},
		{"emial", []string{"email", "name"}, "email", true},
		{"apge", []string{"page"}, "page", true},
		{"gape", []string{"page"}, "page", false},
		{"", []string{"page"}, "page", false},
		{"page", nil, "", false},
	} {
		if closest, likely := domain.Closest(c.text, c.candidates); closest != c.closest || likely != c.likely {
			t.Errorf("%q of %v: %q, %v", c.text, c.candidates, closest, likely)
		}
	}
}
