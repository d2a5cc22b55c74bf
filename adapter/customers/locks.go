package customers

import (
	"hash/crc32"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// LocksOfContacts returns the locks for the sent contacts that others may want too: an e-mail address
// always, because it may also belong to a WordPress user, and a phone number if it identifies customers.
// Invalid contacts have no lock, because they are never stored.
func LocksOfContacts(rules Rules, sent records.CustomerFields) []session.Lock {
	var contacts []string
	if address := text.TrimEmail(domain.ValueOr(sent.Email, "")); text.ValidEmail(address) {
		contacts = append(contacts, strings.ToLower(address))
	}
	if number := text.Phone(domain.ValueOr(sent.Phone, "")); number != "" && rules.Contact == contactPhone {
		contacts = append(contacts, number)
	}
	locks := make([]session.Lock, len(contacts))
	for i, contact := range contacts {
		locks[i] = session.LockOf(session.ContactLock, int64(crc32.ChecksumIEEE([]byte(contact))))
	}
	return locks
}
