package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/bookside/bookside/adapter/keys"
)

func (p *program) importKey() *cobra.Command {
	command := &cobra.Command{
		Use:   "import",
		Short: "import a key that clients already use",
		Long: `Reads a key that another program issued from the standard input and stores its hash, so that
clients can keep using it:

  bookside keys import --name shop --permissions read < key.txt

It must have 16 to 255 printable characters without spaces. A key that is shorter, or would be if a row such
as 12345 counted as one character, has fewer than 6 different characters or repeats a shorter text can
be guessed. Such a key is accepted only with --weak: give its clients a new one from keys create soon,
and revoke it.`,
	}
	flags := p.configFlags(command)
	options := defineAttributes(flags, keys.NewAttributes)
	weak := flags.Bool("weak", false, "import the key even if it can be guessed")
	command.RunE = func(command *cobra.Command, _ []string) error {
		ctx := command.Context()
		n, err := parseNewKey(options, p.now())
		if err != nil {
			return err
		}
		secret, err := p.readSecret()
		if err != nil {
			return err
		}
		return p.withNewKeys(ctx, func(store keyStore) error {
			if err := options.resolveChoices(ctx, p, store.db, &n); err != nil {
				return err
			}
			n.CreatedBy = p.creator()
			key, err := store.Import(ctx, secret, n, *weak)
			if errors.Is(err, keys.ErrWeakKey) {
				return fmt.Errorf("%w; create a new one for its clients with keys create, or import it with --weak", err)
			}
			if err != nil {
				return err
			}
			text := "Imported.\n" + describeKey(key)
			if keys.WeakSecret(secret) {
				text += "It can be guessed: give its clients a new one from keys create soon, and revoke it.\n"
			}
			return p.print(text)
		})
	}
	return command
}

// readSecret reads a key from standard input, because all users of the machine
// can see a program's arguments.
func (p *program) readSecret() (string, error) {
	const limit = 4096 // far beyond any key
	content, err := io.ReadAll(io.LimitReader(p.stdin, limit))
	if err != nil {
		return "", fmt.Errorf("read the key from the standard input: %w", err)
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", usageErrorf("the standard input is empty; pass the key there")
	}
	return secret, nil
}
