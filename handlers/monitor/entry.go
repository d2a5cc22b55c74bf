package monitor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Entry is one line of a report. It names no customer.
type Entry struct {
	Code  Code      `json:"code"`
	Level Level     `json:"level"`
	Text  Sentence  `json:"text"`
	Do    Sentence  `json:"do,omitzero"`    // what to do about it; zero if nothing needs to be done
	Since time.Time `json:"since,omitzero"` // of the first item
	Items []Item    `json:"items,omitempty"`
}

// Level says how good it is.
type Level int

// The levels.
const (
	Good  Level = iota
	Minor       // it works, but somebody should look at it
	Broken
)

var levelNames = []string{Good: "good", Minor: "minor", Broken: "broken"}

func (l Level) String() string { return levelNames[l] }

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (l *Level) UnmarshalText(name []byte) error {
	for level, known := range levelNames {
		if known == string(name) {
			*l = Level(level)
			return nil
		}
	}
	return fmt.Errorf("no level %q", name)
}

// Code says what an entry is about.
type Code string

// The codes. Work that goes well has the name of its kind as code.
const (
	Database       Code = "database"
	Connection     Code = "connection"
	Clock          Code = "clock"
	Durability     Code = "durability"
	Cluster        Code = "cluster"
	OneNode        Code = "locks_on_one_node"
	PrivilegesGood Code = "privileges"
	ReadsRefused   Code = "reads_refused"
	OwnRefused     Code = "own_tables_refused"
	ReadsHidden    Code = "tables_hidden"
	PasswordsRead  Code = "passwords_readable"
	Plugin         Code = "plugin"
	TimeZone       Code = "time_zone"
	OwnTables      Code = "own_tables"
	KeysGood       Code = "keys"
	KeysWeak       Code = "keys_weak"
	KeysExpiring   Code = "keys_expiring"
	Companion      Code = "companion"
	Language       Code = "language"
	AgentOrder     Code = "agent_order"
	DefaultStatus  Code = "default_status"
	Overlaps       Code = "overlaps"
	WrongEnds      Code = "wrong_ends"
	Indexes        Code = "indexes"

	ChangesGood      Code = "changes"
	ChangesLate      Code = "changes_late"
	RestoredUnder    Code = "restored_under"
	WritesGood       Code = "writes"
	WritesRefused    Code = "writes_refused"
	JobsGood         Code = "jobs"
	JobsUnscheduled  Code = "jobs_unscheduled"
	JobsLate         Code = "jobs_late"
	WebhooksGood     Code = "webhooks"
	WebhooksFailing  Code = "webhooks_failing"
	WebhooksDisabled Code = "webhooks_disabled"

	ExtensionsGood       Code = "extensions"
	ExtensionsIgnored    Code = "extensions_ignored"
	ExtensionsUnanswered Code = "extensions_unanswered"
	ExtensionsFailed     Code = "extensions_failed"
	ExtensionsLate       Code = "extensions_late"

	// Only check knows these.
	Server Code = "running_server"
	Redis  Code = "redis"
)

// Words is the code for people.
func (c Code) Words() string { return strings.ReplaceAll(string(c), "_", " ") }

// Stops reports whether the site cannot be served because of an entry.
func (e Entry) Stops() bool {
	return e.Level == Broken && e.Code != ChangesLate && e.Code != RestoredUnder
}

// Item is one of the items that an entry counts.
type Item struct {
	ID   int64  `json:"id"`
	Name string `json:"name,omitempty"` // with what is known of it
}

func (i Item) String() string {
	if i.Name == "" {
		return strconv.FormatInt(i.ID, 10)
	}
	return fmt.Sprintf("%d (%s)", i.ID, i.Name)
}

const (
	// ItemLimit bounds the items of an entry: "more than 100" is precise enough.
	ItemLimit = 101
	// Named is how many of them are named in a text.
	Named = 10
)

// Count says how many items there are.
func (e Entry) Count() Sentence {
	if len(e.Items) >= ItemLimit {
		return Say("more than %d", ItemLimit-1)
	}
	return Say("%d", len(e.Items))
}

// String is the text of an entry, its first items, and what to do.
func (e Entry) String() string {
	text := e.Text.String()
	for i, item := range e.Items[:min(len(e.Items), Named)] {
		separator := ", "
		if i == 0 {
			separator = ": "
		}
		text += separator + item.String()
	}
	if len(e.Items) > Named {
		text += ", and more"
	}
	if e.Do.Format != "" {
		text += ". " + e.Do.String()
	}
	return text
}
