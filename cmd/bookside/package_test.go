package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

const fileIntroduction = `# Settings of Bookside. A line with a setting behind "#" shows its default: to change the setting, remove
# the "#" and keep the spaces before it. Either db.dsn or wordpress.config is required. Restart the
# service afterwards: systemctl restart bookside
#
# Environment variables and flags override this file; "bookside serve --print-config" prints the result.
`

// configurationFile returns the packages' configuration file: every setting with its default, commented
// out.
func configurationFile(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(fileIntroduction)
	var open []string // the sections that contain the previous setting
	for _, s := range settings.All {
		parts := strings.Split(s.Key, ".")
		sections, name := parts[:len(parts)-1], parts[len(parts)-1]
		for i, section := range sections {
			if i < len(open) && open[i] == section {
				continue
			}
			open = sections[:i]
			if i == 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s%s:\n", strings.Repeat("  ", i), section)
		}
		open = sections
		indent := strings.Repeat("  ", len(sections))
		about := s.About // the line below shows the default, but not a note on it
		if s.Note != "" {
			about = s.Description()
		}
		for _, line := range settings.WrapWords(about, 96) {
			fmt.Fprintf(&b, "%s# %s\n", indent, line)
		}
		fmt.Fprintf(&b, "%s#%s: %s\n", indent, name, yamlDefault(t, s))
	}
	return b.String()
}

// yamlDefault returns the default as written after the name of a setting.
func yamlDefault(t *testing.T, s settings.Setting) string {
	t.Helper()
	if _, ok := s.Default.(time.Duration); ok {
		text, _ := s.DefaultText()
		return text
	}
	node := &yamlv3.Node{}
	expect.NoError(t, node.Encode(s.Default))
	node.Style = yamlv3.FlowStyle
	text, err := yamlv3.Marshal(node)
	expect.NoError(t, err)
	return strings.TrimSpace(string(text))
}

// TestConfigurationFile: the packages' configuration file has no effect, either unchanged or with all its
// settings uncommented.
func TestConfigurationFile(t *testing.T) {
	t.Parallel()
	text := configurationFile(t)
	effective := regexp.MustCompile(`(?m)^( +)#(\w+: )`).ReplaceAllString(text, "$1$2")
	if strings.Count(text, "\n") != strings.Count(effective, "\n") || text == effective {
		t.Fatal("no setting was found in the file")
	}
	for name, content := range map[string]string{"as it is": text, "all in effect": effective} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := configFrom(t, content, nil)
			expect.NoError(t, err)
			want := settings.Default()
			want.DB.Prefix = "wp_"
			expect.Equal(t, want, got)
		})
	}
}

// TestSystemConfig: the packages' file is read unless another is named, and it need not exist.
func TestSystemConfig(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "config.yaml", "db:\n  max_open: 7\n")
	for _, test := range []struct {
		name, path string
		env        []string
		want       int
	}{
		{"file", path, nil, 7},
		{"no file", filepath.Join(t.TempDir(), "none.yaml"), nil, 10},
		{"other file", path, []string{"BOOKSIDE_CONFIG=" + fixtures.WriteFile(t, "other.yaml", "db:\n  max_open: 8\n")}, 8},
		{"none wanted", path, []string{"BOOKSIDE_CONFIG="}, 10},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, err := settings.Read(settings.WithSystemFile(test.env, test.path), settings.Flags{})
			expect.NoError(t, err)
			expect.Equal(t, test.want, c.DB.MaxOpen, "db.max_open")
		})
	}
}

// manualPage returns the packages' manual page. The date and version in its first line are those of the
// release.
func manualPage(t *testing.T) string {
	t.Helper()
	p := &page{}
	p.line(`.\" Made by: go test ./cmd/bookside -run TestConfigurationDocument -update`)
	p.line(`.TH BOOKSIDE 1 1970-01-01 "Bookside" "Bookside"`)
	p.section("NAME")
	p.text("bookside - REST API of the LatePoint booking plugin, from the site's own database")
	p.section("SYNOPSIS")
	p.line(".B bookside")
	p.line(".I command")
	p.line(".RI [ flags ]")
	p.section("DESCRIPTION")
	p.text("Bookside serves the booking API of a WordPress site with the LatePoint plugin from the site's own tables. " +
		"It runs beside the site, usually as a service of systemd and behind the site's web server.")
	p.section("COMMANDS")
	common := commonFlags()
	p.text("Commands that read the configuration have these flags:")
	p.list(flagRows(common, nil))
	p.line(".PP")
	p.text("Every command has --help, which explains it.")
	eachCommand(new(program).commands(), func(c *cobra.Command) {
		p.subsection(strings.TrimSpace(c.CommandPath() + " " + operandsOf(c)))
		p.paragraphs(c.Long)
		p.list(flagRows(c.Flags(), common))
	})
	p.section("SETTINGS")
	p.paragraphs(settings.Sources)
	var rows [][]string
	for _, s := range settings.All {
		rows = append(rows, []string{s.Key, s.Description()})
	}
	p.list(rows)
	p.section("EXIT STATUS")
	rows = nil
	for _, e := range exit.Codes {
		rows = append(rows, []string{fmt.Sprint(e.Code), e.Meaning})
	}
	p.list(rows)
	p.section("ENVIRONMENT")
	p.list([][]string{
		{settings.EnvFile, "configuration file, in place of --config"},
		{settings.EnvPrefix + "…", "settings, as described above"},
		{"GOMEMLIMIT", "bound for the program's memory, such as 192MiB"},
		{"NO_COLOR", "if it is set, nothing is printed in colour"},
	})
	p.section("FILES")
	p.list([][]string{
		{settings.SystemFile, "configuration; it may contain passwords, so only root and the service can read it"},
		{"/etc/bookside/env", "environment variables of the service, if it exists"},
	})
	p.section("SEE ALSO")
	p.line(".BR systemctl (1),")
	p.line(".BR journalctl (1),")
	p.line(".BR mariadb (1)")
	return p.String()
}

// page is a manual page in the format of man(7).
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

func (p *page) section(name string)    { p.line(".SH " + name) }
func (p *page) subsection(name string) { p.line(`.SS "` + roff(name) + `"`) }

func (p *page) text(text string) { p.line(roff(text)) }

// list writes rows of a term and its explanation.
func (p *page) list(rows [][]string) {
	for _, row := range rows {
		p.line(".TP")
		p.line(`.B "` + roff(strings.TrimSpace(row[0])) + `"`)
		p.text(row[1])
	}
}

// paragraphs writes a help text. Indented lines are kept unchanged.
func (p *page) paragraphs(text string) {
	literal := false
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !literal:
			p.line(".nf")
		case !indented && literal:
			p.line(".fi")
		}
		literal = indented
		if line == "" {
			p.line(".PP")
		} else {
			p.text(line)
		}
	}
	if literal {
		p.line(".fi")
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, `"`, `\(dq`, "'", `\(aq`, "…", `\&...`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`)

// roff escapes a text for a manual page.
func roff(text string) string {
	text = roffEscapes.Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return text
}

// TestManualPage: mandoc, which is stricter than groff, has no complaints.
func TestManualPage(t *testing.T) {
	t.Parallel()
	mandoc := fixtures.RequireTool(t, "mandoc")
	command := exec.CommandContext(t.Context(), mandoc, "-T", "lint", "-W", "warning")
	command.Stdin = strings.NewReader(manualPage(t))
	if output, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
