package compat

import (
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
var TimeOffParameters = parameters("GET /time-off", domain.InvalidParameters, func(f *catalog.TimeOffFilter) Fields {
	return Fields{
		page(&f.Page),
		perPage(50, &f.PerPage),
		optional("agent_id", id(maxMediumInt), &f.AgentID),
		optional("service_id", id(maxMediumInt), &f.ServiceID),
		optional("location_id", id(maxMediumInt), &f.LocationID),
		optional("date_from", day, &f.From),
		optional("date_to", day, &f.To),
	}
})

// NewTimeOffFields are the fields of POST /time-off.
var NewTimeOffFields = declare("POST /time-off", func(n *catalog.NewTimeOff) Fields {
	return Fields{
		value("agent_id", id(maxMediumInt), &n.AgentID),
		value("service_id", id(maxMediumInt), &n.ServiceID),
		value("location_id", id(maxMediumInt), &n.LocationID),
		value("date", day, &n.From),
		optional("date_to", day, &n.To),
		optional("start_time", timeOfDay, &n.Start),
		optional("end_time", timeOrMidnight, &n.End),
		value("note", anyText, &n.Note),
		flag(dryRun, &n.DryRun),
	}.requiring("date")
})

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
