package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

var completedShells = []string{"bash", "fish", "powershell", "zsh"}

func (p *program) completion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "print a completion script for bash, fish, powershell or zsh",
		Long: `Prints a script that lets a shell (bash, fish, PowerShell or zsh) complete commands, flags and
settings, and the site's agents, services, locations and keys if it may read the
configuration. The packages install it. Elsewhere:

  bookside completion bash > /etc/bash_completion.d/bookside
  bookside completion zsh > /usr/local/share/zsh/site-functions/_bookside
  bookside completion fish > ~/.config/fish/completions/bookside.fish
  bookside completion powershell >> $PROFILE

The script for bash needs the package bash-completion.`,
		ValidArgs: completedShells,
		RunE: func(command *cobra.Command, operands []string) error {
			switch root := command.Root(); operands[0] {
			case "bash":
				return root.GenBashCompletionV2(p.stdout, true)
			case "fish":
				return root.GenFishCompletion(p.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(p.stdout)
			case "zsh":
				return root.GenZshCompletion(p.stdout)
			default:
				return usageErrorf("SHELL: write %s", strings.Join(completedShells, ", "))
			}
		},
	}
}

// complete defines what shells offer for the operands and flags of a command.
func (p *program) complete(c *cobra.Command) {
	if c.ValidArgs == nil {
		c.ValidArgsFunction = p.completed(c.Parent().Name(), operandsOf(c))
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		operand, _ := pflag.UnquoteUsage(f)
		_ = c.RegisterFlagCompletionFunc(f.Name, p.completed(f.Name, operand)) // fails for flags that do not exist
	})
}

// completed returns what offers the values of a flag, or of the operand of a command in a group; operand is
// its word in the help.
func (p *program) completed(name, operand string) cobra.CompletionFunc {
	switch strings.Trim(operand, "[…]") {
	case "FILE", "FILES", "PATH":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveDefault
		}
	case "DIRECTORY":
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		}
	case "KEY=VALUE":
		return func(*cobra.Command, []string, string) (offered []string, _ cobra.ShellCompDirective) {
			for _, s := range settings.All {
				offered = append(offered, cobra.CompletionWithDesc(s.Key+"=", s.About))
			}
			return offered, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
	}
	return func(c *cobra.Command, operands []string, typed string) (offered []string, _ cobra.ShellCompDirective) {
		isFlag := c.Flags().Lookup(name) != nil
		if names := siteNames[name]; names != nil && (isFlag || len(operands) == 0) {
			before := typed[:strings.LastIndexByte(typed, ',')+1] // the earlier elements of a list
			for _, known := range p.ask(c.Context(), names) {
				offered = append(offered, before+known)
			}
		}
		return offered, cobra.ShellCompDirectiveNoFileComp
	}
}

// siteNames are what the database knows about a site, by the flag or the group of commands that names it.
var siteNames = map[string]func(context.Context, *program, *wpdb.DB) ([]string, error){
	"agent": choices(domain.AgentResource), "agents": choices(domain.AgentResource),
	"location": choices(domain.LocationResource), "locations": choices(domain.LocationResource),
	"services": choices(domain.ServiceResource),
	"keys":     keyIDs,
}

func offer(id int64, name string) string {
	return cobra.CompletionWithDesc(strconv.FormatInt(id, 10), name)
}

func choices(resource domain.Resource) func(context.Context, *program, *wpdb.DB) ([]string, error) {
	return func(ctx context.Context, p *program, db *wpdb.DB) (offered []string, err error) {
		site, err := session.NewPlatform(db, p.now).Session(ctx)
		if err != nil {
			return nil, err
		}
		list, err := slots.Choices(ctx, site, resource)
		for _, c := range list {
			offered = append(offered, offer(c.ID, c.Name))
		}
		return offered, err
	}
}

func keyIDs(ctx context.Context, p *program, db *wpdb.DB) (offered []string, err error) {
	list, err := keys.NewStore(db, p.now, nil).List(ctx)
	for _, k := range list {
		offered = append(offered, offer(k.ID, k.Name))
	}
	return offered, err
}

// askTimeout is how long a user who has pressed a key waits for names.
const askTimeout = time.Second

// ask queries the site for names. It offers none if the site cannot be reached at once, for whatever
// reason.
func (p *program) ask(ctx context.Context, names func(context.Context, *program, *wpdb.DB) ([]string, error)) (offered []string) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	_, _, db, err := p.open(ctx)
	if err != nil {
		return nil
	}
	offered, err = names(ctx, p, db)
	if closed := db.Close(); err != nil || closed != nil {
		return nil
	}
	return offered
}
