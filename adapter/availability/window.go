package availability

import "time"

// Window is the time in which customers may book.
type Window struct {
	Now     Moment
	Opens   Moment // no booking starts earlier
	Closes  Moment // no booking ends later
	Bounded bool   // whether Closes applies
}

// Bounds are the settings earliest_possible_booking and latest_possible_booking, or a
// service's columns of these names: relative dates such as "+2 hours", "tomorrow" or
// "2026-11-27", or nothing.
type Bounds struct{ Earliest, Latest string }

// NewWindow returns the booking window at an instant in the site's zone. A service's own
// bounds take precedence over the general ones if they can be parsed
// (OsSettingsHelper::get_earliest_possible_booking_restriction and its counterpart;
// OsBookingHelper::get_blocked_periods_grouped_by_day).
func NewWindow(now time.Time, service, general Bounds, deviations Deviations) *Window {
	w := &Window{Now: MomentOf(now), Opens: MomentOf(now)}
	if opens, ok := bound(now, service.Earliest, general.Earliest); ok {
		w.Opens = MomentOf(opens)
	}
	if deviations.RejectPast && w.Opens.Before(w.Now) {
		w.Opens = w.Now
	}
	if closes, ok := bound(now, service.Latest, general.Latest); ok {
		w.Closes, w.Bounded = MomentOf(closes), true
	}
	return w
}

func bound(now time.Time, expressions ...string) (instant time.Time, ok bool) {
	for _, expression := range expressions {
		if instant, ok = applyRelativeDate(now, expression); ok {
			return instant, true
		}
	}
	return now, false
}

// before returns the part of a day before the window. ok is false if there is none. Without deviations,
// days before today are not checked, and neither is today if the window opened on an earlier day.
func (w *Window) before(day Day, deviations Deviations) (closed period, ok bool) {
	switch {
	case day < w.Now.Day:
		return period{0, dayEnd}, deviations.RejectPast
	case day < w.Opens.Day:
		return period{0, dayEnd}, true
	case day == w.Opens.Day:
		return period{0, w.Opens.Minutes}, true
	default:
		return period{}, false
	}
}

// after returns the part of a day after the window. ok is false if there is none.
func (w *Window) after(day Day) (closed period, ok bool) {
	switch {
	case !w.Bounded || day < w.Closes.Day:
		return period{}, false
	case day == w.Closes.Day:
		return period{w.Closes.Minutes, dayEnd}, true
	default:
		return period{0, dayEnd}, true
	}
}
