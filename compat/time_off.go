package compat

import (
	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
)

// TimeOff is a time without bookings. It is not part of the contract, so ids are numbers.
type TimeOff struct {
	ID         int64   `json:"id"`
	AgentID    *int64  `json:"agent_id"`
	ServiceID  *int64  `json:"service_id"`
	LocationID *int64  `json:"location_id"`
	Date       string  `json:"date"`
	DateTo     string  `json:"date_to"`
	StartTime  *string `json:"start_time"`
	EndTime    *string `json:"end_time"`
	Note       string  `json:"note" mask:"text"`
}

// EnteredTimeOff is the response to POST /time-off: new time off with the bookings in it.
type EnteredTimeOff struct {
	BothMessage[TimeOff]
	BookingIDs []int64 `json:"booking_ids" needs:"read_bookings"`
}

// TimeOffParameters are the parameters of the list of time off.
var TimeOffParameters = parameters(domain.InvalidParameters,
	page(func(f *catalog.TimeOffFilter) *int64 { return &f.Page }),
	perPage(50, func(f *catalog.TimeOffFilter) *int64 { return &f.PerPage }),
	optional("agent_id", id(maxMediumInt), func(f *catalog.TimeOffFilter) **int64 { return &f.AgentID }).about("Id of the agent whose time off it is"),
	optional("service_id", id(maxMediumInt), func(f *catalog.TimeOffFilter) **int64 { return &f.ServiceID }).about("Id of the service whose time off it is"),
	optional("location_id", id(maxMediumInt), func(f *catalog.TimeOffFilter) **int64 { return &f.LocationID }).about("Id of the location whose time off it is"),
	optional("date_from", day(), func(f *catalog.TimeOffFilter) **availability.Day { return &f.From }).about("Only time off that ends on this day or later"),
	optional("date_to", day(), func(f *catalog.TimeOffFilter) **availability.Day { return &f.To }).about("Only time off that begins on this day or earlier"),
)

// NewTimeOffFields are the fields of POST /time-off.
var NewTimeOffFields = Fields[catalog.NewTimeOff]{
	value("agent_id", id(maxMediumInt), func(n *catalog.NewTimeOff) *int64 { return &n.AgentID }).about("Id of the agent; without one, it is for all"),
	value("service_id", id(maxMediumInt), func(n *catalog.NewTimeOff) *int64 { return &n.ServiceID }).about("Id of the service; without one, it is for all").notInExample(),
	value("location_id", id(maxMediumInt), func(n *catalog.NewTimeOff) *int64 { return &n.LocationID }).about("Id of the location; without one, it is for all").notInExample(),
	value("date", day(), func(n *catalog.NewTimeOff) *availability.Day { return &n.From }).about("First day"),
	optional("date_to", day(), func(n *catalog.NewTimeOff) **availability.Day { return &n.To }).about("Last day; by default the first").notInExample(),
	optional("start_time", timeOfDay(), func(n *catalog.NewTimeOff) **availability.Minutes { return &n.Start }).about("Time of day as HH:MM; without it and end_time, the whole day").notInExample(),
	optional("end_time", timeOrMidnight(), func(n *catalog.NewTimeOff) **availability.Minutes { return &n.End }).about("Time of day as HH:MM; 24:00 is midnight", "24:00").notInExample(),
	value("note", anyText(), func(n *catalog.NewTimeOff) *string { return &n.Note }).about("What it is for; LatePoint keeps it with hours only, and otherwise a Warning header says so", "Training").notInExample(),
	flag(dryRun, func(n *catalog.NewTimeOff) *bool { return &n.DryRun }),
}.requiring("date")

// TimeOffList returns a page of time off.
func (v View) TimeOffList(page records.Page[catalog.TimeOff]) List[TimeOff] {
	return list(page, timeOff)
}

// TimeOffDetail returns the response to GET /time-off/{id}.
func (v View) TimeOffDetail(t catalog.TimeOff) BothSingle[TimeOff] { return bothSingle(timeOff(t)) }

// Samples of the answers to POST /time-off.
var (
	TimeOffCreated  = EnteredTimeOff{BothMessage: bothMessage[TimeOff]("Time off entered")}
	TimeOffPossible = EnteredTimeOff{BothMessage: bothMessage[TimeOff]("Time off can be entered; nothing was written")}
)

// With returns the response to POST /time-off.
func (e EnteredTimeOff) With(t catalog.CreatedTimeOff) EnteredTimeOff {
	return EnteredTimeOff{e.about(timeOff(t.TimeOff)), append([]int64{}, t.Bookings...)}
}

// TimeOffDeleted is the response to DELETE /time-off/{id}.
var TimeOffDeleted = done("Time off ended")

func timeOff(t catalog.TimeOff) TimeOff {
	shown := TimeOff{
		ID: t.ID, AgentID: orNil(t.Agent), ServiceID: orNil(t.Service), LocationID: orNil(t.Location),
		Date: t.From.String(), DateTo: t.To.String(), Note: t.Note,
	}
	if t.Hours != nil {
		shown.StartTime, shown.EndTime = new(clock(&t.Hours.Start)), new(clock(&t.Hours.End))
	}
	return shown
}
