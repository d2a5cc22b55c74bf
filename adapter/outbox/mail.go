package outbox

import (
	"net/mail"
	"strings"
	"unicode"

	"bookside/adapter/sanitize"
)

// Mail is a rendered notification.
type Mail struct {
	// To names one or more recipients as the plugin's processes do, such as
	// Jane Doe <jane@example.com>, office@example.com.
	To      string
	Subject string
	Content string // HTML
	// Calendar is a calendar file to attach; its name is empty for none.
	Calendar Attachment
}

// Attachment is a file that comes with a mail.
type Attachment struct{ Name, Content string }

// Recipients returns the people named in To, each address once. What is no address
// is left out, so there may be none. A comma parts recipients, unless what
// stands before it is none: then it belongs to the next one's name.
func (m Mail) Recipients() []mail.Address {
	var found []mail.Address
	var name []string // what came since the last address
	seen := map[string]bool{}
	for part := range strings.SplitSeq(m.To, ",") {
		shown, address, bracketed := splitRecipient(part)
		if !sanitize.ValidEmail(address) {
			name = append(name, shown)
			if bracketed {
				name = nil // of somebody without an address
			}
			continue
		}
		if bracketed {
			shown = strings.Join(append(name, shown), ", ")
		}
		name = nil
		if key := strings.ToLower(address); !seen[key] {
			seen[key] = true
			found = append(found, mail.Address{Name: shownName(shown), Address: address})
		}
	}
	return found
}

// splitRecipient parts Name <address>. Without brackets the whole may be an
// address, or else a piece of a name.
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

// shownName takes off the quotes of a name.
func shownName(text string) string { return strings.TrimSpace(strings.Trim(text, `"`)) }

// oneLine keeps a text from ending the line of a mail's head that it stands in.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
