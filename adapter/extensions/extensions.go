package extensions

import (
	"path"
	"strings"
)

// Kind says how a part of an extension is treated.
type Kind string

// The kinds.
const (
	Understood    Kind = "understood"     // Bookside does the same
	AskedFor      Kind = "asked"          // WordPress is asked through the companion, before a response
	RunAfterwards Kind = "run_afterwards" // the companion has WordPress do it right after the change is stored
	TakesNoPart   Kind = "takes_no_part"  // it does not affect what the API reads and writes
	NotHonoured   Kind = "not_honoured"   // the site does it, the API does not
)

// Words returns the kind in words.
func (k Kind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Subject is what a part of an extension is about.
type Subject string

// The subjects. The first four decide how a request is answered.
const (
	Times      Subject = "times"      // which are offered
	Prices     Subject = "prices"     // what a booking costs
	Acceptance Subject = "acceptance" // whether a booking is accepted
	Records    Subject = "records"    // what is stored with it
	Messages   Subject = "messages"   // their content
	Reactions  Subject = "reactions"  // what happens afterwards
	Pages      Subject = "pages"      // the site's pages, and nothing else
)

// Decides reports whether parts about this subject affect how a request is answered.
func (s Subject) Decides() bool {
	return s == Times || s == Prices || s == Acceptance || s == Records
}

// Extension is a plugin that Bookside knows by name.
type Extension struct {
	// ID is LatePoint's name for the add-on: that of its folder and, with .php, of its file. A * stands for
	// any rest.
	ID    string
	Title string
	Parts []Part
}

// Part is one thing that an extension does.
type Part struct {
	Subject Subject
	Kind    Kind
	// Setting is the plugin's setting that must be on for this part; empty if there is no such switch.
	Setting string
	// Means says in one sentence what this means for the API.
	Means string
}

// File returns the file of the plugin with an id; its folder may have any name.
func File(id string) string { return id + ".php" }

// VersionOption returns the option with the version of an add-on's tables, given its id
// (OsDatabaseHelper::save_addon_info).
func VersionOption(id string) string { return id + "_addon_db_version" }

// The ids of extensions that Bookside has rules for.
const (
	ProFeatures     = "latepoint-pro-features"
	GoogleCalendar  = "latepoint-google-calendar"
	OutlookCalendar = "latepoint-outlook-calendar"
	AppleCalendar   = "latepoint-apple-calendar"
	Zoom            = "latepoint-zoom"
	LinkedServices  = "latepoint-linked-services"
	payments        = "latepoint-payments-" // and the name of who processes them
)

// PaymentProcessor returns the plugin's word for who processes the payments of an add-on, given its file, such as stripe for
// latepoint-payments-stripe/latepoint-payments-stripe.php; ok is false for other plugins.
func PaymentProcessor(file string) (code string, ok bool) {
	code, ok = strings.CutPrefix(strings.TrimSuffix(path.Base(file), ".php"), payments)
	return strings.ReplaceAll(code, "-", "_"), ok
}
