package session

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/availability"
)

// Date is a calendar day in the site's zone, YYYY-MM-DD as stored, or "" for a NULL column. 0000-00-00
// occurs.
type Date string

// Time returns local midnight of the date. ok is false if there is no such date.
func (d Date) Time(loc *time.Location) (t time.Time, ok bool) {
	t, err := time.ParseInLocation(time.DateOnly, string(d), loc)
	return t, err == nil
}

// Day returns the date without the time that some servers append to it in a UNION.
func (d Date) Day() Date { return d[:min(len(d), len(time.DateOnly))] }

// Minutes is a time of day in the site's zone, in minutes after midnight. The end of a
// day is 1440.
type Minutes = availability.Minutes

// Zone is the site's time zone under the name that the site shows: an IANA name, or an
// offset such as +05:30.
type Zone struct {
	Name     string
	Location *time.Location
}

// Named reports whether the zone has an IANA name.
func (z Zone) Named() bool { return !strings.HasPrefix(z.Name, "+") && !strings.HasPrefix(z.Name, "-") }

// zones caches loaded locations: zone data does not change while the process runs.
type zones struct{ loaded sync.Map }

// find mirrors OsTimeHelper::get_wp_timezone, LatePoint 5.6.5: the option timezone_string as PHP's DateTimeZone
// reads it, otherwise gmt_offset, and UTC if there is no such zone.
func (z *zones) find(name, gmtOffset string) Zone {
	if name == "" {
		return offsetZone(gmtOffset)
	}
	if known, ok := z.loaded.Load(name); ok {
		return known.(Zone)
	}
	text := strings.TrimLeft(name, " \t")
	zone, fixed := fixedZone(text)
	if !fixed {
		zone.Name = zoneName(text)
		var err error
		if zone.Location, err = time.LoadLocation(zone.Name); err != nil || text == "" || zone.Name == "Local" {
			return Zone{Name: "UTC", Location: time.UTC}
		}
	}
	z.loaded.Store(name, zone)
	return zone
}

// offsetZone mirrors the plugin's rounding: hours are truncated towards zero and carry
// the sign, so that -0.5 becomes +00:30.
func offsetZone(gmtOffset string) Zone {
	hours, err := strconv.ParseFloat(strings.TrimSpace(gmtOffset), 64)
	if err != nil || math.IsNaN(hours) || math.Abs(hours) > 24 {
		hours = 0
	}
	whole, fraction := math.Modf(hours)
	minutes := int(math.Round(math.Abs(fraction) * 60))
	name := fmt.Sprintf("%+03d:%02d", int(whole), minutes)
	seconds := int(whole) * 3600
	if whole < 0 {
		seconds -= minutes * 60
	} else {
		seconds += minutes * 60
	}
	return Zone{Name: name, Location: time.FixedZone(name, seconds)}
}

// Clock returns the zone's wall clock.
func (z Zone) Clock() availability.Clock { return availability.Clock{Zone: z.Location} }

// Instant returns the instant at which a clock in the zone shows the date and minutes; see
// availability.Clock. ok is false if there is no such date.
func (z Zone) Instant(date Date, minutes Minutes) (instant time.Time, ok bool) {
	day, ok := availability.ParseDay(string(date))
	if !ok {
		return time.Time{}, false
	}
	return z.Clock().Instant(availability.Moment{Day: day, Minutes: minutes}), true
}
