// Package extensions is the catalogue of what is added to LatePoint on a site: the extensions that
// Bookside knows by name, and what becomes of each of their parts when a booking is made beside
// PHP.
package extensions

import "strings"

// Kind says what becomes of a part of an extension.
type Kind string

// The kinds.
const (
	Understood    Kind = "understood"     // Bookside does the same
	RunAfterwards Kind = "run_afterwards" // the companion has WordPress do it right after the change is stored
	TakesNoPart   Kind = "takes_no_part"  // it changes nothing of what the API reads and writes
	NotHonoured   Kind = "not_honoured"   // the site does it, the API does not
)

// Words are those of people for a kind.
func (k Kind) Words() string { return strings.ReplaceAll(string(k), "_", " ") }

// Subject is what a part of an extension is about.
type Subject string

// The subjects. The first four decide how a request is answered.
const (
	Times      Subject = "times"      // which are offered
	Prices     Subject = "prices"     // what a booking costs
	Acceptance Subject = "acceptance" // whether a booking is accepted
	Records    Subject = "records"    // what is stored with it
	Messages   Subject = "messages"   // what stands in them
	Reactions  Subject = "reactions"  // what happens afterwards
	Pages      Subject = "pages"      // of the site, and nothing else
)

// Decides reports whether a part about the subject decides how a request is answered.
func (s Subject) Decides() bool {
	return s == Times || s == Prices || s == Acceptance || s == Records
}

// Extension is a plugin that is known by name.
type Extension struct {
	// ID is the name that LatePoint knows an add-on by: that of its folder and, with .php, of its
	// file. A * stands for any rest.
	ID    string
	Title string
	Parts []Part
}

// Part is one thing that an extension does.
type Part struct {
	Subject Subject
	Kind    Kind
	// Setting is that of the plugin which must be on for this part; empty if none switches it.
	Setting string
	// Means says in one sentence what this means for the API.
	Means string
}

// File is the file of the plugin with an id, whatever its folder is called.
func File(id string) string { return id + ".php" }

// VersionOption is the option with the version of the tables of the add-on with an id
// (OsDatabaseHelper::save_addon_info).
func VersionOption(id string) string { return id + "_addon_db_version" }

// The ids of extensions that Bookside has rules for.
const (
	ProFeatures     = "latepoint-pro-features"
	GoogleCalendar  = "latepoint-google-calendar"
	OutlookCalendar = "latepoint-outlook-calendar"
	AppleCalendar   = "latepoint-apple-calendar"
	Zoom            = "latepoint-zoom"
)
