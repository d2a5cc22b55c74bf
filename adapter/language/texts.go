package language

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
