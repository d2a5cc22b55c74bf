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

	"github.com/bookside/bookside/handlers"
)

// allowedImports are the packages of the project, each with the packages that it may import: from the
// program at the top down to the mechanics of the database. A new package needs a row here, with as few
// imports as its purpose allows.
var allowedImports = map[string][]string{
	"cmd/bookside":           {"adapter/bookings", "adapter/diagnose", "adapter/domain", "adapter/events", "adapter/extensions", "adapter/indexes", "adapter/journal", "adapter/keys", "adapter/session", "adapter/slots", "adapter/upkeep", "adapter/webhooks", "cmd/bookside/compare", "cmd/bookside/setup", "cmd/internal/exit", "cmd/internal/printable", "cmd/internal/server", "cmd/internal/settings", "compat", "handlers", "handlers/monitor", "handlers/ratelimit", "wpdb", "wpdb/wpconfig"},
	"cmd/internal/server":    {"adapter/ask", "adapter/companion", "adapter/diagnose", "adapter/domain", "adapter/events", "adapter/journal", "adapter/keys", "adapter/language", "adapter/notify", "adapter/requestlog", "adapter/session", "adapter/signed", "adapter/slots", "adapter/upkeep", "adapter/webhooks", "cmd/bookside/companion/plugins/bookside/languages", "cmd/internal/exit", "cmd/internal/settings", "handlers", "handlers/console", "handlers/monitor", "handlers/ratelimit", "wpdb", "wpdb/wpconfig"},
	"cmd/internal/exit":      {"cmd/internal/printable"},
	"cmd/internal/printable": {},
	"cmd/internal/settings":  {"adapter/domain", "adapter/records", "adapter/webhooks", "cmd/internal/exit", "handlers", "wpdb", "wpdb/wpconfig"},
	"cmd/bookside/compare":   {},
	"cmd/bookside/setup":     {"adapter/keys", "cmd/internal/exit", "docker", "wpdb", "wpdb/wpconfig"},
	"cmd/demo":               {"adapter/domain", "adapter/journal", "adapter/keys", "adapter/webhooks", "cmd/internal/printable", "cmd/internal/server", "cmd/internal/settings", "fixtures", "fixtures/embedded", "fixtures/saved", "fixtures/anonymise", "fixtures/sitefile", "handlers/middleware", "handlers/ratelimit"},

	"cmd/bookside/companion/plugins/bookside/languages": {},

	"handlers":                   {"adapter/availability", "adapter/bookings", "adapter/catalog", "adapter/coalesce", "adapter/customers", "adapter/domain", "adapter/events", "adapter/idempotency", "adapter/journal", "adapter/keys", "adapter/orders", "adapter/payments", "adapter/records", "adapter/requestlog", "adapter/session", "adapter/slots", "adapter/timeoff", "adapter/upkeep", "adapter/webhooks", "compat", "compat/table", "handlers/failures", "handlers/mcp", "handlers/middleware", "handlers/monitor", "handlers/openapi", "handlers/ratelimit", "handlers/wordpress", "wpdb"},
	"handlers/console":           {"adapter/availability", "adapter/diagnose", "adapter/domain", "adapter/events", "adapter/journal", "adapter/keys", "adapter/language", "adapter/records", "adapter/requestlog", "adapter/session", "adapter/signed", "adapter/shared", "adapter/slots", "adapter/timeoff", "adapter/webhooks", "handlers/console/freetimes", "handlers/console/page", "handlers/console/signature", "handlers/console/terms", "handlers/console/words", "handlers/middleware", "handlers/ratelimit", "wpdb"},
	"handlers/console/freetimes": {"adapter/availability", "adapter/slots", "handlers/console/page"},
	"handlers/console/page":      {"adapter/domain", "adapter/language"},
	"handlers/console/signature": {"adapter/domain", "adapter/keys", "adapter/session", "adapter/signed", "handlers/ratelimit", "wpdb"},
	"handlers/console/terms":     {"adapter/domain", "adapter/keys", "adapter/slots", "handlers/console/page"},
	"handlers/console/words":     {"adapter/availability", "adapter/domain", "adapter/journal", "adapter/keys", "adapter/records", "adapter/requestlog", "adapter/session", "adapter/slots", "adapter/timeoff", "handlers/console/page"},
	"handlers/failures":          {"adapter/domain", "adapter/session", "compat", "handlers/middleware", "handlers/ratelimit", "wpdb"},
	"handlers/mcp":               {},
	"handlers/middleware":        {"adapter/domain", "adapter/keys", "compat", "handlers/ratelimit", "wpdb"},
	"handlers/monitor":           {"adapter/diagnose", "adapter/domain", "adapter/session", "adapter/slots", "adapter/upkeep", "adapter/webhooks", "handlers/middleware", "handlers/ratelimit", "wpdb"},
	"handlers/openapi":           {"adapter/domain", "adapter/keys", "adapter/webhooks", "compat", "handlers/middleware"},
	"handlers/ratelimit":         {"adapter/domain", "adapter/keys"},
	"handlers/wordpress":         {"adapter/domain", "compat", "handlers/middleware", "handlers/openapi"},

	"compat":          {"adapter/availability", "adapter/bookings", "adapter/catalog", "adapter/customers", "adapter/domain", "adapter/extensions", "adapter/journal", "adapter/lists", "adapter/orders", "adapter/payments", "adapter/records", "adapter/session", "adapter/slots", "adapter/timeoff", "adapter/webhooks", "compat/iso3166", "compat/jsontext", "compat/masks", "compat/numbers", "compat/phpform", "compat/table", "compat/texts"},
	"compat/iso3166":  {},
	"compat/jsontext": {},
	"compat/masks":    {},
	"compat/numbers":  {},
	"compat/phpform":  {"compat/jsontext"},
	"compat/table":    {},
	"compat/texts":    {},

	"adapter":              {},
	"adapter/bookings":     {"adapter/ask", "adapter/automation", "adapter/availability", "adapter/catalog", "adapter/customers", "adapter/domain", "adapter/extensions", "adapter/icalendar", "adapter/journal", "adapter/keys", "adapter/lists", "adapter/notify", "adapter/orders", "adapter/payments", "adapter/pricing", "adapter/records", "adapter/sanitize", "adapter/session", "adapter/slots", "wpdb"},
	"adapter/customers":    {"adapter/domain", "adapter/extensions", "adapter/lists", "adapter/notify", "adapter/records", "adapter/sanitize", "adapter/session", "wpdb"},
	"adapter/orders":       {"adapter/automation", "adapter/domain", "adapter/journal", "adapter/lists", "adapter/notify", "adapter/payments", "adapter/records", "adapter/sanitize", "adapter/session", "wpdb"},
	"adapter/payments":     {"adapter/automation", "adapter/domain", "adapter/journal", "adapter/lists", "adapter/notify", "adapter/pricing", "adapter/records", "adapter/sanitize", "adapter/session", "wpdb"},
	"adapter/catalog":      {"adapter/domain", "adapter/lists", "adapter/notify", "adapter/records", "adapter/sanitize", "adapter/session", "adapter/slots", "wpdb"},
	"adapter/timeoff":      {"adapter/availability", "adapter/domain", "adapter/extensions", "adapter/lists", "adapter/records", "adapter/sanitize", "adapter/session", "adapter/slots", "wpdb"},
	"adapter/upkeep":       {"adapter/bookings", "adapter/domain", "adapter/events", "adapter/idempotency", "adapter/journal", "adapter/queue", "adapter/records", "adapter/requestlog", "adapter/session", "adapter/webhooks", "wpdb"},
	"adapter/notify":       {"adapter/automation", "adapter/domain", "adapter/events", "adapter/icalendar", "adapter/lists", "adapter/records", "adapter/sanitize", "adapter/session", "wpdb"},
	"adapter/slots":        {"adapter/ask", "adapter/availability", "adapter/busytimes", "adapter/coalesce", "adapter/domain", "adapter/extensions", "adapter/journal", "adapter/keys", "adapter/lists", "adapter/pricing", "adapter/queue", "adapter/records", "adapter/session", "wpdb"},
	"adapter/records":      {"adapter/automation", "adapter/availability", "adapter/domain", "adapter/extensions", "adapter/journal", "adapter/lists", "adapter/pricing", "adapter/session", "wpdb"},
	"adapter/lists":        {"adapter/domain", "adapter/session", "wpdb"},
	"adapter/session":      {"adapter/ask", "adapter/automation", "adapter/availability", "adapter/coalesce", "adapter/companion", "adapter/domain", "adapter/events", "adapter/extensions", "adapter/idempotency", "adapter/journal", "adapter/keys", "adapter/language", "adapter/webhooks", "wpdb"},
	"adapter/diagnose":     {"adapter/domain", "adapter/events", "adapter/extensions", "adapter/indexes", "adapter/journal", "adapter/keys", "adapter/language", "adapter/notify", "adapter/session", "adapter/shared", "adapter/slots", "adapter/upkeep", "adapter/webhooks", "wpdb"},
	"adapter/requestlog":   {"adapter/domain", "wpdb"},
	"adapter/shared":       {"adapter/domain"},
	"adapter/icalendar":    {},
	"adapter/idempotency":  {"adapter/domain", "adapter/sanitize", "wpdb"},
	"adapter/indexes":      {"adapter/domain", "wpdb"},
	"adapter/journal":      {"adapter/domain", "adapter/queue", "wpdb"},
	"adapter/keys":         {"adapter/coalesce", "adapter/domain", "adapter/sanitize", "wpdb"},
	"adapter/ask":          {"adapter/companion", "adapter/domain", "wpdb"},
	"adapter/companion":    {"adapter/domain", "adapter/signed", "wpdb"},
	"adapter/events":       {"adapter/companion", "adapter/domain", "adapter/queue", "wpdb"},
	"adapter/webhooks":     {"adapter/domain", "adapter/journal", "adapter/keys", "adapter/queue", "adapter/webhooks/ssrf", "wpdb"},
	"adapter/domain":       {"adapter/availability"},
	"adapter/extensions":   {},
	"adapter/pricing":      {"adapter/domain"},
	"adapter/availability": {},
	"adapter/busytimes":    {"adapter/availability"},
	"adapter/coalesce":     {},
	"adapter/language":     {},
	"adapter/automation":   {"adapter/language", "adapter/sanitize"},
	"adapter/queue":        {"adapter/domain"},
	"adapter/sanitize":     {},
	"adapter/signed":       {"adapter/domain", "wpdb"},

	"adapter/webhooks/ssrf": {},

	"wpdb":          {},
	"wpdb/wpconfig": {"wpdb"},

	// Test databases and browsers, and tools for releases and load tests.
	"fixtures":               {"fixtures/schema"},
	"fixtures/schema":        {},
	"fixtures/sitefile":      {"adapter/automation", "adapter/availability", "adapter/customers", "adapter/domain", "adapter/orders", "adapter/payments", "adapter/pricing", "adapter/records", "adapter/session", "adapter/slots", "fixtures", "fixtures/schema"},
	"fixtures/browser":       {"fixtures"},
	"fixtures/companiontest": {"adapter/companion", "adapter/domain", "adapter/signed", "wpdb"},
	"fixtures/anonymise":     {"fixtures", "fixtures/schema", "fixtures/sitefile"},
	"fixtures/history":       {},
	"fixtures/saved":         {"fixtures"},
	"fixtures/wpdbtest":      {"fixtures", "wpdb"},
	"fixtures/embedded":      {},
	"docker":                 {},
	"docker/bench":           {"adapter/keys", "adapter/session", "fixtures", "handlers", "wpdb"},
}

// modules are modules that only some packages may import: the listed ones and all below them.
var modules = map[string][]string{
	"github.com/labstack/echo/":          {"cmd", "handlers"},
	"github.com/modelcontextprotocol/":   {"handlers/mcp"},
	"github.com/google/jsonschema-go/":   {"handlers/mcp"},
	"github.com/redis/go-redis":          {"cmd/internal", "handlers/ratelimit"},
	"github.com/go-sql-driver/mysql":     {"docker", "fixtures", "wpdb"},
	"github.com/Masterminds/squirrel":    {"adapter", "fixtures", "wpdb"},
	"github.com/knadh/koanf/":            {"cmd/internal/settings"},
	"github.com/spf13/":                  {"cmd"}, // commands, flags and completion
	"github.com/arran4/golang-ical":      {"adapter/icalendar"},
	"github.com/go-json-experiment/":     {"cmd/bookside/compare"},
	"github.com/wneessen/go-mail":        {"cmd/internal/server"},
	"github.com/dolthub/go-mysql-server": {"fixtures/embedded"},
	"database/sql":                       {"docker", "fixtures", "wpdb"},
	"net/http":                           {"adapter/companion", "adapter/webhooks", "cmd", "compat", "docker", "fixtures", "handlers"},
	"github.com/standard-webhooks/":      {"adapter/webhooks", "cmd/bookside"},
	"maragu.dev/gomponents":              {"adapter/automation", "handlers/console"},
	"html/template":                      {}, // executing a template makes the linker keep all methods
	"text/template":                      {},
	"github.com/DATA-DOG/go-sqlmock":     {"fixtures/wpdbtest"},
	"github.com/chromedp/":               {"fixtures/browser"},
	"golang.org/x/crypto/x509roots/":     {"cmd"},
	"github.com/getkin/kin-openapi":      {},
	"code.dny.dev/ssrf":                  {},
	"github.com/santhosh-tekuri/":        {},
	"github.com/google/go-cmp":           {},
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
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, p)
	}
}

// TestPackagesImportOnlyAllowedPackages compares the imports of every package with
// the tables above.
func TestPackagesImportOnlyAllowedPackages(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, ours)
		found[from] = true
		allowed, known := allowedImports[from]
		if !known {
			t.Errorf("%s has no row in the table of packages", from)
			continue
		}
		for _, imported := range p.Imports {
			if to, within := strings.CutPrefix(imported, ours); within && !slices.Contains(allowed, to) {
				t.Errorf("%s must not import %s", from, to)
			}
			for module, places := range modules {
				if below(imported, module) && !slices.ContainsFunc(places, func(place string) bool { return below(from, place) }) {
					t.Errorf("%s must not import %s", from, imported)
				}
			}
		}
	}
	for from, allowed := range allowedImports {
		for _, name := range append([]string{from}, allowed...) {
			if !found[name] {
				t.Errorf("%s: there is no package %s", from, name)
			}
		}
	}
}

// below reports whether a path is a folder or inside it.
func below(path, folder string) bool {
	folder = strings.TrimSuffix(folder, "/")
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// TestPackagesImportDownwards fails on an import from a higher layer in the
// table itself.
func TestPackagesImportDownwards(t *testing.T) {
	t.Parallel()
	layers := []string{"cmd", "handlers", "compat", "adapter", "wpdb"}
	layer := func(name string) int {
		top, _, _ := strings.Cut(name, "/")
		return slices.Index(layers, top)
	}
	for from, allowed := range allowedImports {
		for _, name := range allowed {
			switch {
			case below(name, "fixtures") && !below(from, "fixtures") && !below(from, "docker") && from != "cmd/demo":
				t.Errorf("%s must not import %s, which is for tests, load tools and the demo", from, name)
			case layer(from) >= 0 && layer(name) >= 0 && layer(name) < layer(from):
				t.Errorf("%s must not import %s, which is above it", from, name)
			}
		}
	}
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
