package mcp

import "fmt"

// addTimeOff adds the tools about times without bookings.
func (s *server) addTimeOff() {
	add(s, tool{
		name: "time_off", title: "Time off", uses: []string{timeOffOperation},
		about:     "Lists the days and hours at which an agent, a service, a location or the whole site takes no bookings.",
		arguments: map[string]string{"date_from": "from", "date_to": "to"},
	}, (*call).timeOff)
	add(s, tool{
		name: "enter_time_off", title: "Enter time off", uses: []string{createTimeOffOperation}, writes: true,
		about: "Closes whole days for new bookings, or hours of one day on sites with LatePoint Pro Features, for the agent, service and location that are named, or for all. " +
			"Bookings in it stay, and booking_ids names them: tell the person. Enter only what the person has confirmed. With dry_run nothing is written.",
		arguments: map[string]string{"date": "from", "date_to": "to"},
	}, (*call).enterTimeOff)
}

type timeOffInput struct {
	From       date  `json:"from,omitempty" jsonschema:"First day, YYYY-MM-DD; today unless sent"`
	To         date  `json:"to,omitempty" jsonschema:"Last day, YYYY-MM-DD"`
	AgentID    id    `json:"agent_id,omitempty" jsonschema:"Only time off of this agent"`
	ServiceID  id    `json:"service_id,omitempty" jsonschema:"Only time off of this service"`
	LocationID id    `json:"location_id,omitempty" jsonschema:"Only time off of this location"`
	Page       count `json:"page,omitempty" jsonschema:"Page of 50; 1 unless sent"`
}

type timeOffOutput struct {
	now
	TimeOff []timeOff `json:"time_off"`
	Total   int64     `json:"total"`
	More    bool      `json:"more" jsonschema:"There are more on the next page"`
}

// timeOff is a time without bookings; what it does not name, it is for all.
type timeOff struct {
	ID         int64  `json:"id,omitempty"`
	AgentID    int64  `json:"agent_id,omitempty"`
	ServiceID  int64  `json:"service_id,omitempty"`
	LocationID int64  `json:"location_id,omitempty"`
	From       date   `json:"from"`
	To         date   `json:"to"`
	StartTime  string `json:"start_time,omitempty" jsonschema:"HH:MM; whole days have none"`
	EndTime    string `json:"end_time,omitempty"`
	Note       string `json:"note,omitempty"`
}

// sentTimeOff is time off as the API sends it.
type sentTimeOff struct {
	ID         int64  `json:"id"`
	AgentID    int64  `json:"agent_id"`
	ServiceID  int64  `json:"service_id"`
	LocationID int64  `json:"location_id"`
	From       date   `json:"date"`
	To         date   `json:"date_to"`
	StartTime  string `json:"start_time"`
	EndTime    string `json:"end_time"`
	Note       string `json:"note"`
}

func (c *call) timeOff(in timeOffInput) (out timeOffOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	found, err := read[page[sentTimeOff]](c, Call{Operation: timeOffOperation, Query: parameters(
		"date_from", out.orToday(in.From), "date_to", in.To, "agent_id", in.AgentID, "service_id", in.ServiceID, "location_id", in.LocationID, "per_page", 50, "page", in.Page)})
	if err != nil {
		return out, "", err
	}
	out.TimeOff, out.Total, out.More = make([]timeOff, len(found.Data)), found.Pagination.Total, found.Pagination.More
	for i, t := range found.Data {
		out.TimeOff[i] = timeOff(t)
	}
	return out, fmt.Sprintf("Found %d.", len(out.TimeOff)), nil
}

type enterTimeOffInput struct {
	Key        token  `json:"idempotency_key" jsonschema:"A text of your own making, 8 to 255 printable characters, one for each time off. Sent again, it repeats the answer instead of entering it twice"`
	From       date   `json:"from" jsonschema:"First day, YYYY-MM-DD"`
	To         date   `json:"to,omitempty" jsonschema:"Last day, YYYY-MM-DD; the first unless sent"`
	StartTime  clock  `json:"start_time,omitempty" jsonschema:"HH:MM, together with end_time; leave both out for whole days"`
	EndTime    clock  `json:"end_time,omitempty" jsonschema:"HH:MM"`
	AgentID    id     `json:"agent_id,omitempty" jsonschema:"Leave out for all agents"`
	ServiceID  id     `json:"service_id,omitempty" jsonschema:"Leave out for all services"`
	LocationID id     `json:"location_id,omitempty" jsonschema:"Leave out for all locations"`
	Note       string `json:"note,omitempty" jsonschema:"What it is for; kept with hours only"`
	DryRun     bool   `json:"dry_run,omitempty" jsonschema:"Only say what would happen"`
}

type enterTimeOffOutput struct {
	now
	Done       bool     `json:"done" jsonschema:"false after dry_run: nothing was written"`
	Repeated   bool     `json:"repeated,omitempty" jsonschema:"An earlier call with the same idempotency_key did this; nothing happened twice"`
	TimeOff    timeOff  `json:"time_off"`
	BookingIDs []int64  `json:"booking_ids" jsonschema:"Bookings in it, which stay"`
	Warnings   []string `json:"warnings,omitempty" jsonschema:"What was not done as asked: tell the person"`
}

func (c *call) enterTimeOff(in enterTimeOffInput) (out enterTimeOffOutput, brief string, err error) {
	if out.now, err = c.now(); err != nil {
		return out, "", err
	}
	body := struct {
		From       date   `json:"date"`
		To         date   `json:"date_to,omitempty"`
		StartTime  clock  `json:"start_time,omitempty"`
		EndTime    clock  `json:"end_time,omitempty"`
		AgentID    id     `json:"agent_id,omitempty"`
		ServiceID  id     `json:"service_id,omitempty"`
		LocationID id     `json:"location_id,omitempty"`
		Note       string `json:"note,omitempty"`
		DryRun     bool   `json:"dry_run,omitempty"`
	}{in.From, in.To, in.StartTime, in.EndTime, in.AgentID, in.ServiceID, in.LocationID, in.Note, in.DryRun}
	answer, err := c.Call(Call{Operation: createTimeOffOperation, Body: body, IdempotencyKey: string(in.Key)})
	if err != nil {
		return out, "", err
	}
	var entered struct {
		single[sentTimeOff]
		BookingIDs []int64 `json:"booking_ids"`
	}
	if err := decode(answer, &entered); err != nil {
		return out, "", err
	}
	out.Done, out.Repeated, out.TimeOff, out.Warnings = !in.DryRun, answer.Replayed, timeOff(entered.Data), answer.Warnings
	out.BookingIDs = append([]int64{}, entered.BookingIDs...)
	done := "Entered"
	if in.DryRun {
		done = "Possible, nothing was written"
	}
	return out, fmt.Sprintf("%s: %s to %s, with %s in it.", done, out.TimeOff.From, out.TimeOff.To, counted(len(out.BookingIDs), "booking")), nil
}
