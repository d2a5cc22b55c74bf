package masks

import (
	"regexp"
	"strings"
)

// Known says what of a request is the API's own.
type Known struct {
	Name  func(name string) bool        // whether the API has a parameter or a field of that name, or of a similar one
	Word  func(word string) bool        // whether it is a word that the API reads, such as approved
	Value func(name, value string) bool // whether a parameter's value has the form of that parameter
}

// Request masks what people typed into a request. Query and Body come before Message, which masks what they masked.
type Request struct {
	Known
	typed  []string // what was masked
	unread bool     // the body was masked as a whole
}

// mask masks a text, and remembers it.
func (r *Request) mask(text string) string {
	r.typed = append(r.typed, text)
	return Text(text)
}

var (
	// fieldName matches the names of fields and parameters, such as customer[email] or hours.monday.0.
	fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.\[\]-]{0,63}$`)
	// unnamedPart matches parts of such a name that are neither fields nor parameters: positions in lists, and custom fields.
	unnamedPart = regexp.MustCompile(`^([0-9]{1,3}|cf_[A-Za-z0-9]{1,20})$`)
)

// Field returns the name of a field or a parameter, masked unless the API has it or a similar one.
func (r *Request) Field(name string) string {
	if name == "" || r.isField(name) {
		return name
	}
	return Text(name)
}

func (r *Request) isField(name string) bool {
	for part := range strings.FieldsFuncSeq(name, func(c rune) bool { return strings.ContainsRune(".[]", c) }) {
		if !unnamedPart.MatchString(part) && !r.Name(part) {
			return false
		}
	}
	return fieldName.MatchString(name)
}

// quoted matches what messages repeat of a request: quoted words, and anything with an @.
var quoted = regexp.MustCompile(`"[^"]*"|\S*@\S*`)

// Message returns the message of an error without what it repeats of the request.
func (r *Request) Message(message string) string {
	if r.unread {
		return Text(message)
	}
	message = quoted.ReplaceAllString(message, Text("x"))
	for _, text := range r.typed {
		words := strings.Fields(text)
		if len(words) == 0 || !strings.Contains(strings.ToLower(message), strings.ToLower(words[0])) {
			continue // mostly, and cheaper than the expression
		}
		for i := range words {
			words[i] = regexp.QuoteMeta(words[i])
		}
		whole := regexp.MustCompile(`(?i)(^|[^\pL\pN])` + strings.Join(words, `\s+`) + `([^\pL\pN]|$)`)
		message = whole.ReplaceAllString(message, "${1}"+Text("x")+"${2}")
	}
	return message
}
