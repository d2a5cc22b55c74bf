package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/server"
)

// verifiedDays is the default number of days to compare.
const verifiedDays = 20

func (p *program) verify() *cobra.Command {
	command := &cobra.Command{
		Use:   "verify",
		Short: "compare free times and prices of the site itself with those of the API",
		Long: `Takes random days in the next two months, and each service with each of its agents (a random selection
if there are more than a hundred pairs), asks WordPress, with all its plugins, for the free times and
for the price of a booking, and compares them with the API's. It writes no booking.

It needs the companion. It prints each difference with service, agent and day, and the extensions that
may be the reason. With the seed that it prints, another run takes the same days.`,
	}
	p.configFlags(command)
	flags := command.Flags()
	days := flags.Int("days", verifiedDays, "number of days, at most 60")
	seed := flags.Uint64("seed", 0, "seed of the random choice; 0 for another one each time")
	command.RunE = func(command *cobra.Command, _ []string) error {
		if *days < 1 || *days > 60 {
			return usageErrorf("--days: write a number from 1 to 60")
		}
		if *seed == 0 {
			*seed = rand.Uint64N(1_000_000) + 1
		}
		return p.verifySite(command.Context(), *days, *seed)
	}
	return command
}

func (p *program) verifySite(ctx context.Context, days int, seed uint64) (err error) {
	c, t, db, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	platform := server.NewPlatform(c, db, p.now)
	site, err := platform.Session(ctx)
	if err != nil {
		return t.Explain(err)
	}
	found, err := bookings.Verify(ctx, site, server.NewAsker(c, platform), rand.New(rand.NewPCG(seed, 0)), days)
	if err != nil {
		return t.ExplainPrivilege(ctx, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Compared %d days of services and agents, and %d prices (--seed %d).\n", found.Days, found.Prices, seed)
	if len(found.Different) == 0 {
		b.WriteString("The API answers as the site does.\n")
		return p.print(b.String())
	}
	if err := writeDifferences(ctx, &b, site, found.Different); err != nil {
		return t.ExplainPrivilege(ctx, err)
	}
	return errors.Join(p.print(b.String()), exit.Errorf(exit.Different, nil, "the API and the site differ in %d answers", len(found.Different)))
}

// writeDifferences writes each difference, with the extensions that may be the
// reason.
func writeDifferences(ctx context.Context, b *strings.Builder, site *session.Session, different []bookings.Difference) error {
	labels, err := slots.LoadLabels(ctx, site)
	if err != nil {
		return err
	}
	for _, d := range different {
		fmt.Fprintf(b, "%s, service %s, agent %s: %s\n", d.Day, labels.Text(domain.ServiceResource, []int64{d.Service}), labels.Text(domain.AgentResource, []int64{d.Agent}), d.Text)
	}
	active, err := site.Extensions(ctx)
	if err != nil {
		return err
	}
	var deciding []extensions.Active
	for _, a := range active {
		for _, part := range a.Parts {
			if (part.Subject == extensions.Times || part.Subject == extensions.Prices) && part.Kind != extensions.TakesNoPart {
				deciding = append(deciding, a)
				break
			}
		}
	}
	if len(deciding) > 0 {
		b.WriteString("What may be the reason: " + extensions.Titles(deciding) + "; see bookside check\n")
	}
	return nil
}
