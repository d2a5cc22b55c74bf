package session

import (
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestVersionAtLeast(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version string
		want    bool
	}{
		{"2.1.4", true}, {"2.3.1", true}, {"2.10.0", true}, {"3.0", true}, {"2.1.4.1", true}, {"10.0.0", true},
		{"2.1.3", false}, {"2.1", false}, {"1.9.9", false}, {"2.0.10", false}, {"", false}, {"x", false}, {"2.x.4", false},
	} {
		expect.Equal(t, c.want, versionAtLeast(c.version, "2.1.4"), c.version)
	}
}
