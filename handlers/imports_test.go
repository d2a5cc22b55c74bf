package handlers_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/handlers"
)

// floors are the packages of the project, from the mechanics of the database at the bottom up to the programs. A
// package imports only packages of lower floors; those of the lowest import none. A new package needs a place here,
// as low as its purpose allows.
var floors = [][]string{
	{"wpdb", "adapter/availability", "adapter/domain", "adapter/text"},
	{"wpdb/wpconfig", "adapter/extensions", "adapter/journal", "adapter/keys"},
	{"adapter/session"},
	{"adapter/records"},
	{"adapter/notify", "adapter/slots"},
	{"adapter/catalog", "adapter/customers", "adapter/jobs", "adapter/payments"},
	{"adapter/orders"},
	{"adapter/bookings"},
	{"compat/iso3166", "compat/jsontext", "compat/masks", "compat/numbers", "compat/table", "compat/texts", "handlers/mcp"},
	{"compat/jsonschema", "compat/phpform"},
	{"compat"},
	{"handlers/ratelimit", "handlers/openapi", "handlers/console/page"},
	{"handlers/middleware", "handlers/console/forms", "handlers/console/freetimes", "handlers/console/signature", "handlers/console/words"},
	{"handlers/failures", "handlers/monitor", "handlers/wordpress"},
	{"handlers", "handlers/console"},
	{"cmd/internal/printable", "cmd/bookside/compare", "cmd/bookside/companion/plugins/bookside/languages", "docker"},
	{"cmd/internal/exit"},
	{"cmd/internal/settings", "cmd/bookside/setup"},
	{"cmd/internal/server"},
	{"cmd/bookside"},
	// Test databases and browsers, tests of the API, the demo, and tools for load tests.
	{"adapter", "fixtures/embedded", "fixtures/expect", "fixtures/history", "fixtures/schema"},
	{"fixtures", "fixtures/companiontest"},
	{"fixtures/browser", "fixtures/sitefile", "fixtures/wpdbtest"},
	{"fixtures/anonymise", "handlers/apitest"},
	{"handlers/apitest/bookings", "handlers/apitest/records", "handlers/apitest/times"},
	{"cmd/demo", "docker/bench"},
}

// independent are packages that import nothing of the project, although they are not on the lowest floor.
var independent = []string{
	"compat/iso3166", "compat/jsontext", "compat/masks", "compat/numbers", "compat/table", "compat/texts", "handlers/mcp",
	"cmd/bookside/compare", "cmd/internal/printable", "fixtures/embedded", "fixtures/expect", "fixtures/history",
	"fixtures/schema",
}

// The adapter has few packages and few floors.
const (
	adapterPackages = 16
	adapterFloors   = 8
)

// never are imports from a lower floor that would skip a layer.
var never = map[string][]string{
	"compat":         {"wpdb"},
	"handlers":       {"wpdb/wpconfig"},
	"adapter":        {"wpdb/wpconfig"},
	"adapter/domain": {"wpdb"},
}

// floorOf returns the number of a package's floor, or -1.
func floorOf(name string) int {
	return slices.IndexFunc(floors, func(floor []string) bool { return slices.Contains(floor, name) })
}

// modules are modules that only some packages may import: the listed ones and all below them.
var modules = map[string][]string{
	"github.com/labstack/echo/":          {"cmd", "handlers"},
	"github.com/modelcontextprotocol/":   {"handlers/mcp"},
	"github.com/google/jsonschema-go/":   {"handlers/mcp"},
	"github.com/gomodule/redigo/":        {"handlers/ratelimit"},
	"github.com/go-sql-driver/mysql":     {"docker", "fixtures", "wpdb"},
	"github.com/Masterminds/squirrel":    {"adapter", "fixtures", "wpdb"},
	"github.com/knadh/koanf/":            {"cmd/internal/settings"},
	"github.com/spf13/":                  {"cmd"}, // commands, flags and completion
	"github.com/arran4/golang-ical":      {"adapter/text"},
	"github.com/go-json-experiment/":     {"cmd/bookside/compare"},
	"github.com/wneessen/go-mail":        {"cmd/internal/server"},
	"github.com/dolthub/go-mysql-server": {"fixtures/embedded"},
	"database/sql":                       {"docker", "fixtures", "handlers/apitest", "wpdb"},
	"net/http":                           {"adapter/extensions", "adapter/jobs", "cmd", "compat", "docker", "fixtures", "handlers"},
	"github.com/standard-webhooks/":      {"adapter/jobs", "cmd/bookside"},
	"maragu.dev/gomponents":              {"adapter/notify", "handlers/console"},
	"html/template":                      {}, // executing a template makes the linker keep all methods
	"text/template":                      {},
	"github.com/DATA-DOG/go-sqlmock":     {"fixtures/wpdbtest"},
	"github.com/chromedp/":               {"fixtures/browser"},
	"golang.org/x/crypto/x509roots/":     {"cmd"},
	"github.com/getkin/kin-openapi":      {"handlers/apitest"},
	"code.dny.dev/ssrf":                  {},
	"github.com/santhosh-tekuri/":        {"handlers/apitest"},
	"github.com/google/go-cmp":           {"fixtures/expect", "handlers/apitest"},
	"github.com/anishathalye/porcupine":  {"fixtures/history"},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Deps       []string
}

// ours is how the import paths of the project begin.
var ours = strings.TrimSuffix(reflect.TypeFor[handlers.Options]().PkgPath(), "handlers")

func packages(t *testing.T) []goPackage {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports,Deps", ours+"...")
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
		expect.NoError(t, err)
		found = append(found, p)
	}
}

// TestPackagesImportLowerFloors compares the imports of every package with the tables above.
func TestPackagesImportLowerFloors(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, ours)
		found[from] = true
		floor := floorOf(from)
		if floor < 0 {
			t.Errorf("%s has no floor", from)
		}
		for _, imported := range p.Imports {
			to, within := strings.CutPrefix(imported, ours)
			switch {
			case !within:
			case floorOf(to) >= floor, floor == 0, slices.Contains(independent, from):
				t.Errorf("%s must not import %s, which is not below it", from, to)
			case below(to, "fixtures") && !below(from, "fixtures") && !below(from, "docker") && from != "cmd/demo" && from != "handlers/apitest":
				t.Errorf("%s must not import %s, which is for tests, load tools and the demo", from, to)
			}
			if to == "handlers/apitest" {
				t.Errorf("%s must not import %s, which is for tests", from, to)
			}
			for above, others := range never {
				if below(from, above) && slices.Contains(others, to) {
					t.Errorf("%s must not import %s", from, to)
				}
			}
			for module, places := range modules {
				if below(imported, module) && !slices.ContainsFunc(places, func(place string) bool { return below(from, place) }) {
					t.Errorf("%s must not import %s", from, imported)
				}
			}
		}
	}
	for _, floor := range floors {
		for _, name := range floor {
			if !found[name] {
				t.Errorf("there is no package %s", name)
			}
		}
	}
}

// TestAdapterIsLow counts the packages of the adapter and their floors.
func TestAdapterIsLow(t *testing.T) {
	t.Parallel()
	count, top := 0, 0
	for i, floor := range floors {
		for _, name := range floor {
			if strings.HasPrefix(name, "adapter/") {
				count, top = count+1, i+1
			}
		}
	}
	if count > adapterPackages || top > adapterFloors {
		t.Errorf("the adapter has %d packages on %d floors, more than %d on %d", count, top, adapterPackages, adapterFloors)
	}
}

// below reports whether a path is a folder or inside it.
func below(path, folder string) bool {
	folder = strings.TrimSuffix(folder, "/")
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestProgramLinksNoEmbeddedDatabase: neither the embedded database engine nor the
// sample sites are linked into the program.
func TestProgramLinksNoEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		if p.ImportPath != ours+"cmd/bookside" {
			continue
		}
		for _, dependency := range p.Deps {
			if strings.Contains(dependency, "go-mysql-server") || strings.HasPrefix(dependency, ours+"fixtures") {
				t.Errorf("the program links %s", dependency)
			}
		}
		return
	}
	t.Fatal("no package cmd/bookside")
}
