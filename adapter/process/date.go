package process

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// FormatDate writes a time as PHP's date() does.
func FormatDate(t time.Time, format string) string {
	var b strings.Builder
	letters := []rune(format)
	for i := 0; i < len(letters); i++ {
		if letters[i] == '\\' && i+1 < len(letters) {
			i++
			b.WriteRune(letters[i])
			continue
		}
		b.WriteString(formatLetter(t, letters[i]))
	}
	return b.String()
}

// layouts are the letters that Go's own layouts know.
var layouts = map[rune]string{
	'd': "02", 'D': "Mon", 'j': "2", 'l': "Monday", 'F': "January", 'm': "01", 'M': "Jan", 'n': "1", 'y': "06",
	'a': "pm", 'A': "PM", 'g': "3", 'h': "03", 'H': "15", 'i': "04", 's': "05", 'O': "-0700", 'P': "-07:00", 'T': "MST",
	'c': "2006-01-02T15:04:05-07:00", 'r': "Mon, 02 Jan 2006 15:04:05 -0700",
}

func formatLetter(t time.Time, letter rune) string {
	if layout, ok := layouts[letter]; ok {
		return t.Format(layout)
	}
	year, week := t.ISOWeek()
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
		return fmt.Sprintf("%02d", week)
	case 't':
		return strconv.Itoa(time.Date(t.Year(), t.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day())
	case 'L':
		return flag(time.Date(t.Year(), time.December, 31, 0, 0, 0, 0, time.UTC).YearDay() == 366)
	case 'o':
		return strconv.Itoa(year)
	case 'Y', 'x', 'X':
		return fmt.Sprintf("%04d", t.Year())
	case 'B':
		return fmt.Sprintf("%03d", swatchBeat(t))
	case 'G':
		return strconv.Itoa(t.Hour())
	case 'u':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 'v':
		return fmt.Sprintf("%03d", t.Nanosecond()/1_000_000)
	case 'e':
		return t.Location().String()
	case 'I':
		return flag(t.IsDST())
	case 'p':
		if _, offset := t.Zone(); offset == 0 {
			return "Z"
		}
		return t.Format("-07:00")
	case 'Z':
		_, offset := t.Zone()
		return strconv.Itoa(offset)
	case 'U':
		return strconv.FormatInt(t.Unix(), 10)
	default:
		return string(letter)
	}
}

func flag(on bool) string {
	if on {
		return "1"
	}
	return "0"
}

// ordinal is the English suffix of a day of the month.
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

// swatchBeat is the thousandth of a day in Biel.
func swatchBeat(t time.Time) int {
	biel := t.UTC().Add(time.Hour)
	seconds := biel.Hour()*3600 + biel.Minute()*60 + biel.Second()
	return seconds * 1000 / 86400
}
