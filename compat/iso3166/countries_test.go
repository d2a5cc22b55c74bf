package iso3166

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"
)

// TestCountries: of all pairs of letters, exactly the codes that ISO 3166-1 assigns are countries: those of
// x/text without the ones that the standard reserves, leaves to users or has withdrawn.
func TestCountries(t *testing.T) {
	t.Parallel()
	unassigned := strings.Fields("AC AN CP CQ CS DG EA EZ FQ IC NT PC SU TA UN XK YU")
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	accepted := 0
	for _, first := range letters {
		for _, second := range letters {
			code := string(first) + string(second)
			region, err := language.ParseRegion(code)
			want := err == nil && region.IsCountry() && region.String() == code && region.Canonicalize() == region && !slices.Contains(unassigned, code)
			if Assigned(code) != want {
				t.Errorf("%s is a country: %v, want %v", code, !want, want)
			}
			if Assigned(code) {
				accepted++
			}
		}
	}
	if accepted != 249 {
		t.Errorf("%d countries, want 249", accepted)
	}
	for _, code := range []string{"", "D", " D", "D ", "D E", "D D", "DEU", "de", "D1", "Ä"} {
		if Assigned(code) {
			t.Errorf("%q is a country", code)
		}
	}
}
