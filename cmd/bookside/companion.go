package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

// companionFlags name the site of a companion.
type companionFlags struct{ wordpress, content string }

func (c *companionFlags) define(flags *pflag.FlagSet) {
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
			return nil, exit.Errorf(exit.Failure, err, "find the directory with the plugins in wp-config.php: %v; --content names it", err)
		}
		directory = cmp.Or(named, filepath.Join(c.wordpress, "wp-content"))
	}
	root, err := os.OpenRoot(directory)
	if err != nil {
		return nil, exit.Errorf(exit.Failure, err, "open the directory with the plugins: %v; --content names another", err)
	}
	for _, name := range []string{mustUseFolder, path.Dir(pluginFolder)} {
		if _, err := root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			err = exit.Errorf(exit.Failure, err, "open %s: %v; if it is a link that leads elsewhere, upload the file that \"companion zip\" writes",
				filepath.Join(directory, name), err)
			return nil, errors.Join(err, root.Close())
		}
	}
	return &companionSite{root: root, path: directory}, nil
}

// The oldest version of WordPress that the companion runs on.
const minMajor, minMinor = 6, 1

// wpVersion matches the version in wp-includes/version.php.
var wpVersion = regexp.MustCompile(`(?m)^\$wp_version\s*=\s*'((\d+)\.(\d+)[^']*)'`)

// requireWordPress checks that a directory contains a WordPress that the companion runs on. WordPress
// itself does not check this for must-use plugins.
func requireWordPress(directory string) error {
	file := filepath.Join(directory, "wp-includes", "version.php")
	content, err := os.ReadFile(file)
	if err != nil {
		return exit.Errorf(exit.Failure, err, "there is no WordPress in %s: %v", directory, err)
	}
	found := wpVersion.FindSubmatch(content)
	if found == nil {
		return exit.Errorf(exit.Failure, nil, "there is no version of WordPress in %s", file)
	}
	major, _ := strconv.Atoi(string(found[2])) // digits
	minor, _ := strconv.Atoi(string(found[3]))
	if major < minMajor || major == minMajor && minor < minMinor {
		return exit.Errorf(exit.Failure, nil, "WordPress in %s is version %s; the companion needs %d.%d or later", directory, found[1], minMajor, minMinor)
	}
	return nil
}

// withCompanion calls use with the site named by the flags.
func withCompanion(options companionFlags, use func(*companionSite) error) (err error) {
	site, err := options.open()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, site.root.Close()) }()
	return use(site)
}

// failChanged is the error of a command that would lose others' changes.
func failChanged(site *companionSite, changed []string) error {
	return exit.Errorf(exit.Failure, nil, "files in %s are not as Bookside installed them:\n  %s\nNothing was done. Look at them, and repeat the command with --force to lose the changes.",
		site.path, strings.Join(changed, "\n  "))
}

// failPlacing is the error of a command that cannot write or remove files.
func failPlacing(verb string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return exit.Errorf(exit.Failure, err, "%s the companion: %v; run the command as root or as the owner of the files", verb, err)
	}
	return fmt.Errorf("%s the companion: %w", verb, err)
}

// withUnchangedCompanion is withCompanion for a command that overwrites or removes files: it fails if the
// files were changed by others, unless forced.
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
