package freetimes

import (
	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/handlers/console/page"
)

// Places are the pages of wp-admin where a reason is changed, given the address of WordPress; none if that is "".
func (q Question) Places(address string, s Start) []page.Place {
	if address == "" {
		return nil
	}
	switch s.Reason {
	case availability.Booked, availability.Buffer:
		if s.Booking == 0 {
			return nil
		}
		return []page.Place{{Text: "the booking", Address: slots.BookingURL(address, s.Booking)}}
	case availability.NoCapacity:
		return []page.Place{q.servicePlace(address, "seats and bookings a day of the service")}
	case availability.Off:
		return append(q.schedulePlaces(address), page.Place{Text: "calendar", Address: slots.AdminURL(address, "calendars__view", 0)})
	case availability.OwnEvent:
		if q.Agent != 0 {
			return []page.Place{{Text: "calendars of the agent", Address: slots.AdminURL(address, "agents__edit_form", q.Agent)}}
		}
		return []page.Place{{Text: "calendars", Address: slots.AdminURL(address, "integrations__external_calendars", 0)}}
	case availability.AssetTaken:
		return []page.Place{q.servicePlace(address, "rooms and devices of the service")}
	case availability.NotOffered:
		return []page.Place{{Text: "plugins", Address: address + "/wp-admin/plugins.php"}}
	case availability.OutsideWindow:
		return []page.Place{q.servicePlace(address, "earliest and latest booking of the service"), {Text: "general settings", Address: slots.AdminURL(address, "settings__general", 0)}}
	default: // it is free, is past or is held for some minutes
		return nil
	}
}

// PlacesOfMissing are the pages of wp-admin where what is missing is set.
func (q Question) PlacesOfMissing(address string, missing slots.Missing) []page.Place {
	if address == "" {
		return nil
	}
	if missing == slots.MissingHours || missing == slots.MissingDayOff || missing == slots.MissingLongHours {
		return q.schedulePlaces(address)
	}
	places := []page.Place{q.servicePlace(address, "the service")}
	if q.Agent != 0 {
		places = append(places, page.Place{Text: "the agent", Address: slots.AdminURL(address, "agents__edit_form", q.Agent)})
	}
	if q.Location != 0 {
		places = append(places, page.Place{Text: "the location", Address: slots.AdminURL(address, "locations__edit_form", q.Location)})
	}
	return places
}

func (q Question) servicePlace(address string, text page.Text) page.Place {
	return page.Place{Text: text, Address: slots.AdminURL(address, "services__edit_form", q.Service)}
}

// schedulePlaces are where hours and days off are set: those of the agent and of the service, otherwise those of the site.
func (q Question) schedulePlaces(address string) (places []page.Place) {
	if q.Agent != 0 {
		places = append(places, page.Place{Text: "schedule of the agent", Address: slots.AdminURL(address, "agents__edit_form", q.Agent)})
	}
	return append(places, q.servicePlace(address, "schedule of the service"), page.Place{Text: "general schedule", Address: slots.AdminURL(address, "settings__work_periods", 0)})
}
