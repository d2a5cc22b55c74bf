package setup

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/bookside/bookside/wpdb"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

// leftover is something that an undo leaves, because others may need it or setup did not create it, and the
// command that removes it.
type leftover struct{ what, command string }

// leftovers returns what remains after a record has been undone.
func (s *Setup) leftovers(r *record) []leftover {
	var left []leftover
	site, err := wpconfig.Read(s.Host.path(r.Config))
	var noSocket *wpconfig.NoSocketError
	if err == nil || errors.As(err, &noSocket) { // otherwise the site may be gone, and its database with it
		left = append(left,
			leftover{"indexes, if bookside indexes --apply made any", "bookside indexes --drop --wp-config " + r.Config},
			leftover{"the tables of Bookside in the site's database, with all keys, webhooks and queued mails, as SQL", dropTables(site, r.Options.SiteID)})
	}
	content := cmp.Or(site.Content, path.Join(r.WordPress, "wp-content"))
	if s.Host.exists(path.Join(content, "mu-plugins/bookside.php")) || s.Host.exists(path.Join(content, "plugins/bookside")) {
		left = append(left, leftover{"the companion in WordPress", "bookside companion remove --wordpress " + r.WordPress})
	}
	user, program := s.hasUser(), s.Host.exists(localProgram) // unless setup created them
	for i := range r.Changes {
		change, err := r.Changes[i].change()
		if err != nil {
			continue // Undo says so
		}
		switch c := change.(type) {
		case *File:
			program = program && c.Path != localProgram
		case *Run:
			if c.Stays != "" {
				left = append(left, leftover{c.Stays, c.Removal.String()})
			}
			user = user && !strings.Contains(c.DescribeUndo(), "userdel "+serviceUser)
		}
	}
	if s.Host.exists(packagedProgram) {
		remove := "dnf remove bookside"
		if s.Host.exists("/usr/bin/apt-get") {
			remove = "apt-get purge bookside"
		}
		left = append(left, leftover{"the package, with its units", remove})
	}
	if program {
		left = append(left, leftover{"the program", "rm " + localProgram})
	}
	if user {
		left = append(left, leftover{"the user " + serviceUser + ", whom setup did not make", "userdel " + serviceUser})
	}
	return left
}

// dropTables returns the statement that drops our own tables.
func dropTables(site wpconfig.Config, siteID int) string {
	var names []string
	for _, table := range wpdb.OwnTables() {
		names = append(names, "`"+wpdb.SitePrefix(site.TablePrefix, siteID)+string(table)+"`")
	}
	return "USE `" + site.Name + "`; DROP TABLE IF EXISTS " + strings.Join(names, ", ") + ";"
}

// sayLeftovers prints what remains.
func (s *Setup) sayLeftovers(r *record) {
	s.say("What stays, and what removes it:\n")
	for _, l := range s.leftovers(r) {
		s.say("  - %s:\n      %s\n", l.what, l.command)
	}
}
