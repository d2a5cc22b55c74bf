package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func (p *program) zipCompanion() *cobra.Command {
	command := &cobra.Command{
		Use:   "zip FILE",
		Short: "write the companion as a plugin to upload in wp-admin",
		Long: `Writes the companion as a ZIP file for sites whose files you cannot access: upload it in wp-admin under
Plugins, Add New, Upload Plugin. It does the same as the installed one, except that it cannot forward
requests before WordPress has loaded its plugins.`,
	}
	command.RunE = func(_ *cobra.Command, operands []string) error {
		ours, err := companionToUpload()
		if err != nil {
			return err
		}
		if err := ours.writeZip(operands[0]); err != nil {
			return fmt.Errorf("write the ZIP file: %w", err)
		}
		return p.print(fmt.Sprintf("Wrote the companion %s to %s.\n", ours.version, operands[0]))
	}
	return command
}
