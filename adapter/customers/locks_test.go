package customers

import (
	"fmt"
	"testing"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
)

// TestLocksOfContacts: an address has the lock of its CRC-32, in lower case; a phone number has one only if
// it identifies customers.
func TestLocksOfContacts(t *testing.T) {
	t.Parallel()
	email, phone := "Rita.Neu@Example.test", "+49 30 1234567"
	sent := records.CustomerFields{Email: &email, Phone: &phone}
	address := session.LockOf(session.ContactLock, 1335545754)
	if got := LocksOfContacts(Rules{}, sent); fmt.Sprint(got) != fmt.Sprint([]session.Lock{address}) {
		t.Errorf("by e-mail: %v, want %v", got, address)
	}
	if got := LocksOfContacts(Rules{Contact: contactPhone}, sent); len(got) != 2 || got[0] != address {
		t.Errorf("by phone: %v", got)
	}
}
