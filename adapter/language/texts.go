package language

import (
	"fmt"
	"strings"
)

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

// Sentence returns the translation of a sentence that was put together elsewhere, such as an error: that of the longest format
// in which something in the place of each %s makes this sentence. Without one, it stays as it is.
func (t Texts) Sentence(sentence string) string {
	best, found := "", []string(nil)
	for format := range t {
		if len(format) < len(best) || !strings.Contains(format, "%s") {
			continue
		}
		if values, fits := valuesIn(sentence, strings.Split(format, "%s")); fits && (len(format) > len(best) || format < best) {
			best, found = format, values
		}
	}
	if best == "" {
		return sentence
	}
	translated := t[best]
	for i, value := range found {
		translated = strings.ReplaceAll(translated, fmt.Sprintf("%%%d$s", i+1), t.Of(value))
		translated = strings.Replace(translated, "%s", t.Of(value), 1)
	}
	return translated
}

// valuesIn returns what of a sentence stands between the parts of a format, of which all but a few letters are values in others.
func valuesIn(sentence string, parts []string) (values []string, fits bool) {
	rest, fits := strings.CutPrefix(sentence, parts[0])
	if len(strings.TrimSpace(strings.Join(parts, ""))) < 10 {
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
	return values, fits
}
