package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) installCompanion() *cobra.Command {
	command := &cobra.Command{
		Use:   "install",
		Short: "install Bookside's companion in WordPress",
		Long: `Installs the companion in a WordPress site: a must-use plugin, which makes WordPress take Bookside's
locks and enter its changes into the journal, and an ordinary plugin with pages in wp-admin, which an
administrator activates under Plugins. Installing again updates both.

The files get the owner and the permissions of the directory around them; run the command as root or
as their owner. A file that somebody has changed stays as it is, and nothing is installed, unless
--force is given.`,
	}
	flags := command.Flags()
	var options companionFlags
	options.define(flags)
	force := flags.Bool("force", false, "overwrite files that somebody has changed")
	command.RunE = func(command *cobra.Command, _ []string) error {
		return withUnchangedCompanion(options, *force, func(site *companionSite, ours companion, there comparison) error {
			written, err := site.install(ours, there)
			if err != nil {
				return failPlacing("install", err)
			}
			// Where the database is out of reach, WordPress notes within a day that the companion is there.
			_ = p.noteCompanion(command.Context(), options.wordpress, ours.version)
			if written == 0 {
				return p.print(fmt.Sprintf("The companion %s is installed already.\n", ours.version))
			}
			return p.print(fmt.Sprintf("Installed the companion %s in %s.\nActivate the plugin Bookside in wp-admin, under Plugins, to see its pages.\n", ours.version, site.path))
		})
	}
	return command
}
