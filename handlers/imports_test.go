package handlers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// layers are the packages from the top down: each may import those below it.
var layers = []string{"cmd", "handlers", "compat", "adapter", "wpdb"}

// reserved are modules and the only places that may import them.
var reserved = map[string][]string{
	"github.com/labstack/echo/":          {"cmd", "handlers"},
	"github.com/go-sql-driver/mysql":     {"wpdb", "fixtures", "docker"},
	"github.com/Masterminds/squirrel":    {"adapter", "wpdb"},
	"github.com/knadh/koanf/":            {"cmd"},
	"github.com/wneessen/go-mail":        {"cmd"},
	"github.com/dolthub/go-mysql-server": {"fixtures"},
	"bookside/fixtures":                  {"fixtures", "cmd/demo"},
	"database/sql":                       {"wpdb", "fixtures", "cmd/demo", "docker"},
	"net/http":                           {"cmd", "handlers", "compat", "docker"},
	"maragu.dev/gomponents":              {"handlers"},
	"html/template":                      {}, // executed, it makes the linker keep all methods
	"text/template":                      {},
	"github.com/DATA-DOG/go-sqlmock":     {},
	"github.com/chromedp/":               {},
	"github.com/getkin/kin-openapi":      {},
	"github.com/santhosh-tekuri/":        {},
	"github.com/google/go-cmp":           {},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", "bookside/...")
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var found []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
}

// layer is the height of a package of ours, or -1 for one outside the layers.
func layer(path string) int {
	folder, _, _ := strings.Cut(strings.TrimPrefix(path, "bookside/"), "/")
	return slices.Index(layers, folder)
}

// TestImportsGoDown fails on an import that goes up, or on a module imported
// where it does not belong.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	found := packages(t)
	if len(found) < len(layers) {
		t.Fatalf("only %d packages", len(found))
	}
	for _, p := range found {
		from := strings.TrimPrefix(p.ImportPath, "bookside/")
		for _, imported := range p.Imports {
			if to := layer(imported); strings.HasPrefix(imported, "bookside/") && to >= 0 && layer(p.ImportPath) > to {
				t.Errorf("%s imports %s", from, imported)
			}
			for module, places := range reserved {
				if imported != module && !strings.HasPrefix(imported, strings.TrimSuffix(module, "/")+"/") {
					continue
				}
				if !slices.ContainsFunc(places, func(place string) bool { return from == place || strings.HasPrefix(from, place+"/") }) {
					t.Errorf("%s imports %s", from, imported)
				}
			}
		}
	}
}

// TestProgramLinksNoEngine keeps the embedded database engine, and the sample
// sites, out of the program.
func TestProgramLinksNoEngine(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath != "bookside/cmd/bookside" {
			continue
		}
		for _, dependency := range p.Deps {
			if strings.Contains(dependency, "go-mysql-server") || strings.HasPrefix(dependency, "bookside/fixtures") {
				t.Errorf("the program links %s", dependency)
			}
		}
		return
	}
	t.Fatal("no package bookside/cmd/bookside")
}
