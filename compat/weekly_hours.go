package compat

import (
	"fmt"
	"slices"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat/jsonschema"
)

// WeeklyHours are the general hours, or the own ones of an agent, a service, a location or a combination; null for none. They
// are not part of the contract, so ids are numbers.
type WeeklyHours struct {
	AgentID    *int64 `json:"agent_id"`
	ServiceID  *int64 `json:"service_id"`
	LocationID *int64 `json:"location_id"`
	Hours      *Week  `json:"hours"`
}

// Week has the hours of each weekday: none on a day off, null for no own ones.
type Week struct {
	Monday    *[]OpenHours `json:"monday"`
	Tuesday   *[]OpenHours `json:"tuesday"`
	Wednesday *[]OpenHours `json:"wednesday"`
	Thursday  *[]OpenHours `json:"thursday"`
	Friday    *[]OpenHours `json:"friday"`
	Saturday  *[]OpenHours `json:"saturday"`
	Sunday    *[]OpenHours `json:"sunday"`
}

// weekdays are the members of a Week.
var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func scopeFields(s *availability.Scope) Fields {
	return Fields{
		value("agent_id", id(maxMediumInt), &s.Agent),
		value("service_id", id(maxMediumInt), &s.Service),
		value("location_id", id(maxMediumInt), &s.Location),
	}
}

// WeeklyHoursParameters are the parameters of GET /business-hours.
var WeeklyHoursParameters = parameters("business hours", domain.InvalidRequest, scopeFields)

// WeeklyHoursFields are the fields of PUT /business-hours.
var WeeklyHoursFields = declare("business hours", func(p *catalog.WeekPatch) Fields {
	return append(scopeFields(&p.Scope), week(&p.Days), flag(dryRun, &p.DryRun)).requiring("hours")
})

// maxPeriods is how many hours a day may have.
const maxPeriods = 24

func hoursFields(h *availability.Hours) Fields {
	return Fields{
		value("start_time", timeOfDay, &h.Start),
		value("end_time", timeOrMidnight, &h.End),
	}.requiring("start_time", "end_time")
}

func weekSchema() *jsonschema.Schema {
	week := &jsonschema.Schema{Type: jsonschema.Object, AdditionalProperties: false, Description: "The weekdays to change. An empty list closes a day; null removes its own hours, or those of all days, so that others apply again"}
	for i, name := range weekdays {
		day := jsonschema.Nullable(&jsonschema.Schema{Type: jsonschema.Array, MaxItems: maxPeriods, Description: "Hours of the day, in order", Items: SchemaOf(hoursFields(&availability.Hours{}).Describe("hours of a day"))})
		day.Unexampled = i > 0
		week.Properties = append(week.Properties, jsonschema.Member{name, day})
	}
	return jsonschema.Nullable(week)
}

// week declares hours by weekday. Null is null for every weekday.
func week(to *map[int][]availability.Hours) Field {
	about := description{schema: weekSchema, null: isValue, blank: isValue, members: true}
	return Field{name: "hours", description: about, set: func(in input) {
		*to = in.(*Body).week()
	}}
}

func (b *Body) week() map[int][]availability.Hours {
	days := map[int][]availability.Hours{}
	if b.null("hours") {
		for i := range weekdays {
			days[i+1] = nil
		}
		return days
	}
	week := b.object("hours")
	if week == nil {
		return days
	}
	if sent := b.fields["hours"]; sent != nil && sent.Decoded()[0] == '[' { // an object to PHP, but closes nothing
		b.addProblem("hours", invalid("Must be an object; an empty list closes a day only as the value of that day"))
	}
	for name := range week.fields {
		day := slices.Index(weekdays, name) + 1
		switch {
		case day == 0:
			week.addProblem(name, invalid(oneOf(weekdays...)))
		case week.null(name):
			days[day] = nil
		default:
			days[day] = week.hours(name)
		}
	}
	return days
}

// hours reads the hours of a day, in order.
func (b *Body) hours(name string) []availability.Hours {
	list, _ := b.list(name)
	if len(list) > maxPeriods {
		b.addProblem(name, rejected(fmt.Sprintf("At most %d are allowed", maxPeriods)))
	}
	open := make([]availability.Hours, min(len(list), maxPeriods))
	for i := range open {
		path := fmt.Sprintf("%s.%d", name, i)
		fields, ok := list[i].Object()
		if !ok {
			b.addProblem(path, invalid(notAnObject))
			continue
		}
		hoursFields(&open[i]).read(newBody(b.path+path+".", fields, b.validation))
		if open[i].End <= open[i].Start {
			b.addProblem(path+".end_time", rejected("Must be after start_time"))
		}
		if i > 0 && open[i].Start < open[i-1].End {
			b.addProblem(path+".start_time", rejected("Must not be before the end of the hours before it"))
		}
	}
	return open
}

// Samples of the answers to PUT /business-hours.
var (
	WeeklyHoursUpdated  = bothMessage[WeeklyHours]("Business hours updated")
	WeeklyHoursPossible = bothMessage[WeeklyHours]("Business hours can be updated; nothing was written")
)

// ChangedWeek returns one of these answers about a week.
func (v View) ChangedWeek(answer BothMessage[WeeklyHours], w catalog.Week) BothMessage[WeeklyHours] {
	return answer.about(weeklyHours(w))
}

// WeeklyHours returns the response to GET /business-hours.
func (v View) WeeklyHours(w catalog.Week) BothSingle[WeeklyHours] { return bothSingle(weeklyHours(w)) }

func weeklyHours(w catalog.Week) WeeklyHours {
	shown, week := WeeklyHours{AgentID: orNil(w.Agent), ServiceID: orNil(w.Service), LocationID: orNil(w.Location)}, &Week{}
	for i, day := range []**[]OpenHours{&week.Monday, &week.Tuesday, &week.Wednesday, &week.Thursday, &week.Friday, &week.Saturday, &week.Sunday} {
		if open, own := w.Days[i+1]; own {
			*day, shown.Hours = new(each(open, openHours)), week
		}
	}
	return shown
}
