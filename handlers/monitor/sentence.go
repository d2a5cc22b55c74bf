package monitor

import (
	"fmt"
	"strings"
	"time"
)

// Sentence is a text for people with values in it. The console translates its format, in which %s and %d
// stand for values. A value may be a sentence itself, or a Moment.
type Sentence struct {
	Format string
	Values []any
}

// Say returns a sentence. Formats are constants where it is called, so that they can be collected.
func Say(format string, values ...any) Sentence { return Sentence{format, values} }

// list separates sentences by commas.
func list(parts []Sentence) Sentence {
	values := make([]any, len(parts))
	for i, part := range parts {
		values[i] = part
	}
	return Say(strings.TrimPrefix(strings.Repeat(", %s", len(parts)), ", "), values...)
}

// String returns the sentence in English.
func (s Sentence) String() string { return fmt.Sprintf(s.Format, s.Values...) }

// MarshalText implements encoding.TextMarshaler, in English.
func (s Sentence) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sentence) UnmarshalText(text []byte) error {
	*s = Say("%s", string(text))
	return nil
}

// Moment is an instant in a sentence, in UTC.
type Moment struct{ time.Time }

func (m Moment) String() string { return m.UTC().Format(time.DateTime) }
