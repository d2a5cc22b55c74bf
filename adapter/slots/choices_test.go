package slots

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	all := []Choice{{1, "Jörg Thiessen"}, {2, "Ada"}, {4, "Cut, colour"}, {5, "Twin"}, {6, "twin"}, {7, "2"}, {8, ""}}
	const these = "write ids or names of these: 1 Jörg Thiessen, 2 Ada, 4 Cut, colour, 5 Twin, 6 twin, 7 2, 8"
	for _, c := range []struct{ text, want, wrong string }{
		{"1", "1", ""},
		{"2, 1", "2,1", ""},
		{"ada,jörg thiessen", "2,1", ""},
		{"JÖRG THIESSEN, 8", "1,8", ""},
		{"Cut, colour", "4", ""},
		{"twin", "", `several agents have the name "twin"; write the id of one: 5 Twin, 6 twin`},
		{"7", "7", ""},
		{"999", "", `there is no agent with the ID 999; ` + these},
		{"1,Ad", "", `there is no agent "Ad"; ` + these},
		{"1,", "", `there is no agent ""; ` + these},
		{"-1", "", `there is no agent with the ID -1; ` + these},
	} {
		got, err := choose(domain.AgentResource, all, c.text)
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		if got != c.want || wrong != c.wrong {
			t.Errorf("%q: %q, %q, want %q, %q", c.text, got, wrong, c.want, c.wrong)
		}
	}
	if _, err := choose(domain.ServiceResource, nil, "3"); err == nil || err.Error() != `there is no service "3", nor any other` {
		t.Errorf("none: %v", err)
	}
	var many []Choice
	for id := range int64(40) {
		many = append(many, Choice{id + 1, fmt.Sprint("n", id+1)})
	}
	if _, err := choose(domain.ServiceResource, many, "x"); err == nil || !strings.HasSuffix(err.Error(), "30 n30, and 10 more") {
		t.Errorf("many: %v", err)
	}
}
