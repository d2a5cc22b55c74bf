package sanitize

import (
	"testing"

	"bookside/fixtures"
)

// TestAsRecorded: every text becomes what it became in a real WordPress.
func TestAsRecorded(t *testing.T) {
	t.Parallel()
	texts, _ := fixtures.Sanitized(t)
	for _, text := range texts {
		t.Run(text.In, func(t *testing.T) {
			t.Parallel()
			if got := TextField(text.In); got != text.TextField {
				t.Errorf("as one line %q, want %q", got, text.TextField)
			}
			if got := TextareaField(text.In); got != text.TextareaField {
				t.Errorf("as lines %q, want %q", got, text.TextareaField)
			}
		})
	}
}

// TestEmailsAsRecorded: an address is taken where a real WordPress took it. It
// would store that address as it is: what sanitize_email would have to change is
// taken by neither.
func TestEmailsAsRecorded(t *testing.T) {
	t.Parallel()
	_, emails := fixtures.Sanitized(t)
	for _, email := range emails {
		if got := IsEmail(email.In); got != email.Valid() {
			t.Errorf("%q is an address: %t", email.In, got)
		}
		if email.Valid() && email.SanitizeEmail != email.In {
			t.Errorf("%q would be stored as %q", email.In, email.SanitizeEmail)
		}
	}
}
