package page

import (
	"fmt"
	"io"
	"strings"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
)

// The layouts of dates and times.
const (
	LongDate  Text = "Monday, 2 January 2006"
	DateTime  Text = "2006-01-02 15:04"
	ClockTime Text = "15:04"
)

// dateNames are the names in dates, long ones before those that they begin with.
var dateNames = []Text{
	"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun",
	"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
	"Jan", "Feb", "Mar", "Apr", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
}

// Date is a date or a time in the zone that it has.
type Date struct {
	at     time.Time
	layout Text
}

// NewDate returns a date in a layout of package time, which is translated, too.
func NewDate(at time.Time, layout Text) Date { return Date{at, layout} }

// For implements Phrase.
func (d Date) For(r Reader) string {
	text := d.at.Format(d.layout.For(r))
	if r.Texts == nil {
		return text
	}
	var pairs []string
	for _, name := range dateNames {
		if strings.Contains(text, string(name)) {
			pairs = append(pairs, string(name), name.For(r))
		}
	}
	if len(pairs) == 0 {
		return text
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// Render implements Node.
func (d Date) Render(w io.Writer) error { return render(w, d) }

// zone is the zone in which times are shown.
func (r Reader) zone() *time.Location {
	if r.Zone == nil {
		return time.UTC
	}
	return r.Zone
}

// ZoneHint names the zone of all times on the page.
func ZoneHint() g.Node {
	return h.P(h.Class("hint"), g.NodeFunc(func(w io.Writer) error {
		r := readerOf(w)
		if r.Zone == nil {
			return Text("Times are in UTC.").Render(w)
		}
		return Textf("Times are those of the site, in %s.", r.Zone).Render(w)
	}))
}

// Time shows an instant in the site's zone.
func Time(at time.Time) g.Node { return TimeIn(at, DateTime) }

// TimeIn shows an instant in the site's zone, in a layout of package time.
func TimeIn(at time.Time, layout Text) g.Node {
	return g.NodeFunc(func(w io.Writer) error { return TimeAs(at, NewDate(at.In(readerOf(w).zone()), layout)).Render(w) })
}

// TimeAs shows an instant as a phrase, with UTC in a tooltip.
func TimeAs(at time.Time, as Phrase) g.Node {
	utc := at.UTC()
	return h.Time(h.DateTime(utc.Format(time.RFC3339Nano)), Attr("title", Textf("%s UTC", NewDate(utc, DateTime))), as)
}

// Stamp shows a stored time, or the given word for none.
func Stamp(t domain.Timestamp, none Text) g.Node {
	at, ok := t.Time()
	if !ok {
		return none
	}
	return Time(at)
}

// Ago says how long ago something was.
func Ago(age time.Duration) Phrase {
	switch {
	case age < 10*time.Second:
		return Text("just now")
	case age < time.Minute:
		return Textf("%s seconds ago", int(age.Seconds()))
	case age < time.Hour:
		return Count(int(age.Minutes()), "%d minute ago", "%d minutes ago")
	case age < 48*time.Hour:
		return Count(int(age.Hours()), "%d hour ago", "%d hours ago")
	case age < 90*24*time.Hour:
		return Count(int(age.Hours()/24), "%d day ago", "%d days ago")
	default:
		return Count(int(age.Hours()/24/30), "%d month ago", "%d months ago")
	}
}

// Clock formats a minute of a day or of the next one.
func Clock(minute int) string {
	return fmt.Sprintf("%02d:%02d", minute/60%24, minute%60)
}
