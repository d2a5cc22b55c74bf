package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestComposeFile: docker/testing runs the program with flags and commands that it has, and its README names
// all variables with their defaults.
func TestComposeFile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docker/testing/compose.yml")
	expect.NoError(t, err)
	var file struct {
		Services struct {
			API struct {
				Command     []string
				Environment map[string]string
			}
			Reset struct{ Command string }
		}
	}
	expect.NoError(t, yaml.Unmarshal(text, &file))
	if len(file.Services.API.Command) == 0 || file.Services.Reset.Command == "" {
		t.Fatal("the services have no commands")
	}
	flags := serve(settings.Default(), clock).Flags()
	for _, argument := range file.Services.API.Command {
		name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
		if flags.Lookup(name) == nil {
			t.Errorf("there is no flag for %s", argument)
		}
	}
	expect.Succeeded(t, reset("").ParseFlags(strings.Fields(file.Services.Reset.Command)[1:]))
	document, err := os.ReadFile("../../docker/testing/README.md")
	expect.NoError(t, err)
	for _, found := range regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
		row := regexp.MustCompile("(?m)^\\|[^|\n]*`" + found[1] + "`.*$").FindString(string(document))
		if !strings.Contains(row, found[2]) || row == "" {
			t.Errorf("the README does not name %s with %q: %s", found[1], found[2], row)
		}
	}
}
