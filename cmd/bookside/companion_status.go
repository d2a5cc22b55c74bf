package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
	"github.com/bookside/bookside/wpdb/wpconfig"
)

func (p *program) companionStatus() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "compare the companion in WordPress with that of this program",
		Long: `Shows the version of the companion in a WordPress site and the one in this program, which files
differ, and whether the server that answers at admin.listen serves this site.`,
	}
	flags := command.Flags()
	var options companionFlags
	options.define(flags)
	command.RunE = func(command *cobra.Command, _ []string) error {
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
			return p.print(describeCompanion(site, ours, there, how) + p.describeServer(command.Context(), options.wordpress))
		})
	}
	return command
}

// describeServer says whether the server at admin.listen serves the WordPress in a directory. If that
// cannot be found out, it is not an error: the command is about the files.
func (p *program) describeServer(ctx context.Context, wordpress string) string {
	c, err := p.config()
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

// noteCompanion stores in the site of the WordPress in a directory that the companion is there in a version, "" if it is
// gone, where WordPress has ever noted that itself.
func (p *program) noteCompanion(ctx context.Context, wordpress, version string) (err error) {
	c, err := p.config()
	if err != nil {
		return err
	}
	c.WordPress.Config, c.DB.DSN = wpconfig.Locate(wordpress), ""
	_, db, err := openSite(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if version != "" {
		version += " " + strconv.FormatInt(p.now().Unix(), 10)
	}
	return db.UpdateOwnOption(ctx, domain.OptionCompanion, wpdb.PHPText(version))
}

// fingerprint returns the fingerprint of the site in a configured database.
func (p *program) fingerprint(ctx context.Context, c settings.Config) (fingerprint string, err error) {
	_, db, err := openSite(ctx, c)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	return session.NewPlatform(db, p.now).Fingerprint(ctx)
}

// describeCompanion says what is installed in a site; how says in which way.
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
