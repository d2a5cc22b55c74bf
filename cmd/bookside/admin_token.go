package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"net"
	"slices"

	"bookside/adapter/keys"
	"bookside/wpdb"
)

const aboutAdminToken = `Prints a token that opens the page for API keys, /keys at admin.listen of the running server. It
works once, within ten minutes, for every server on this database; only a hash of it is stored.
The login lasts an hour.

Where the server is another machine, bring its address to this one first:

  ssh -L 8081:127.0.0.1:8081 SERVER`

func (p *program) adminToken(flags *flag.FlagSet) action {
	var given configFlags
	given.define(flags)
	quiet := flags.Bool("quiet", false, "print the token and nothing else")
	return func(ctx context.Context, _ []string) error {
		c, err := readConfig(p.env, given)
		switch {
		case err != nil:
			return err
		case !c.Admin.KeysPage || c.Admin.Listen == "":
			return failf(exitFailure, nil, "the page is switched off: admin.keys_page (%s) is false, or admin.listen empty", envName("admin.keys_page"))
		}
		return p.withOwnTables(ctx, given, wpdb.AdminTokens, func(db *wpdb.DB) error {
			token, err := keys.NewAdminTokens(db, p.now, rand.Reader).Issue(ctx)
			if err != nil {
				return err
			}
			if *quiet {
				return p.print(token + "\n")
			}
			return p.print(fmt.Sprintf("%s\n\nOpen http://%s/keys and enter it within %.0f minutes. It works once.\n",
				token, dialable(c.Admin.Listen), keys.LoginTokenLife.Minutes()))
		})
	}
}

// adminHosts are the names under which the admin address may be asked.
func (c config) adminHosts() []string {
	hosts := c.Admin.Hosts
	if host, _, err := net.SplitHostPort(c.Admin.Listen); err == nil && host != "" {
		hosts = append(slices.Clip(hosts), host)
	}
	return hosts
}
