package compare

import (
	"os"
	"strings"
	"testing"
)

// TestKnownDifferencesAreDocumented: COMPARE.md has each of them with its
// reason.
func TestKnownDifferencesAreDocumented(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("../COMPARE.md")
	if err != nil {
		t.Fatal(err)
	}
	wanted := func(name, why string) {
		if line := "| " + name + " | " + why + " |\n"; !strings.Contains(string(content), line) {
			t.Errorf("COMPARE.md lacks the line %s", line)
		}
	}
	for _, k := range knownDifferences {
		wanted(k.Name, k.Why)
	}
	for _, k := range knownRows {
		wanted(k.Name, k.Why)
	}
	if n := strings.Count(string(content), "\n| ") - len(knownDifferences) - len(knownRows); n != 6 {
		t.Errorf("%d other lines of tables, want 6: is a difference documented that is not known?", n)
	}
}
