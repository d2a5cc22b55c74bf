package text

import (
	"regexp"
	"strings"
)

// UserName returns a name as WordPress stores it for a user (the filters
// pre_user_first_name, pre_user_last_name and pre_user_display_name): escaped for HTML,
// and without backslashes, which the plugin does not protect. Unlike there, an allowed
// tag with blanks, such as < b >, keeps its blanks.
func UserName(name string) string {
	name = controls.ReplaceAllString(stripSlashes(Field(name)), "")
	name = spacedTags.ReplaceAllStringFunc(name, func(tag string) string {
		if allowedTag.MatchString(tag) {
			return tag
		}
		return ""
	})
	return escape(name, unquoted)
}

var (
	// controls are the characters that wp_kses removes.
	controls = regexp.MustCompile(`[\x00-\x08\x0B\x0C\x0E-\x1F]`)
	// spacedTags matches what wp_kses treats as a tag and Field does not.
	spacedTags = regexp.MustCompile(`<[^>]*>`)
	allowedTag = regexp.MustCompile(`^(?i:<\s*/?\s*(?:a|abbr|acronym|b|blockquote|cite|code|del|em|i|q|s|strike|strong)\b)[^-]`)
)

// stripSlashes removes the backslashes that quote a byte (stripslashes in PHP).
func stripSlashes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			if i++; i == len(text) {
				break
			}
			if text[i] == '0' {
				b.WriteByte(0)
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// UserLogin returns an e-mail address in the form that WordPress allows as a login (sanitize_user, strict).
func UserLogin(email string) string {
	login := octets.ReplaceAllString(email, "")
	login = entities.ReplaceAllString(login, "")
	return trim(notInLogin.ReplaceAllString(login, ""))
}

var (
	octets     = regexp.MustCompile(`%[a-fA-F0-9]{2}`)
	entities   = regexp.MustCompile(`&.+?;`)
	notInLogin = regexp.MustCompile(`[^a-zA-Z0-9 _.@-]`)
)
