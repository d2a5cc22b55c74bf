package text

import "strings"

// Texts are the translations of the plugin's texts, by the English original. A text
// without one stays as it is, so nil is English.
type Texts map[string]string

// Of returns the translation of one of the plugin's texts, as __() does.
func (t Texts) Of(original string) string {
	if translated, ok := t[original]; ok {
		return translated
	}
	return original
}

// months are the names that occur in dates. If two match, the longer one is found first.
var months = []string{
	"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
	"Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
}

// Date translates the names of months in a date. Those of weekdays stay English
// (OsUtilHelper::translate_months, LatePoint 5.6.5).
func (t Texts) Date(date string) string {
	if len(t) == 0 {
		return date
	}
	var pairs []string
	for _, month := range months {
		pairs = append(pairs, month, t.Of(month))
	}
	return strings.NewReplacer(pairs...).Replace(date)
}

// FormatOf returns the original of which a sentence was made elsewhere, such as an error, and the values in the places of its
// %s: the longest that fits. It returns "" if none does.
func (t Texts) FormatOf(sentence string) (format string, values []string) {
	for original := range t {
		if len(original) < len(format) || !strings.Contains(original, "%s") {
			continue
		}
		if found, fits := valuesIn(sentence, strings.Split(original, "%s")); fits && (len(original) > len(format) || original < format) {
			format, values = original, found
		}
	}
	return format, values
}

// fewWords is the length of the words in formats that are mostly values, such as "%s of %s": they would fit everything.
const fewWords = 10

// valuesIn returns what of a sentence stands between the parts of a format.
func valuesIn(sentence string, parts []string) (values []string, fits bool) {
	rest, begins := strings.CutPrefix(sentence, parts[0])
	if !begins || len(strings.TrimSpace(strings.Join(parts, ""))) < fewWords {
		return nil, false
	}
	for i, part := range parts[1:] {
		at := strings.Index(rest, part)
		if i == len(parts)-2 {
			at = len(rest) - len(part) // the last part ends the sentence
		}
		if at < 1 || !strings.HasPrefix(rest[at:], part) {
			return nil, false
		}
		values = append(values, rest[:at])
		rest = rest[at+len(part):]
	}
	return values, true
}
