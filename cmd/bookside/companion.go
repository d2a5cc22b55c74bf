package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"bookside/adapter/session"
	"bookside/wpdb/wpconfig"
)

const aboutCompanionInstall = `Places the companion in a WordPress site: a must-use plugin, which makes WordPress take Bookside's
locks and enter its changes into the journal, and an ordinary plugin with pages in wp-admin, which an
administrator activates under Plugins. Installing again brings both up to date.

The files get the owner and the permissions of the directory around them; run the command as root or
as their owner. A file that somebody has changed stays as it is, and nothing is installed, unless
--force is given.`

const aboutCompanionRemove = `Removes the files of the companion from a WordPress site. A file that somebody has changed stays as
it is, and nothing is removed, unless --force is given.`

const aboutCompanionStatus = `Says which version of the companion is in a WordPress site, which one this program brings, which
files differ, and whether the server that answers at admin.listen serves this site.`

const aboutCompanionZip = `Writes the companion as a ZIP file for sites whose files you cannot reach: upload it in wp-admin under
Plugins, Add New, Upload Plugin. It does the same as the installed one, except that it cannot forward
requests before WordPress has loaded its plugins.`

// companionFlags name the site of a companion.
type companionFlags struct{ wordpress, content string }

func (c *companionFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&c.wordpress, "wordpress", "", "`DIRECTORY` of WordPress, such as /var/www/html; required")
	flags.StringVar(&c.content, "content", "", "`DIRECTORY` with the plugins if wp-config.php does not name it; default WP_CONTENT_DIR there, else wp-content in the directory of WordPress")
}

// open opens the site's directory wp-content.
func (c companionFlags) open() (*companionSite, error) {
	if c.wordpress == "" {
		return nil, usageErrorf("name the directory of WordPress, such as --wordpress /var/www/html")
	}
	if err := requireWordPress(c.wordpress); err != nil {
		return nil, err
	}
	directory := c.content
	if directory == "" {
		named, err := wpconfig.ContentDir(c.wordpress)
		if err != nil {
			return nil, failf(exitFailure, err, "find the directory with the plugins in wp-config.php: %v; --content names it", err)
		}
		directory = cmp.Or(named, filepath.Join(c.wordpress, "wp-content"))
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, failf(exitFailure, err, "open the directory with the plugins: %v; --content names another", err)
	}
	for _, name := range []string{mustUseFolder, path.Dir(pluginFolder)} {
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = failf(exitFailure, err, "open %s: %v; if it is a link that leads elsewhere, upload the file that \"companion zip\" writes",
				filepath.Join(directory, name), err)
			return nil, errors.Join(err, root.Close())
		}
	}
	return &companionSite{root: root, path: directory}, nil
}

// The first version of WordPress that the companion runs on.
const minMajor, minMinor = 6, 1

// wpVersion matches the version in wp-includes/version.php.
var wpVersion = regexp.MustCompile(`(?m)^\$wp_version\s*=\s*'((\d+)\.(\d+)[^']*)'`)

// requireWordPress checks that a directory has a WordPress on which the companion runs.
// WordPress itself does not check this for must-use plugins.
func requireWordPress(directory string) error {
	file := filepath.Join(directory, "wp-includes", "version.php")
	content, err := os.ReadFile(file)
	if err != nil {
		return failf(exitFailure, err, "there is no WordPress in %s: %v", directory, err)
	}
	found := wpVersion.FindSubmatch(content)
	if found == nil {
		return failf(exitFailure, nil, "there is no version of WordPress in %s", file)
	}
	major, _ := strconv.Atoi(string(found[2])) // digits
	minor, _ := strconv.Atoi(string(found[3]))
	if major < minMajor || major == minMajor && minor < minMinor {
		return failf(exitFailure, nil, "WordPress in %s is version %s; the companion needs %d.%d or later", directory, found[1], minMajor, minMinor)
	}
	return nil
}

// withCompanion calls use with the site that the flags name.
func withCompanion(options companionFlags, use func(*companionSite) error) (err error) {
	site, err := options.open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, site.root.Close()) }()
	return use(site)
}

// failChanged is the failure of a command that would lose changes of others.
func failChanged(site *companionSite, changed []string) error {
	return failf(exitFailure, nil, "files in %s are not as Bookside installed them:\n  %s\nNothing was done. Look at them, and repeat the command with --force to lose the changes.",
		site.path, strings.Join(changed, "\n  "))
}

// failPlacing is the failure of a command that cannot write or remove files.
func failPlacing(verb string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return failf(exitFailure, err, "%s the companion: %v; run the command as root or as the owner of the files", verb, err)
	}
	return fmt.Errorf("%s the companion: %w", verb, err)
}

// withUnchangedCompanion is withCompanion for a command that overwrites or removes files: it
// fails if somebody has changed them, unless it is forced to go on.
func withUnchangedCompanion(options companionFlags, force bool, use func(site *companionSite, ours companion, there comparison) error) error {
	return withCompanion(options, func(site *companionSite) error {
		ours, err := companionToInstall()
		if err != nil {
			return err
		}
		there, err := site.compare(ours)
		if err != nil {
			return err
		}
		if changed := there.in(fileChanged); len(changed) > 0 && !force {
			return failChanged(site, changed)
		}
		return use(site, ours, there)
	})
}

func (p *program) installCompanion(flags *flag.FlagSet) action {
	var options companionFlags
	options.define(flags)
	force := flags.Bool("force", false, "overwrite files that somebody has changed")
	return func(context.Context, []string) error {
		return withUnchangedCompanion(options, *force, func(site *companionSite, ours companion, there comparison) error {
			written, err := site.install(ours, there)
			if err != nil {
				return failPlacing("install", err)
			}
			if written == 0 {
				return p.print(fmt.Sprintf("The companion %s is installed already.\n", ours.version))
			}
			return p.print(fmt.Sprintf("Installed the companion %s in %s.\nActivate the plugin Bookside in wp-admin, under Plugins, to see its pages.\n", ours.version, site.path))
		})
	}
}

func (p *program) removeCompanion(flags *flag.FlagSet) action {
	var options companionFlags
	options.define(flags)
	force := flags.Bool("force", false, "remove files that somebody has changed, too")
	return func(context.Context, []string) error {
		return withUnchangedCompanion(options, *force, func(site *companionSite, _ companion, there comparison) error {
			removed, err := site.remove(there)
			if err != nil {
				return failPlacing("remove", err)
			}
			if removed == 0 {
				return p.print("There is no companion in " + site.path + ".\n")
			}
			return p.print("Removed the companion from " + site.path + ".\n")
		})
	}
}

func (p *program) companionStatus(flags *flag.FlagSet) action {
	var options companionFlags
	options.define(flags)
	return func(ctx context.Context, _ []string) error {
		return withCompanion(options, func(site *companionSite) error {
			bring, how := companionToInstall, ""
			if site.uploaded() {
				bring, how = companionToUpload, ", as an uploaded plugin"
			}
			ours, err := bring()
			if err != nil {
				return err
			}
			there, err := site.compare(ours)
			if err != nil {
				return err
			}
			return p.print(describeCompanion(site, ours, there, how) + p.describeServer(ctx, options.wordpress))
		})
	}
}

// describeServer says whether the server that answers at admin.listen serves the WordPress in a
// directory. Whatever keeps it from being known is no failure: the files are what was asked for.
func (p *program) describeServer(ctx context.Context, wordpress string) string {
	c, err := readConfig(p.env, configFlags{})
	if err != nil {
		return fmt.Sprintf("The server is not known: %v\n", err)
	}
	server := findServer(ctx, c.Admin.Listen, "")
	if server == nil {
		return "No server answers at " + c.Admin.Listen + " (admin.listen).\n"
	}
	c.WordPress.Config, c.DB.DSN, c.DB.Prefix = wpconfig.Locate(wordpress), "", ""
	if server.own, err = p.fingerprint(ctx, c); err != nil {
		return fmt.Sprintf("A server answers at %s; it is not known whether it serves this site: %v\n", server.address, err)
	}
	return "The server at " + server.address + " " + server.site() + ".\n"
}

// fingerprint returns that of the site in a configured database.
func (p *program) fingerprint(ctx context.Context, c config) (fingerprint string, err error) {
	_, db, err := openSite(ctx, c)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return session.NewPlatform(db, p.now).Fingerprint(ctx)
}

// describeCompanion says what is in a site; how says in which way it came there.
func describeCompanion(site *companionSite, ours companion, there comparison, how string) string {
	absent := len(there.in(fileMissing))
	if absent == len(ours.files) && len(there.files) == absent {
		return fmt.Sprintf("There is no companion in %s. This program brings version %s.\n", site.path, ours.version)
	}
	text := fmt.Sprintf("Installed: %s%s\nThis program brings: %s\n", cmp.Or(there.version, "unknown version"), how, ours.version)
	rows := [][]string{}
	for _, name := range there.names() {
		if state := there.files[name]; state != fileCurrent {
			rows = append(rows, []string{"  " + name, string(state)})
		}
	}
	if len(rows) == 0 {
		return text + "All files are as this program brings them.\n"
	}
	return text + "These files are not as this program brings them:\n" + columns(rows)
}

func (p *program) zipCompanion(flags *flag.FlagSet) action {
	return func(_ context.Context, operands []string) error {
		ours, err := companionToUpload()
		if err != nil {
			return err
		}
		if err := ours.writeZip(operands[0]); err != nil {
			return fmt.Errorf("write the ZIP file: %w", err)
		}
		return p.print(fmt.Sprintf("Wrote the companion %s to %s.\n", ours.version, operands[0]))
	}
}
