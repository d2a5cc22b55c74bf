package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// addTimes adds the tools that find times for bookings.
func (s *server) addTimes() {
	add(s, tool{
		name: "find_free_times", title: "Find free times", uses: []string{availabilityOperation},
		about: "The times at which a booking of a service can start, by day, for one agent or any. Whatever it offers can be booked with the same arguments. " +
			"With booking_id: the times to which that booking can be moved.",
		arguments: map[string]string{"date": "from", "date_to": "to", "total_attendees": "attendees"},
	}, (*call).findFreeTimes)
	add(s, tool{
		name: "why_not_free", title: "Explain why a time is not free", uses: []string{availabilityOperation},
		about:     "Says why a booking cannot start at a time, and which times of that day are free instead.",
		arguments: map[string]string{"total_attendees": "attendees"},
	}, (*call).whyNotFree)
	add(s, tool{
		name: "business_hours", title: "Business hours", uses: []string{hoursOperation},
		about:     "The working hours by day, of the site or of an agent, a service or a location. They do not say what is free: ask find_free_times.",
		arguments: map[string]string{"date": "from", "date_to": "to"},
	}, (*call).businessHours)
}

// slotArguments describe the slot to find.
type slotArguments struct {
	ServiceID   id      `json:"service_id,omitempty" jsonschema:"Required, except with booking_id"`
	AgentID     id      `json:"agent_id,omitempty" jsonschema:"Leave out for any agent"`
	LocationID  id      `json:"location_id,omitempty" jsonschema:"Leave out for the site's default location"`
	Duration    count   `json:"duration,omitempty" jsonschema:"Minutes; by default the service's own"`
	AnyDuration bool    `json:"any_duration,omitempty" jsonschema:"true allows a duration that the service does not list; it can be booked, too"`
	Attendees   count   `json:"attendees,omitempty" jsonschema:"1 unless sent"`
	Extras      []extra `json:"extras,omitempty" jsonschema:"Extras of the service, on sites that have them; they make the booking longer"`
	BookingID   id      `json:"booking_id,omitempty" jsonschema:"Id of a booking to move; its service, agent, location and duration count unless others are sent"`
}

// extra is an extra of a service.
type extra struct {
	ID       id    `json:"id"`
	Quantity count `json:"quantity,omitempty" jsonschema:"1 unless sent"`
}

// query returns the availability request for the slot, with additional parameters.
func (s slotArguments) query(others ...any) Call {
	query := parameters(append(others,
		"service_id", s.ServiceID, "location_id", s.LocationID, "duration", s.Duration, "total_attendees", s.Attendees, "booking_id", s.BookingID)...)
	if s.AnyDuration {
		query.Set("any_duration", "1")
	}
	if len(s.Extras) > 0 {
		text, _ := json.Marshal(s.Extras) // numbers
		query.Set("extras", string(text))
	}
	if s.AgentID != 0 || s.BookingID == 0 {
		query.Set("agent_id", fmt.Sprint(s.AgentID.orAny()))
	}
	return Call{Operation: availabilityOperation, Query: query}
}

type freeTimesInput struct {
	slotArguments
	From date `json:"from,omitempty" jsonschema:"First day, YYYY-MM-DD; today unless sent"`
	To   date `json:"to,omitempty" jsonschema:"Last day; six days later unless sent, at most 62 days in all"`
}

type freeTimesOutput struct {
	now
	freeTimes
}

type freeTimes struct {
	ServiceID int64     `json:"service_id"`
	AgentID   int64     `json:"agent_id,omitempty" jsonschema:"Absent for any agent"`
	Location  int64     `json:"location_id,omitempty"`
	Duration  int64     `json:"duration" jsonschema:"Minutes"`
	Days      []freeDay `json:"days" jsonschema:"Only days with free times"`
	Continue  date      `json:"continue_from,omitempty" jsonschema:"There are more free times; ask again from this day"`
}

// freeDay has the free starts of a day.
type freeDay struct {
	Date    date    `json:"date"`
	Weekday string  `json:"weekday"`
	Times   []clock `json:"times" jsonschema:"Starts, HH:MM"`
}

// maxTimes is the number of starts after which a list of days is cut off.
const maxTimes = 200

func (c *call) findFreeTimes(in freeTimesInput) (out freeTimesOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	from := out.orToday(in.From)
	to := in.To
	if to == "" {
		to = from.after(6)
	}
	if out.freeTimes, err = c.freeTimes(from, to, in.slotArguments); err != nil {
		return out, "", err
	}
	if len(out.Days) == 0 {
		return out, fmt.Sprintf("Nothing is free from %s to %s. Try other days, another agent or none; why_not_free explains a time.", from, to), nil
	}
	first := out.Days[0]
	return out, fmt.Sprintf("Free on %s; first on %s %s at %s.", counted(len(out.Days), "day"), first.Weekday, first.Date, first.Times[0]), nil
}

// freeTimes returns the free starts of a range of days.
func (c *call) freeTimes(from, to date, slot slotArguments) (free freeTimes, err error) {
	found, err := read[single[struct {
		ServiceID  number           `json:"service_id"`
		AgentID    number           `json:"agent_id"`
		LocationID number           `json:"location_id"`
		Duration   number           `json:"duration"`
		Days       map[date][]clock `json:"days"`
	}]](c, slot.query("date", from, "date_to", to))
	if err != nil {
		return free, err
	}
	free = freeTimes{ServiceID: int64(found.Data.ServiceID), AgentID: int64(found.Data.AgentID), Location: int64(found.Data.LocationID), Duration: int64(found.Data.Duration), Days: []freeDay{}}
	listed := 0
	for _, day := range slices.Sorted(maps.Keys(found.Data.Days)) {
		times := found.Data.Days[day]
		if len(times) == 0 {
			continue
		}
		if listed > 0 && listed+len(times) > maxTimes {
			free.Continue = day
			break
		}
		listed += len(times)
		free.Days = append(free.Days, freeDay{day, day.weekday(), times})
	}
	return free, nil
}

type whyInput struct {
	slotArguments
	Date      date  `json:"date" jsonschema:"YYYY-MM-DD"`
	StartTime clock `json:"start_time" jsonschema:"HH:MM"`
}

type whyOutput struct {
	now
	Free        bool    `json:"free"`
	Reason      string  `json:"reason,omitempty" jsonschema:"booked, hold, buffer, capacity, off_period, calendar, asset, extension, outside_window, past, no_start, status, connection, working_hours, long_hours or day_off"`
	Explanation string  `json:"explanation"`
	BookingID   int64   `json:"booking_id,omitempty" jsonschema:"The booking in the way, if the key may read bookings"`
	FreeTimes   []clock `json:"free_times" jsonschema:"Starts of that day that are free"`
}

const (
	noStart        = "no_start"
	noStartMessage = "No booking starts then: it is outside of working hours, or between the starts that the service offers."
)

func (c *call) whyNotFree(in whyInput) (out whyOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	found, err := read[single[struct {
		Free    []clock `json:"available_slots"`
		Explain struct {
			Missing     string `json:"missing"`
			Message     string `json:"message"`
			Unavailable []struct {
				StartTime clock  `json:"start_time"`
				Reason    string `json:"reason"`
				Message   string `json:"message"`
				BookingID number `json:"booking_id"`
			} `json:"unavailable"`
		} `json:"explain"`
	}]](c, in.query("date", in.Date, "explain", 1))
	if err != nil {
		return out, "", err
	}
	out.FreeTimes = append([]clock{}, found.Data.Free...)
	if slices.Contains(out.FreeTimes, in.StartTime) {
		out.Free, out.Explanation = true, "It is free."
		return out, out.Explanation, nil
	}
	out.Reason, out.Explanation = noStart, noStartMessage
	if missing := found.Data.Explain.Missing; missing != "" {
		out.Reason, out.Explanation = missing, found.Data.Explain.Message
	}
	for _, slot := range found.Data.Explain.Unavailable {
		if slot.StartTime == in.StartTime {
			out.Reason, out.Explanation, out.BookingID = slot.Reason, slot.Message, int64(slot.BookingID)
		}
	}
	return out, fmt.Sprintf("Not free: %s That day has %s.", out.Explanation, counted(len(out.FreeTimes), "free start")), nil
}

type hoursInput struct {
	From       date `json:"from,omitempty" jsonschema:"First day, YYYY-MM-DD; today unless sent"`
	To         date `json:"to,omitempty" jsonschema:"Last day; six days later unless sent, at most 62 days in all"`
	AgentID    id   `json:"agent_id,omitempty" jsonschema:"Hours of this agent"`
	ServiceID  id   `json:"service_id,omitempty" jsonschema:"Hours of this service"`
	LocationID id   `json:"location_id,omitempty" jsonschema:"Hours at this location"`
}

type hoursOutput struct {
	now
	Days []openDay `json:"days"`
}

type openDay struct {
	Date    date        `json:"date"`
	Weekday string      `json:"weekday"`
	Open    bool        `json:"open"`
	Hours   []openHours `json:"hours"`
}

type openHours struct {
	From string `json:"from"`
	To   string `json:"to" jsonschema:"A time before from is on the next day"`
}

func (c *call) businessHours(in hoursInput) (out hoursOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	from := out.orToday(in.From)
	to := in.To
	if to == "" {
		to = from.after(6)
	}
	found, err := read[single[struct {
		Days []struct {
			Date  date `json:"date"`
			Hours []struct {
				From string `json:"start_time"`
				To   string `json:"end_time"`
			} `json:"hours"`
		} `json:"days"`
	}]](c, Call{Operation: hoursOperation, Query: parameters(
		"date", from, "date_to", to, "agent_id", in.AgentID, "service_id", in.ServiceID, "location_id", in.LocationID)})
	if err != nil {
		return out, "", err
	}
	out.Days = make([]openDay, len(found.Data.Days))
	open := 0
	for i, d := range found.Data.Days {
		day := openDay{Date: d.Date, Weekday: d.Date.weekday(), Open: len(d.Hours) > 0, Hours: []openHours{}}
		for _, h := range d.Hours {
			day.Hours = append(day.Hours, openHours(h))
		}
		if day.Open {
			open++
		}
		out.Days[i] = day
	}
	return out, fmt.Sprintf("Open on %d of %s.", open, counted(len(out.Days), "day")), nil
}
