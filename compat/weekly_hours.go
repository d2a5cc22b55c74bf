package compat

import (
	"fmt"
	"slices"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
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

var scopeFields = Fields[availability.Scope]{
	value("agent_id", id(maxMediumInt), func(s *availability.Scope) *int64 { return &s.Agent }).about("Id of the agent; without one, it is for all").notInExample(),
	value("service_id", id(maxMediumInt), func(s *availability.Scope) *int64 { return &s.Service }).about("Id of the service; without one, it is for all").notInExample(),
	value("location_id", id(maxMediumInt), func(s *availability.Scope) *int64 { return &s.Location }).about("Id of the location; without one, it is for all").notInExample(),
}

// WeeklyHoursParameters are the parameters of GET /business-hours.
var WeeklyHoursParameters = parameters(domain.InvalidRequest, scopeFields...)

// WeeklyHoursFields are the fields of PUT /business-hours.
var WeeklyHoursFields = slices.Concat(within(scopeFields, func(p *catalog.WeekPatch) *availability.Scope { return &p.Scope }), Fields[catalog.WeekPatch]{
	{declaration: declaration{name: "hours", required: true, members: true, clears: true, valueType: description{schema: weekSchema}}, read: readWeek},
	flag(dryRun, func(p *catalog.WeekPatch) *bool { return &p.DryRun }),
})

// maxPeriods is how many hours a day may have.
const maxPeriods = 24

var hoursFields = Fields[availability.Hours]{
	value("start_time", timeOfDay(), func(h *availability.Hours) *availability.Minutes { return &h.Start }).about("Time of day as HH:MM", "09:00"),
	value("end_time", timeOrMidnight(), func(h *availability.Hours) *availability.Minutes { return &h.End }).about("Time of day as HH:MM; 24:00 is midnight", "17:00"),
}.requiring("start_time", "end_time")

func weekSchema() *Schema {
	week := &Schema{Type: typeObject, AdditionalProperties: false, Description: "The weekdays to change. An empty list closes a day; null removes its own hours, or those of all days, so that others apply again"}
	for i, name := range weekdays {
		day := nullable(&Schema{Type: typeArray, MaxItems: maxPeriods, Description: "Hours of the day, in order", Items: SchemaOf(hoursFields.Describe())})
		day.unexampled = i > 0
		week.Properties = append(week.Properties, Member{name, day})
	}
	return nullable(week)
}

// readWeek reads hours by weekday. Null is null for every weekday.
func readWeek(in input, into *catalog.WeekPatch) {
	b := in.(*Body)
	into.Days = map[int][]availability.Hours{}
	if b.null("hours") {
		for i := range weekdays {
			into.Days[i+1] = nil
		}
		return
	}
	week := b.object("hours")
	if week == nil {
		return
	}
	if sent := b.fields["hours"]; sent != nil && decodeText(sent)[0] == '[' { // an object to PHP, but closes nothing
		b.addProblem("hours", invalid("Must be an object; an empty list closes a day only as the value of that day"))
	}
	for name := range week.fields {
		day := slices.Index(weekdays, name) + 1
		switch {
		case day == 0:
			week.addProblem(name, invalid(oneOf(weekdays...)))
		case week.null(name):
			into.Days[day] = nil
		default:
			into.Days[day] = week.hours(name)
		}
	}
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
		hoursFields.read(newBody(b.path+path+".", fields, b.validation), &open[i])
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
