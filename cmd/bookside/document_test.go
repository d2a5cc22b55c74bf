package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures/expect"
)

var update = flag.Bool("update", false, "rewrite CONFIGURATION.md and what else is made from the settings and commands")

// TestSettingsAreDocumented: each field of the configuration has a setting, and each setting a text.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range settings.All {
		got = append(got, s.Key)
		if s.About == "" {
			t.Errorf("%s has no description", s.Key)
		}
	}
	slices.Sort(got)
	if fields := leaves(reflect.TypeFor[settings.Config]()) - leaves(reflect.TypeFor[settings.Limits]()); len(slices.Compact(got)) != fields {
		t.Errorf("%d settings for %d fields: %q", len(got), fields, got)
	}
	help := run(t, nil, "", "help", "config").want(t, exit.OK).stdout
	for _, s := range settings.All {
		if !strings.Contains(help, "\n"+s.Key+" ") {
			t.Errorf("help config lacks %s", s.Key)
		}
	}
}

// leaves returns the number of fields that are not sections.
func leaves(section reflect.Type) (n int) {
	for field := range section.Fields() {
		if field.Type.Kind() == reflect.Struct {
			n += leaves(field.Type)
		} else {
			n++
		}
	}
	return n
}

func TestSettingDefaults(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"db.dsn": "", "db.prefix": "", "wordpress.site_id": "0", "db.max_open": "10", "webhooks.enabled": "true",
		"changes.keep": "720h", "server.base_paths": "/wp-json/latepoint-api/v1,/v1",
	}
	for _, s := range settings.All {
		got, _ := s.DefaultText()
		if value, ok := want[s.Key]; ok && got != value {
			t.Errorf("%s: default %q, want %q", s.Key, got, value)
		}
	}
}

// TestConfigurationDocument compares CONFIGURATION.md, and the packages' configuration file and manual
// page, with the program's settings, flags and exit codes.
func TestConfigurationDocument(t *testing.T) {
	t.Parallel()
	for path, make := range map[string]func(*testing.T) string{
		"CONFIGURATION.md":                 configurationDocument,
		"EXTENSIONS.md":                    extensionsDocument,
		"../../docker/package/config.yaml": configurationFile,
		"../../docker/package/bookside.1":  manualPage,
	} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			got := make(t)
			if *update {
				expect.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want, err := os.ReadFile(path)
			expect.NoError(t, err)
			expect.Equal(t, string(want), got, path, " is out of date: go test ./cmd/bookside -run TestConfigurationDocument -update")
		})
	}
}

const extensionsIntroduction = `# Extensions of LatePoint

<!-- Made by: go test ./cmd/bookside -run TestConfigurationDocument -update -->

The API books without PHP, and so bypasses what plugins add to LatePoint in PHP. Bookside honours the additions that affect a booking, or reports that it does not: ` + "`bookside check`, `/readyz?verbose`" + ` and the console name those that are not honoured, and ` + "`GET /site`" + ` shows all with their parts. With ` + "`extensions.unknown: refuse`" + `, bookings, holds and orders are not written if a part that is not honoured would affect times, prices, acceptance or records: the response is a 503 that names it. Changes that need no slot and keep the price are written, such as notes and cancellations.

| Kind | Means |
|---|---|
| understood | Bookside does the same |
| asked | with [the companion](COMPANION.md), WordPress is asked before a response; without it, it is not honoured |
| run afterwards | with [the companion](COMPANION.md), WordPress does it right after the change is stored; without it, it is not honoured |
| takes no part | it does not affect what the API reads and writes |
| not honoured | the site does it, the API does not |

## Proof on your own site

` + "```sh\nbookside verify\n```" + `

takes 20 random days in the next two months, and each service with each of its agents (a random selection if there are more than a hundred pairs), asks WordPress, with all its plugins, for the free times and for the price of a booking, and compares them with the API's. It needs [the companion](COMPANION.md) but no knowledge of any plugin, and writes no booking. It prints each difference with service, agent and day, and the extensions that may be the reason; the exit code is then 8. ` + "`--seed`" + ` repeats a run.

## Known by name

| Extension | What it does | Kind |
|---|---|---|
`

const extensionsEnd = `
## Calendars of agents

Events that the add-ons for Google, Outlook and Apple calendars have stored block their agent everywhere: in ` + "`GET /availability`" + ` and ` + "`/agents/availability`" + `, for bookings, moves, holds and dry runs, and for agents that are assigned. ` + "`explain=1`" + ` says ` + "`calendar`" + `; the text of an event is never read. As on the site, events of Google and Outlook block even if the calendar is turned off in LatePoint's settings, as long as the plugin is active, and recurrences follow the add-ons' rules: an event that recurs until a day does not take place on it, exceptions are ignored, Apple's all-day events block nothing. Google Calendar 1.4 and 1.6 differ, and the version of its tables decides; if that is not known, the rules of 1.6 apply. There is one difference: on the site, an event without an end time breaks the calendar; here it blocks the day. The database account needs ` + "`SELECT`" + ` on the tables of the add-ons, which ` + "`bookside check --grants`" + ` prints ([how to grant it](INSTALL.md)).

## Rooms and devices

Where Pro Features is active and its assets are switched on (` + "`enable_assets_functionality`" + `), a time is closed once an asset that the booking would take is taken: one that is active, connected to the service, and for the agent or for all agents. That counts in the same places as calendars; ` + "`explain=1`" + ` says ` + "`asset`" + `. As on the site, each booking takes one unit however many attend, so that an asset of one unit closes a group after its first booking; all bookings of the day count that overlap the time, their own buffers included and those of the request not; and a booking that runs past midnight takes nothing. A hold takes what its booking would take. A booking is stored with the assets of its service and agent, disabled ones too, and stored anew with every change. The report of overlapping bookings has those that together take more units of an asset than there are. The account of the database needs the privileges on the tables of assets that ` + "`bookside check --grants`" + ` prints.

## Asked

If [the companion](COMPANION.md) is installed, Bookside asks WordPress about the decisions of extensions that it does not know itself. It needs no knowledge of such an extension.

- **Times.** Before free times are shown, WordPress says which starts it offers, for a month in one request, which takes about as long as a page of the site. The answer is cached for a minute. A start is offered if WordPress offers it and nothing known to Bookside occupies it. Extensions may remove starts, add some outside of the grid and of working hours, and make bookings longer. ` + "`explain=1`" + ` says ` + "`extension`" + `, and names it.
- **Prices.** Before a booking is written, WordPress says what it costs, using a cart that is not stored. Its amounts and price breakdown are stored. A ` + "`price`" + ` in the request takes precedence. Orders without a booking are not asked about.
- **Acceptance.** If WordPress refuses to create or move a booking, the response is a 422 with its message.

If any agent or location will do, the site chooses. Before each write, including holds, dry runs and each booking of a bulk request, WordPress is asked again, outside of the database transaction and before any lock is held. Responses show the waiting time as ` + "`wordpress`" + ` in ` + "`Server-Timing`" + `.

At most two requests to WordPress run at the same time, each for at most ten seconds. One that WordPress has begun by then counts until it ends, for at most a minute, and one that still waits for a PHP process is withdrawn. PHP stops before the next part of such a request; what it cannot stop is an extension that waits for another server for more than a minute, which then has a process of PHP beyond the two. After three failures in a row WordPress is left alone for ten seconds. Without an answer, requests that need one get a 503 and write nothing; with ` + "`extensions.unreachable: serve`" + ` they are served as if there were no extension, with a ` + "`Warning`" + ` header, and ` + "`/readyz?verbose`" + ` says so. ` + "`bookside check`" + ` tests whether WordPress answers, and ` + "`wordpress.loopback`" + ` sets its address. WordPress is not asked on a site where nothing listens to LatePoint's hooks.

WordPress is not asked about code that only listens to the steps of the site's form (` + "`latepoint_process_step`" + `), to the rules for customers, or to prices of bundles and of order items: that is not honoured.

## Others

With [the companion](COMPANION.md), all other plugins, the theme and code snippets are judged by the hooks of LatePoint that they use. The companion collects these in a visitor's request, when plugins change and once a day. Those for times, prices, acceptance and records matter. Hooks that LatePoint no longer fires do not count.

Without it, plugins whose folders begin with ` + "`latepoint-`" + ` are listed as unknown: they may affect times, prices and bookings. [Once it is gone](COMPANION.md), WordPress is neither asked nor told, and what it reported last about other plugins stays listed, as not honoured.
`

func extensionsDocument(*testing.T) string {
	var b strings.Builder
	b.WriteString(extensionsIntroduction)
	for _, e := range extensions.Catalogue {
		for i, part := range e.Parts {
			name, condition := "", ""
			if i == 0 {
				name = e.Title + " (`" + e.ID + "`)"
			}
			if part.Setting != "" {
				condition = " If `" + part.Setting + "` is on."
			}
			fmt.Fprintf(&b, "| %s | %s%s | %s |\n", name, cell(part.Means), condition, part.Kind.Words())
		}
	}
	b.WriteString(extensionsEnd)
	return b.String()
}

const documentIntroduction = `# Configuration

<!-- Made by: go test ./cmd/bookside -run TestConfigurationDocument -update -->

Settings come from four sources. Later ones override earlier ones:

1. the defaults below
2. a YAML file, named by ` + "`--config FILE` or `BOOKSIDE_CONFIG`" + `, with sections and names as below; if none is named, ` + "`/etc/bookside/config.yaml`" + ` if it exists
3. environment variables: ` + "`db.dsn` is `BOOKSIDE_DB__DSN`" + `, and so on; lists are separated by commas
4. flags: ` + "`--set KEY=VALUE`" + ` for any setting, and the short forms in the help of a command

An unknown key is an error. Either ` + "`db.dsn` or `wordpress.config`" + ` is required. Secrets may stand in files of their own: ` + "`BOOKSIDE_DB__DSN_FILE`" + `, or ` + "`db.dsn_file`" + ` in the YAML file, names one, and so it is with ` + "`rate_limit.redis` and `webhooks.secret_key`" + `. All users of a machine can see the flags of a program, so keep secrets out of them. ` + "`bookside serve --print-config`" + ` prints the result, with secrets masked.

| Setting | Default | Meaning |
|---|---|---|
`

func configurationDocument(*testing.T) string {
	var b strings.Builder
	b.WriteString(documentIntroduction)
	for _, s := range settings.All {
		value, note := s.DefaultText()
		if value != "" {
			value = "`" + value + "` "
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", s.Key, strings.TrimSpace(value+cell(note)), cell(s.About))
	}
	return b.String()
}

// commonFlags returns the flags of commands that read the configuration.
func commonFlags() *pflag.FlagSet {
	common := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(settings.Flags).Define(common)
	return common
}

// flagRows returns a row for each flag that is not in except, with its operand and meaning.
func flagRows(flags, except *pflag.FlagSet) (rows [][]string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if except == nil || except.Lookup(f.Name) == nil {
			operand, text := pflag.UnquoteUsage(f)
			rows = append(rows, []string{"--" + strings.TrimSpace(f.Name+" "+operand), text})
		}
	})
	return rows
}

// cell escapes a text for a table cell.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`, "_", `\_`).Replace(text)
}
