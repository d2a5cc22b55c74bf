package page

import (
	"fmt"
	"strconv"
	"time"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
)

// ScreenReaderText is text that only screen readers see.
func ScreenReaderText(text string) g.Node { return h.Span(h.Class("visually-hidden"), g.Text(text)) }

// TakesFocus makes an element take the focus when the page opens.
func TakesFocus() g.Node { return g.Group{h.TabIndex("-1"), h.AutoFocus()} }

// Alert shows a problem with the whole page; "" for none.
func Alert(problem string) g.Node {
	return g.If(problem != "", h.P(h.Class("problem"), h.Role("alert"), TakesFocus(), g.Text(problem)))
}

// Done says what was just done; "" for nothing.
func Done(text string) g.Node {
	return g.If(text != "", h.P(h.Class("done"), h.Role("status"), TakesFocus(), g.Text(text)))
}

// Secret shows a secret, with a button that copies it.
func Secret(label, secret string) g.Node {
	return h.Div(h.Class("field secret"),
		h.Label(h.For("secret"), g.Text(label)),
		h.Div(h.Class("copy"),
			h.Textarea(h.ID("secret"), h.Class("code"), h.Rows("2"), h.ReadOnly(), h.AutoFocus(), h.AutoComplete("off"), g.Attr("spellcheck", "false"), g.Text(secret)),
			h.Button(h.Type("button"), h.Class("main"), h.ID("copy"), g.Attr("hidden"), g.Text("Copy")),
		),
		h.P(h.Class("hint"), h.ID("copied"), h.Role("status")),
	)
}

// UTC is a time in UTC, for machines and for people; the zero value is none.
type UTC struct{ Machine, Text string }

// NewUTC returns a stored time.
func NewUTC(t domain.Timestamp) UTC {
	instant, ok := t.Time()
	if !ok {
		return UTC{}
	}
	return UTC{instant.Format("2006-01-02T15:04:05Z"), instant.Format("2006-01-02 15:04")}
}

// View shows the time, or the given word for none.
func (t UTC) View(none string) g.Node {
	if t.Text == "" {
		return g.Text(none)
	}
	return h.Time(h.DateTime(t.Machine), g.Text(t.Text))
}

// Time shows an instant by a text in the site's zone, with UTC in a tooltip.
func Time(at time.Time, text string) g.Node {
	return h.Time(h.DateTime(at.UTC().Format(time.RFC3339)), h.Title(at.UTC().Format("2006-01-02 15:04")+" UTC"), g.Text(text))
}

// Ago says how long ago something was.
func Ago(age time.Duration) string {
	switch {
	case age < 10*time.Second:
		return "just now"
	case age < time.Minute:
		return fmt.Sprintf("%d seconds ago", int(age.Seconds()))
	case age < time.Hour:
		return Count(int(age.Minutes()), "minute", "minutes") + " ago"
	case age < 48*time.Hour:
		return Count(int(age.Hours()), "hour", "hours") + " ago"
	case age < 90*24*time.Hour:
		return Count(int(age.Hours()/24), "day", "days") + " ago"
	default:
		return Count(int(age.Hours()/24/30), "month", "months") + " ago"
	}
}

// Clock formats a minute of a day or of the next one.
func Clock(minute int) string {
	return fmt.Sprintf("%02d:%02d", minute/60%24, minute%60)
}

// Count formats a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
