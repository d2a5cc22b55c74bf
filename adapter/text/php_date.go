package text

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FormatDate formats a time in its zone as PHP's date_format does, with English names. A
// lone backslash at the end of the format is dropped.
func FormatDate(t time.Time, phpFormat string) string {
	var b strings.Builder
	for i := 0; i < len(phpFormat); i++ {
		switch letter := phpFormat[i]; {
		case letter != '\\':
			b.WriteString(formatLetter(t, letter))
		case i+1 < len(phpFormat):
			i++
			b.WriteByte(phpFormat[i])
		}
	}
	return b.String()
}

// layouts are the format letters that Go's layouts cover.
var layouts = map[byte]string{
	'd': "02", 'D': "Mon", 'j': "2", 'l': "Monday", 'F': "January", 'm': "01", 'M': "Jan", 'n': "1",
	'a': "pm", 'A': "PM", 'g': "3", 'h': "03", 'H': "15", 'i': "04", 's': "05", 'O': "-0700", 'P': "-07:00",
}

func formatLetter(t time.Time, letter byte) string {
	if layout, ok := layouts[letter]; ok {
		return t.Format(layout)
	}
	switch letter {
	case 'N', 'S', 'w', 'z', 'W', 't', 'L', 'o', 'Y', 'y', 'x', 'X':
		return formatDay(t, letter)
	case 'B', 'G', 'u', 'v', 'U':
		return formatClock(t, letter)
	case 'e', 'I', 'p', 'T', 'Z':
		return formatZone(t, letter)
	case 'c':
		return fmt.Sprintf("%04d", t.Year()) + t.Format("-01-02T15:04:05-07:00")
	case 'r':
		return t.Format("Mon, 02 Jan ") + fmt.Sprintf("%04d", t.Year()) + t.Format(" 15:04:05 -0700")
	default:
		return string([]byte{letter}) // any byte, even of a longer character
	}
}

func formatDay(t time.Time, letter byte) string {
	isoYear, isoWeek := t.ISOWeek()
	switch letter {
	case 'N':
		return strconv.Itoa((int(t.Weekday())+6)%7 + 1)
	case 'S':
		return ordinal(t.Day())
	case 'w':
		return strconv.Itoa(int(t.Weekday()))
	case 'z':
		return strconv.Itoa(t.YearDay() - 1)
	case 'W':
		return fmt.Sprintf("%02d", isoWeek)
	case 't':
		return strconv.Itoa(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day())
	case 'L':
		return flag(time.Date(t.Year(), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366)
	case 'o':
		return strconv.Itoa(isoYear)
	case 'y':
		return fmt.Sprintf("%02d", t.Year()%100)
	default:
		return formatYear(t.Year(), letter)
	}
}

// formatYear formats a year with at least four digits: Y without a plus, X with a plus, x
// with a plus if there are more than four.
func formatYear(year int, letter byte) string {
	switch {
	case year < 0:
		return fmt.Sprintf("-%04d", -year)
	case letter == 'X', letter == 'x' && year > 9999:
		return fmt.Sprintf("+%04d", year)
	default:
		return fmt.Sprintf("%04d", year)
	}
}

func formatClock(t time.Time, letter byte) string {
	switch letter {
	case 'B':
		return fmt.Sprintf("%03d", swatchBeat(t))
	case 'G':
		return strconv.Itoa(t.Hour())
	case 'u':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'v':
		return fmt.Sprintf("%03d", t.Nanosecond()/1_000_000)
	default:
		return strconv.FormatInt(t.Unix(), 10)
	}
}

func formatZone(t time.Time, letter byte) string {
	abbreviation, seconds := t.Zone()
	name := t.Location().String()
	isOffset := strings.HasPrefix(name, "+") || strings.HasPrefix(name, "-")
	switch letter {
	case 'e':
		return name
	case 'I':
		return flag(t.IsDST())
	case 'p':
		if seconds == 0 && (isOffset || abbreviation == "UTC") {
			return "Z"
		}
		return t.Format("-07:00")
	case 'T':
		if isOffset {
			return "GMT" + t.Format("-0700")
		}
		return abbreviation
	default:
		return strconv.Itoa(seconds)
	}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// ordinal returns the English suffix of a day of the month.
func ordinal(day int) string {
	switch {
	case day/10 == 1:
		return "th"
	case day%10 == 1:
		return "st"
	case day%10 == 2:
		return "nd"
	case day%10 == 3:
		return "rd"
	default:
		return "th"
	}
}

// swatchBeat returns the Swatch Internet Time, in thousandths of a day.
func swatchBeat(t time.Time) int {
	biel := t.UTC().Add(time.Hour)
	seconds := biel.Hour()*3600 + biel.Minute()*60 + biel.Second()
	return seconds * 1000 / 86400
}
