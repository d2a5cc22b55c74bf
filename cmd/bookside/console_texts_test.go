package main

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/jobs"
	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/fixtures/expect"
	pagetexts "github.com/bookside/bookside/handlers/console/page"
	"github.com/bookside/bookside/handlers/monitor"
)

// consolePackage is a package of the console with its types.
type consolePackage struct {
	files *token.FileSet
	trees []*ast.File
	info  types.Info
}

const (
	consolePath = "github.com/bookside/bookside/handlers/console"
	pagePath    = consolePath + "/page"
)

// consolePackages are the packages that make the console's pages.
var consolePackages = sync.OnceValues(func() (packages []consolePackage, err error) {
	// The go command has compiled what they import.
	listed, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}\t{{.GoFiles}}", "../../handlers/console/...").Output()
	if err != nil {
		return nil, err
	}
	exports := map[string]string{}
	files := token.NewFileSet()
	imports := importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for line := range strings.Lines(string(listed)) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) < 4 {
			continue // unsafe
		}
		exports[columns[0]] = columns[1]
		if columns[0] != consolePath && !strings.HasPrefix(columns[0], consolePath+"/") {
			continue
		}
		p := consolePackage{files: files, info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}}
		for name := range strings.FieldsSeq(strings.Trim(columns[3], "[]")) {
			tree, err := parser.ParseFile(files, filepath.Join(columns[2], name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			p.trees = append(p.trees, tree)
		}
		config := types.Config{Importer: imports}
		if _, err := config.Check(columns[0], files, p.trees, &p.info); err != nil {
			return nil, err
		}
		packages = append(packages, p)
	}
	return packages, nil
})

// inspect calls visit for all nodes, until it returns false for those inside.
func (p consolePackage) inspect(visit func(ast.Node) bool) {
	for _, tree := range p.trees {
		ast.Inspect(tree, visit)
	}
}

// text returns the constant of an expression of the type page.Text.
func (p consolePackage) text(e ast.Expr) (text string, ok bool) {
	is := p.info.Types[e]
	if is.Value == nil || is.Value.Kind() != constant.String || is.Type.String() != pagePath+".Text" {
		return "", false
	}
	return constant.StringVal(is.Value), true
}

// called returns the function that a call names, such as page.Count, with the whole path of its package.
func (p consolePackage) called(call *ast.CallExpr) string {
	name, ok := call.Fun.(*ast.Ident)
	if selected, qualified := call.Fun.(*ast.SelectorExpr); qualified {
		name, ok = selected.Sel, true
	}
	if !ok || p.info.Uses[name] == nil || p.info.Uses[name].Pkg() == nil {
		return ""
	}
	return p.info.Uses[name].Pkg().Path() + "." + name.Name
}

var (
	placesOfValues = regexp.MustCompile(`%(\d+\$)?[sd]`)
	letter         = regexp.MustCompile(`\p{L}`)
)

// readable reports whether a text has words to read, a context or the layout of a date.
func readable(text string) bool {
	return letter.MatchString(placesOfValues.ReplaceAllString(text, "")) || strings.Contains(text, "\x04") || strings.Contains(text, "2006")
}

// textsOfConsole returns the texts on the console's pages as calls of PHP, for xgettext.
func textsOfConsole(t *testing.T) (calls []string) {
	t.Helper()
	packages, err := consolePackages()
	expect.NoError(t, err)
	for _, p := range packages {
		p.inspect(func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && p.called(call) == pagePath+".Count" {
				one, singular := p.text(call.Args[1])
				many, plural := p.text(call.Args[2])
				if !singular || !plural {
					t.Errorf("%s: a count without texts", p.files.Position(call.Pos()))
				}
				calls = append(calls, "_n("+phpText(one)+", "+phpText(many)+", 1)")
				return false
			}
			e, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, ok := p.text(e)
			if ok && readable(text) {
				calls = append(calls, phpCall(text))
				if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
					t.Errorf("%s: xgettext keeps only ASCII of %q", p.files.Position(n.Pos()), text)
				}
			}
			return !ok
		})
	}
	if len(calls) < 300 {
		t.Errorf("only %d texts", len(calls))
	}
	slices.Sort(calls)
	return slices.Compact(calls)
}

// phpCall is the call of PHP for a text, which may have a context.
func phpCall(text string) string {
	if before, after, found := strings.Cut(text, "\x04"); found {
		return "_x(" + phpText(after) + ", " + phpText(before) + ")"
	}
	return "__(" + phpText(text) + ")"
}

// shownTexts are the functions of gomponents whose arguments people read.
var shownTexts = regexp.MustCompile(`^maragu\.dev/gomponents(\.(Text|Textf|Raw|Rawf)|/html\.(Title|Alt|Placeholder))$`)

// TestConsoleTexts: nothing that people read on the console is outside of the catalogue: constants with words are of the type
// page.Text wherever they are shown.
func TestConsoleTexts(t *testing.T) {
	t.Parallel()
	packages, err := consolePackages()
	expect.NoError(t, err)
	ours := []string{"Bookside", " – Bookside", "WordPress", "&nbsp;", "bookings/17"}
	for _, p := range packages {
		words := func(n ast.Node, where string) {
			ast.Inspect(n, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && !strings.HasPrefix(p.called(call), "fmt.") && !p.info.Types[call.Fun].IsType() {
					return false // what it is given is not what is shown
				}
				e, ok := n.(ast.Expr)
				if !ok || p.info.Types[e].Value == nil || p.info.Types[e].Value.Kind() != constant.String {
					return true
				}
				if text := constant.StringVal(p.info.Types[e].Value); readable(text) && !slices.Contains(ours, text) {
					t.Errorf("%s: %q is in %s; use page.Text", p.files.Position(e.Pos()), text, where)
				}
				return false
			})
		}
		p.inspect(func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called := p.called(call)
			switch {
			case shownTexts.MatchString(called), called == pagePath+".Name":
				for _, argument := range call.Args {
					words(argument, called)
				}
			case called == "maragu.dev/gomponents/html.Aria":
				if name := p.info.Types[call.Args[0]].Value; name == nil || slices.Contains([]string{"label", "description", "placeholder", "valuetext"}, constant.StringVal(name)) {
					words(call.Args[1], called)
				}
			case called == pagePath+".AddError":
				words(call.Args[1], called)
			case called == pagePath+".Text" && p.info.Types[call.Fun].IsType() && p.info.Types[call].Value == nil:
				words(call.Args[0], "a text that is put together")
			}
			return true
		})
	}
}

// newErrors matches the messages of new errors.
const newErrors = `(?:errors\.New|fmt\.Errorf)\("((?:[^"\\]|\\.)+)"`

// say matches the sentences of a report.
const say = `Say\("((?:[^"\\]|\\.)+)"`

// asSentence makes a format of fmt, as source, one of the catalogue.
var asSentence = strings.NewReplacer(`%q`, `"%s"`, `%d`, `%s`, `%v`, `%s`, `%w`, `%s`, `\"`, `"`)

// textsShownByConsole returns what others write, and the console shows in the language of its reader.
func textsShownByConsole(t *testing.T) (texts []string) {
	t.Helper()
	add := func(found ...string) { texts = append(texts, found...) }
	for _, a := range keys.CalendarAttributes {
		add(a.Label, a.Hint)
		for _, c := range a.Choices {
			add(c.Text)
		}
	}
	for _, a := range jobs.HookAttributes {
		add(a.Label, a.Hint)
	}
	add(keys.PermissionVerbs...)
	add(keys.PermissionResources...)
	for _, permission := range keys.NamedPermissions {
		_, resource, _ := strings.Cut(permission, "_")
		add(resource)
	}
	for _, kind := range slices.Concat(keys.Kinds, []keys.Kind{keys.Calendar}) {
		add(string(kind))
	}
	add(string(keys.Active), string(keys.Revoked), string(keys.Expired), string(keys.Busy), string(keys.Names), string(keys.Full), string(jobs.Enabled), string(jobs.Disabled))
	add(slices.Concat(extensions.EventStates, jobs.DeliveryStates)...)
	for _, resource := range journal.Resources {
		add(string(resource))
	}
	for _, resource := range []domain.Resource{domain.BookingResource, domain.CustomerResource, domain.AgentResource, domain.ServiceResource, domain.LocationResource} {
		add(domain.Capitalize(string(resource)) + " not found.")
	}
	add(string(journal.Created), string(journal.Updated), string(journal.Deleted), string(domain.AgentResource), string(domain.LocationResource))
	for _, status := range []string{records.StatusPending, records.StatusApproved, records.StatusCancelled, records.StatusCompleted, "no_show", "payment_pending"} {
		add(strings.ReplaceAll(status, "_", " "))
	}
	for _, code := range regexp.MustCompile(`(?m) Code = "(\w+)"$`).FindAllSubmatch(readFile(t, "../../handlers/monitor/entry.go"), -1) {
		add(monitor.Code(code[1]).Words())
	}
	for file, patterns := range map[string][]string{
		"adapter/availability/reason.go":    {`:\s+"([A-Z][^"]+\.)",`},
		"adapter/slots/bookable_service.go": {`Missing\w+:\s+"([A-Z][^"]+\.)",`},
		"adapter/slots/availability.go":     {`Invalid(?:Field)?\("\w+", "([A-Z][^"]+)"\)`},
		"adapter/domain/errors.go":          {`Message: "([A-Z][^"]+)", Fields:`, `CodeSlotUnavailable, Message: "([^"]+)"`},
		"adapter/jobs/hook.go":              {newErrors},
		"adapter/jobs/events.go":            {newErrors},
		"adapter/keys/attributes.go":        {newErrors},
		"adapter/keys/attribute_fields.go":  {newErrors},
		"handlers/console/keys.go":          {newErrors},
		"handlers/console/forms/forms.go":   {newErrors},
		"compat/values.go":                  {`^\t\w+ += "([A-Z][^"]+)"`},
		"adapter/jobs/work_store.go":        {`\breason = "([^"]+)"`},
		"adapter/keys/calendars.go":         {newErrors},
		"handlers/monitor/entry.go":         {say},
		"handlers/monitor/privileges.go":    {say},
		"handlers/monitor/server.go":        {say},
		"handlers/monitor/site.go":          {say},
		"handlers/monitor/work.go":          {say},
	} {
		for _, pattern := range patterns {
			found := regexp.MustCompile(`(?m)`+pattern).FindAllStringSubmatch(string(readFile(t, "../../"+file)), -1)
			if len(found) == 0 {
				t.Errorf("%s has no %s", file, pattern)
			}
			for _, text := range found {
				switch {
				case pattern == newErrors, file == "compat/values.go", strings.Contains(text[0], "Message:"), strings.Contains(text[0], "Invalid"):
					add(pagetexts.Sentence(asSentence.Replace(domain.Capitalize(text[1]))))
				case readable(text[1]):
					add(text[1])
				}
			}
		}
	}
	return texts
}
