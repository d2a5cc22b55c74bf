package main

import (
	"github.com/spf13/cobra"
)

func (p *program) removeCompanion() *cobra.Command {
	command := &cobra.Command{
		Use:   "remove",
		Short: "remove the companion from WordPress",
		Long: `Removes the files of the companion from a WordPress site. A file that somebody has changed stays as
it is, and nothing is removed, unless --force is given.`,
	}
	flags := command.Flags()
	var options companionFlags
	options.define(flags)
	force := flags.Bool("force", false, "remove files that somebody has changed, too")
	command.RunE = func(_ *cobra.Command, _ []string) error {
		return withUnchangedCompanion(options, *force, func(site *companionSite, _ companion, there comparison) error {
			removed, err := site.remove(there)
			if err != nil {
				return failPlacing("remove", err)
			}
			if removed == 0 {
				return p.print("There is no companion in " + site.path + ".\n")
			}
			return p.print("Removed the companion from " + site.path + ".\n" +
				"WordPress still has what it noted about extensions, and the server goes by that: no booking is deleted while a plugin was listening. To make it forget:\n" +
				"  wp option delete bookside_companion_events bookside_companion_extensions bookside_companion_seen\n")
		})
	}
	return command
}
