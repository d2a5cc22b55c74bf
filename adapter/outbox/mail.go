package outbox

import (
	"net/mail"
	"strings"
	"unicode"

	"github.com/bookside/bookside/adapter/sanitize"
)

// Mail is a rendered notification.
type Mail struct {
	// To lists one or more recipients in the format of the plugin's processes, such as Jane Doe
	// <jane@example.com>, office@example.com.
	To      string
	Subject string
	Content string // HTML
	// Calendar is a calendar file to attach; its name is empty for none.
	Calendar Attachment
}

// Attachment is a file attached to a mail.
type Attachment struct{ Name, Content string }

// Recipients returns the recipients in To, each address once. Invalid addresses are left out, so there may
// be none. Commas separate recipients; text before a comma that is not a recipient belongs to the next
// one's name, as in Doe, Jane <...>.
func (m Mail) Recipients() []mail.Address {
	var found []mail.Address
	var name []string // the parts since the last address
	seen := map[string]bool{}
	for part := range strings.SplitSeq(m.To, ",") {
		shown, address, bracketed := splitRecipient(part)
		if !sanitize.ValidEmail(address) {
			name = append(name, shown)
			if bracketed {
				name = nil // the name of a recipient without a valid address
			}
			continue
		}
		if bracketed {
			shown = strings.Join(append(name, shown), ", ")
		}
		name = nil
		if key := strings.ToLower(address); !seen[key] {
			seen[key] = true
			found = append(found, mail.Address{Name: unquoted(shown), Address: address})
		}
	}
	return found
}

// splitRecipient splits Name <address>. A text without brackets is an address or
// part of a name.
func splitRecipient(text string) (name, address string, bracketed bool) {
	text = oneLine(text)
	start := strings.LastIndexByte(text, '<')
	if start < 0 || !strings.HasSuffix(text, ">") {
		if sanitize.ValidEmail(text) {
			return "", text, false
		}
		return text, "", false
	}
	return strings.TrimSpace(text[:start]), strings.TrimSpace(text[start+1 : len(text)-1]), true
}

// unquoted returns a name without quotes around it.
func unquoted(text string) string { return strings.TrimSpace(strings.Trim(text, `"`)) }

// oneLine replaces line breaks and control characters with spaces, so that a text cannot add header lines
// to a mail.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
