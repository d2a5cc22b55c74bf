package mcp

import (
	"encoding/json"
	"net/url"

	"github.com/google/jsonschema-go/jsonschema"
)

// tool is an operation of the API, as a model sees it. Its arguments are parameters or fields of the operation, under
// the same names.
type tool struct {
	name, title, about string
	operation          string // operationId; the tool is useless without permission for it
	arguments          []argument
	path               string         // the argument that is the id in the path; "" for none
	fixed              map[string]any // what is sent besides the arguments
	writes             bool
	destroys           bool // whether it overwrites data irrecoverably
}

// argument is an argument of a tool.
type argument struct {
	name     string
	schema   jsonschema.Schema
	about    string
	required bool
}

// must makes an argument required.
func must(a argument) argument {
	a.required = true
	return a
}

var least, most = 1.0, 100.0

func whole(name, about string) argument {
	return argument{name: name, schema: jsonschema.Schema{Type: "integer", Minimum: &least}, about: about}
}

func text(name, about string) argument {
	return argument{name: name, schema: jsonschema.Schema{Type: "string"}, about: about}
}

func date(name, about string) argument {
	return argument{name: name, schema: jsonschema.Schema{Type: "string", Pattern: `^\d{4}-\d{2}-\d{2}$`}, about: about + ", YYYY-MM-DD"}
}

func flag(name, about string) argument {
	return argument{name: name, schema: jsonschema.Schema{Type: "boolean"}, about: about}
}

func object(name, about string) argument {
	return argument{name: name, schema: jsonschema.Schema{Type: "object"}, about: about}
}

var (
	page      = whole("page", "1 unless sent")
	perPage   = argument{name: "per_page", schema: jsonschema.Schema{Type: "integer", Minimum: &least, Maximum: &most}, about: "20 unless sent"}
	startTime = argument{name: "start_time", schema: jsonschema.Schema{Type: "string", Pattern: `^([01]\d|2[0-3]):[0-5]\d$`}, about: "HH:MM"}
	extras    = argument{name: "extras", schema: jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"}}, about: `Extras of the service, on sites that have them: {"id": …, "quantity": …}`}
	fields    = object("custom_fields", "Custom fields of the booking by id; an error names those that the site requires")
	notify    = flag("send_notification", "Tell the customer, as the site's workflows say")
	dryRun    = flag("dry_run", "Only say what would happen")
	name      = must(argument{name: nameArgument, schema: jsonschema.Schema{Type: "string", Pattern: `^[ -~]{8,255}$`}, about: "A text of your own making, one for each thing to do. Sent again, it repeats the answer instead of doing it twice"})
	booking   = must(whole("id", "Id of the booking"))
)

// nameArgument is the argument that is sent as the Idempotency-Key.
const nameArgument = "idempotency_key"

// slot are the arguments that describe a slot to find.
var slot = []argument{
	whole("service_id", "Required, except with booking_id"),
	whole("agent_id", "Leave out for any agent"),
	whole("location_id", "Leave out for the site's default location"),
	whole("duration", "Minutes; by default the service's own"),
	flag("any_duration", "true allows a duration that the service does not list; it can be booked, too"),
	whole("total_attendees", "1 unless sent"),
	extras,
	whole("booking_id", "Id of a booking to move; its service, agent, location and duration count unless others are sent"),
}

// tools are all tools.
var tools = []tool{
	{
		name: "services", title: "Services", operation: "listServices",
		about:     "Lists the active services with price, duration, agents, locations and extras. Use it first, to get the ids that other tools need.",
		fixed:     map[string]any{"status": "active", "visibility": "visible", "include": "agents,locations,extras"},
		arguments: []argument{text("search", "Text in the name or description; leave out to list all"), whole("agent_id", "Only services of this agent"), whole("location_id", "Only services at this location"), page, perPage},
	},
	{
		name: "free_times", title: "Free times", operation: "getAvailability",
		about: "The times at which a booking of a service can start, for one agent or any. Whatever it offers can be booked with the same arguments. " +
			"With booking_id: the times to which that booking can be moved.",
		arguments: append([]argument{must(date("date", "The day, or the first one")), date("date_to", "The last day, for several days")}, slot...),
	},
	{
		name: "why_not_free", title: "Why a time is not free", operation: "getAvailability",
		about:     "The free times of a day, and for each other one why a booking cannot start then.",
		fixed:     map[string]any{"explain": true},
		arguments: append([]argument{must(date("date", "The day"))}, slot...),
	},
	{
		name: "bookings", title: "Bookings", operation: "listBookings",
		about: "The bookings of days, of a customer, an agent, a service or a location, the latest first.",
		arguments: []argument{
			date("date_from", "First day"), date("date_to", "Last day"), text("search", "Part of the customer's name or e-mail address, or of the booking's code"),
			whole("customer_id", ""), whole("agent_id", ""), whole("service_id", ""), whole("location_id", ""),
			text("status", "pending, approved, cancelled, completed, no_show or a status of the site's own"), text("order", "asc or desc"), page, perPage,
		},
	},
	{
		name: "book", title: "Book an appointment", operation: "createBooking", writes: true,
		about: "Books a time that free_times offers, for a customer given by customer_id or described. A described customer is found by e-mail address (by phone number on sites that tell customers apart by it), or added. " +
			"With dry_run nothing is written: the result shows the booking, who would give it and what it would cost. Use dry_run first, book only what the person has confirmed, and name the agent of the dry run then: with any agent it may be another one. " +
			"If the time is not free, the error lists free ones.",
		fixed: map[string]any{"agent_id": anyAgent},
		arguments: []argument{
			name, must(whole("service_id", "")), whole("agent_id", "Leave out for any agent"), whole("location_id", "Leave out for the site's default location"),
			must(date("start_date", "The day")), must(startTime), whole("duration", "Minutes; by default the service's own"), whole("total_attendees", "1 unless sent"),
			extras, text("coupon_code", "On sites that have coupons"), fields, whole("customer_id", "Who books, if known; else send customer"),
			object("customer", "Who books, if there is no customer_id: first_name, last_name, email and phone"), text("notes", "What the customer wants the staff to know"),
			flag("send_confirmation", "false sends no confirmation to the customer"), dryRun,
		},
	},
	{
		name: "reschedule", title: "Move an appointment", operation: "updateBooking", path: "id", writes: true, destroys: true,
		about: "Moves a booking to another time, and to another agent if agent_id is sent. free_times with booking_id lists where it can go. " +
			"Move only what the person has confirmed; with dry_run nothing is written. If the time is not free, the error lists free ones.",
		arguments: []argument{
			name, booking, must(date("start_date", "The day")), must(startTime), whole("agent_id", "Leave out to keep the agent"), fields,
			text("reschedule_reason", "Why the person moves it, in their words, on sites that ask for it"), notify, dryRun,
		},
	},
	{
		name: "cancel", title: "Cancel an appointment", operation: "updateBooking", path: "id", writes: true, destroys: true,
		about:     "Cancels a booking; it stays on record and its time becomes free. Cancel only what the person has confirmed. With dry_run nothing is written.",
		fixed:     map[string]any{"status": "cancelled"},
		arguments: []argument{booking, text("cancellation_reason", "Why the person cancels it, in their words, on sites that ask for it"), notify, dryRun},
	},
	{
		name: "changes", title: "Changes", operation: "listChanges",
		about: "What was created, changed or deleted on the site after a cursor, by anybody, in order. Without a cursor: the present one.",
		fixed: map[string]any{"include": "record"},
		arguments: []argument{
			text("cursor", "From an earlier result"),
			text("resources", "bookings, customers, orders, payments, invoices, services, agents, locations, coupons, separated by commas; all that the key may read unless sent"),
			{name: "limit", schema: perPage.schema, about: "50 unless sent"},
		},
	},
}

// anyAgent stands for any agent.
const anyAgent = "any"

// inputSchema returns the schema of the tool's arguments.
func (t tool) inputSchema() *jsonschema.Schema {
	schema := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, a := range t.arguments {
		described := a.schema
		described.Description = a.about
		schema.Properties[a.name] = &described
		schema.PropertyOrder = append(schema.PropertyOrder, a.name)
		if a.required {
			schema.Required = append(schema.Required, a.name)
		}
	}
	return schema
}

// call returns the call of the operation with the arguments.
func (t tool) call(arguments map[string]json.RawMessage) Call {
	call := Call{Operation: t.operation, Query: url.Values{}}
	body := map[string]any{}
	for name, value := range t.fixed {
		body[name] = value
	}
	for name, value := range arguments {
		switch name {
		case t.path:
			_ = json.Unmarshal(value, &call.ID) // the schema allows only integers
		case nameArgument:
			_ = json.Unmarshal(value, &call.IdempotencyKey) // and only texts
		default:
			body[name] = value
		}
	}
	if t.writes {
		call.Body = body
		return call
	}
	if t.operation == "getAvailability" && body["agent_id"] == nil && body["booking_id"] == nil {
		body["agent_id"] = anyAgent
	}
	for name, value := range body {
		call.Query.Set(name, parameter(value))
	}
	return call
}

// parameter returns a value as a query has it: texts without their quotes, and lists as JSON.
func parameter(value any) string {
	encoded, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(encoded, &text) == nil {
		return text
	}
	return string(encoded)
}
