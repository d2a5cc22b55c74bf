package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/domain"
)

func (p *program) removeCompanion() *cobra.Command {
	command := &cobra.Command{
		Use:   "remove",
		Short: "remove the companion from WordPress",
		Long: `Removes the files of the companion from a WordPress site. A file that somebody has changed stays as
it is, and nothing is removed, unless --force is given. In the site's database, which wp-config.php
names, it notes that the companion is gone, so that the server no longer waits for it.`,
	}
	flags := command.Flags()
	var options companionFlags
	options.define(flags)
	force := flags.Bool("force", false, "remove files that somebody has changed, too")
	command.RunE = func(command *cobra.Command, _ []string) error {
		return withUnchangedCompanion(options, *force, func(site *companionSite, _ companion, there comparison) error {
			removed, err := site.remove(there)
			if err != nil {
				return failPlacing("remove", err)
			}
			text := "Removed the companion from " + site.path + ".\n"
			if removed == 0 {
				text = "There is no companion in " + site.path + ".\n"
			}
			if err := p.noteCompanion(command.Context(), options.wordpress, ""); err != nil {
				text += fmt.Sprintf("The site's database cannot be told: %v\nFor three days the server goes by what the companion reported last, and deletes no booking that a plugin has to be told about. To make it forget:\n", err) +
					"  wp option delete " + domain.OptionCompanion + "\n"
			}
			return p.print(text)
		})
	}
	return command
}
