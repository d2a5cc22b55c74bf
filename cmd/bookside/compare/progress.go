package compare

import (
	"fmt"
	"time"
)

// Line returns the progress for a terminal.
func (p Progress) Line() string {
	if p.Planned == 0 {
		return "reading " + p.Waiting
	}
	text := fmt.Sprintf("%d of %d compared, %d differ", p.Done, p.Planned, p.Differing)
	if p.Left > 0 {
		text += ", about " + leftText(p.Left) + " left"
	}
	if p.Waiting != "" {
		text += "; waiting " + p.Waiting
	}
	return text
}

// leftText rounds a duration for people.
func leftText(d time.Duration) string {
	switch {
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", (d+30*time.Minute)/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", (d+30*time.Second)/time.Minute)
	default:
		return fmt.Sprintf("%d seconds", (d+time.Second/2)/time.Second)
	}
}
