package facts

import (
	"cmp"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// Booking is a booking that is in the way.
type Booking struct {
	ID       int64  `json:"id"`
	Code     string `json:"code"`
	Service  string `json:"service"`
	Customer string `json:"customer"`
	Date     string `json:"date"`
	Start    int    `json:"start"` // minutes after midnight
	End      int    `json:"end"`
}

// BookingOf returns a booking.
func BookingOf(s *session.Session, b records.Booking) Booking {
	booking := Booking{ID: b.ID, Code: b.Code, Customer: cmp.Or(b.Customer.FullName(), b.Customer.Email), Date: string(b.StartDate)}
	if b.Service != nil {
		booking.Service = b.Service.Name
	}
	if start, end, ok := records.Span(s, b); ok {
		booking.Start, booking.End = int(start.Minutes), int(end.Minutes)
	}
	return booking
}

// Named is an agent, a service or a location.
type Named struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// NamesOf returns agents, services or locations.
func NamesOf(choices []slots.Choice) []Named {
	all := make([]Named, len(choices))
	for i, choice := range choices {
		all[i] = Named(choice)
	}
	return all
}

// Place is a page of wp-admin where something is changed. The page is its address below wp-admin.
type Place struct {
	Text string `json:"text"`
	Page string `json:"page"`
}

// Starts are starts that follow each other and are free, or not free for the same reason.
type Starts struct {
	Times     []string            `json:"times"` // such as 09:15
	Reason    availability.Reason `json:"reason"`
	Message   string              `json:"message"`
	Extension string              `json:"extension"` // that does not offer them
	Booking   *Booking            `json:"booking"`   // that is in the way; null for none
	Places    []Place             `json:"places"`
}

// FreeTimes are the starts of a day, with the question that they answer: agent and location are 0 for any, and so is the
// service if there is none.
type FreeTimes struct {
	Day       string      `json:"day"`
	Service   int64       `json:"service"`
	Agent     int64       `json:"agent"`
	Location  int64       `json:"location"`
	Services  []Named     `json:"services"`
	Agents    []Named     `json:"agents"`
	Locations []Named     `json:"locations"`
	Problems  []page.Text `json:"problems"` // why there is no answer, in sentences; null if there is one
	Missing   string      `json:"missing"`  // why nothing can be booked
	Free      int         `json:"free"`     // the number of free starts
	All       int         `json:"all"`      // the number of starts
	Starts    []Starts    `json:"starts"`
	Places    []Place     `json:"places"` // where what is missing, or the working hours, are changed
}

// Agenda is where browsers find the console's agenda. The address is "" if it is not known, and so is the path if the console
// is closed.
type Agenda struct {
	Address string `json:"address"`
	Path    string `json:"path"`
}
