package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"

	"github.com/bookside/bookside/adapter/journal"
	"github.com/bookside/bookside/wpdb"
)

// fingerprintDigits is how many digits of the hash a fingerprint has.
const fingerprintDigits = 16

// Fingerprint distinguishes the site from all others, copies included, so that two programs can find out
// whether they see the same one. It is made from a random id, so it reveals nothing about the site. It is
// "" until a server has drawn that id. The companion computes the same in PHP, see includes/sidecar.php.
func (p *Platform) Fingerprint(ctx context.Context) (string, error) {
	id, database, err := journal.SiteID(ctx, p.DB)
	if errors.Is(err, wpdb.ErrSchema) { // our tables do not exist yet
		return "", nil
	}
	if err != nil || id == "" {
		return "", err
	}
	options, err := p.DB.OptionValues(ctx, "siteurl")
	if err != nil {
		return "", err
	}
	return fingerprintOf(id, wpdb.PlainText(options["siteurl"]), database, p.DB.FullName(wpdb.Options)), nil
}

// fingerprintOf hashes the id with what differs in a copy of the site.
func fingerprintOf(id, siteURL, database, options string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{id, siteURL, strings.ToLower(database), options}, "\n")))
	return hex.EncodeToString(sum[:])[:fingerprintDigits]
}
