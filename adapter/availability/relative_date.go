package availability

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// applyRelativeDate applies a relative date to an instant, as PHP's DateTime::modify does in the instant's
// zone. It supports the part of PHP's grammar that sites use for booking bounds: "+2 hours", "+1 week 2
// days", "3 days ago", "next month", "tomorrow 9am", "friday", "2026-11-27", "2026-11-27 14:30". A plain
// date keeps the time of day. ok is false if the text cannot be parsed.
func applyRelativeDate(now time.Time, expression string) (instant time.Time, ok bool) {
	rest := strings.ToLower(strings.TrimSpace(expression))
	if rest == "" {
		return now, false
	}
	c := relativeDate{date: now}
	for rest != "" {
		word, known := c.read(rest)
		if !known {
			return now, false
		}
		rest = strings.TrimLeft(rest[len(word):], " ,\t")
	}
	return c.apply(now), true
}

// relativeDate is a parsed expression. PHP applies its parts in this order, whatever the
// order of the words.
type relativeDate struct {
	date                time.Time
	clock               *time.Duration // since midnight; nil keeps the time of day
	years, months, days int
	weekday             *time.Weekday // the next such day, possibly the same
	shift               time.Duration // hours and smaller units
}

// maxAmount keeps sums of amounts far from overflow. No booking is that far away.
const maxAmount = 1_000_000

var relativeDateForms = []struct {
	form *regexp.Regexp
	read func(c *relativeDate, groups []string) (known bool)
}{
	{regexp.MustCompile(`^(\d{4}-\d{1,2}-\d{1,2})(?:t|\b)`), (*relativeDate).readDate},
	{regexp.MustCompile(`^(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?(?: ?([ap])m)?\b`), (*relativeDate).readClock},
	{regexp.MustCompile(`^(\d{1,2})()() ?([ap])m\b`), (*relativeDate).readClock},
	{regexp.MustCompile(`^([+-]?)[ \t]*(\d{1,7})[ \t]*(sec|second|min|minute|hour|day|week|fortnight|month|year)s?\b`), (*relativeDate).readAmount},
	{regexp.MustCompile(`^(next|last|previous) (second|minute|hour|day|month|year)\b`), (*relativeDate).readNeighbour},
	{regexp.MustCompile(`^(mon|tue|wed|thu|fri|sat|sun)(?:day|sday|nesday|rsday|urday)?\b`), (*relativeDate).readWeekday},
	{regexp.MustCompile(`^(now|today|midnight|noon|tomorrow|yesterday|ago)\b`), (*relativeDate).readWord},
}

// read parses the words at the start of text and returns them.
func (c *relativeDate) read(text string) (token string, known bool) {
	for _, w := range relativeDateForms {
		if m := w.form.FindStringSubmatch(text); m != nil {
			return m[0], w.read(c, m[1:])
		}
	}
	return "", false
}

func (c *relativeDate) readDate(groups []string) bool {
	date, err := time.Parse("2006-1-2", groups[0])
	c.date = date
	return err == nil
}

func (c *relativeDate) readClock(groups []string) bool {
	hours, minutes, seconds, half := number(groups[0]), number(groups[1]), number(groups[2]), groups[3]
	if minutes > 59 || seconds > 60 || hours > 24 || half != "" && (hours < 1 || hours > 12) {
		return false
	}
	if half != "" {
		hours %= 12
	}
	if half == "p" {
		hours += 12
	}
	clock := time.Duration(hours)*time.Hour + time.Duration(minutes)*time.Minute + time.Duration(seconds)*time.Second
	c.clock = &clock
	return true
}

func (c *relativeDate) readAmount(groups []string) bool {
	amount := number(groups[1])
	if groups[0] == "-" {
		amount = -amount
	}
	return c.add(amount, groups[2])
}

func (c *relativeDate) readNeighbour(groups []string) bool {
	if groups[0] == "next" {
		return c.add(1, groups[1])
	}
	return c.add(-1, groups[1])
}

func (c *relativeDate) readWeekday(groups []string) bool {
	weekday := weekdays[groups[0]]
	c.weekday, c.clock = &weekday, new(time.Duration)
	return true
}

var weekdays = map[string]time.Weekday{
	"sun": time.Sunday, "mon": time.Monday, "tue": time.Tuesday, "wed": time.Wednesday,
	"thu": time.Thursday, "fri": time.Friday, "sat": time.Saturday,
}

func (c *relativeDate) readWord(groups []string) bool {
	switch groups[0] {
	case "now":
		return true
	case "ago":
		c.years, c.months, c.days, c.shift = -c.years, -c.months, -c.days, -c.shift
		return true
	}
	clock := time.Duration(0)
	switch groups[0] {
	case "noon":
		clock = 12 * time.Hour
	case "tomorrow":
		c.days++
	case "yesterday":
		c.days--
	}
	c.clock = &clock
	return true
}

func (c *relativeDate) add(amount int, unit string) bool {
	if amount > maxAmount || amount < -maxAmount {
		return false
	}
	switch unit {
	case "sec", "second":
		c.shift += time.Duration(amount) * time.Second
	case "min", "minute":
		c.shift += time.Duration(amount) * time.Minute
	case "hour":
		c.shift += time.Duration(amount) * time.Hour
	case "day":
		c.days += amount
	case "week":
		c.days += 7 * amount
	case "fortnight":
		c.days += 14 * amount
	case "month":
		c.months += amount
	case "year":
		c.years += amount
	}
	return true
}

// apply moves the wall clock, by hours too. A time that a spring change skips is moved
// forward by the skipped hour.
func (c *relativeDate) apply(now time.Time) time.Time {
	year, month, day := c.date.Date()
	hour, minute, second := now.Clock()
	if c.clock != nil {
		hour, minute, second = 0, 0, int(c.clock.Seconds())
	}
	wall := time.Date(year+c.years, month+time.Month(c.months), day+c.days, hour, minute, second, 0, time.UTC)
	if c.weekday != nil {
		wall = wall.AddDate(0, 0, int(*c.weekday-wall.Weekday()+7)%7)
	}
	return atWall(wall.Add(c.shift), now.Location())
}

// atWall returns the instant at which a clock in the zone shows the time of wall, which is in UTC. For a
// skipped time, time.Date could go back instead of forward.
func atWall(wall time.Time, loc *time.Location) time.Time {
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	instant := time.Date(year, month, day, hour, minute, second, 0, loc)
	_, offset := instant.Zone()
	if short := wall.Sub(instant.Add(time.Duration(offset) * time.Second)); short > 0 {
		return instant.Add(short)
	}
	return instant
}

// number parses digits. No digits are 0.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
