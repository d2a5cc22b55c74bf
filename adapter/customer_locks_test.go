package adapter

import (
	"fmt"
	"testing"
)

// TestLocksOfContacts: an address has the lock of its CRC-32, in lower case; a phone number has one only
// where it identifies customers.
func TestLocksOfContacts(t *testing.T) {
	t.Parallel()
	email, phone := "Rita.Neu@Example.test", "+49 30 1234567"
	sent := CustomerFields{Email: &email, Phone: &phone}
	address := lockOf(contactLock, 1335545754)
	if got := locksOfContacts(customerRules{}, sent); fmt.Sprint(got) != fmt.Sprint([]lock{address}) {
		t.Errorf("by e-mail: %v, want %v", got, address)
	}
	if got := locksOfContacts(customerRules{contact: contactPhone}, sent); len(got) != 2 || got[0] != address {
		t.Errorf("by phone: %v", got)
	}
}
