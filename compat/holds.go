package compat

import (
	"slices"
	"time"

	"github.com/bookside/bookside/adapter/bookings"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/slots"
)

// Hold is a slot held for a customer. It is not part of the contract, so ids are numbers and times are RFC
// 3339.
type Hold struct {
	ID             int64  `json:"id"`
	ServiceID      int64  `json:"service_id"`
	AgentID        int64  `json:"agent_id"`
	LocationID     int64  `json:"location_id"`
	StartDate      string `json:"start_date"`
	StartTime      string `json:"start_time"`
	EndTime        string `json:"end_time"`
	Duration       int64  `json:"duration"`
	TotalAttendees int64  `json:"total_attendees"`
	ExpiresAt      string `json:"expires_at"`
}

// slotFields are the fields of a new booking that a hold shares.
var slotFields = []string{"service_id", "agent_id", "location_id", "start_date", "start_time", "duration", "total_attendees", "extras"}

// checkedFields are the fields of a new booking that are only checked when a slot is held.
var checkedFields = []string{"price", "coupon_code", "custom_fields"}

// How long a hold lasts, in minutes.
const (
	holdMinutes    = 5
	maxHoldMinutes = int64(domain.MaxHold / time.Minute)
)

// NewHoldFields are the fields of POST /holds.
var NewHoldFields = declare("POST /holds", func(h *bookings.NewHold) Fields {
	return append(bookingFields(&h.New).only(slices.Concat(slotFields, checkedFields)...),
		defaulted("hold_minutes", integer(1, maxHoldMinutes), holdMinutes, &h.Minutes))
})

// HoldCreated is a sample of the answer to POST /holds.
var HoldCreated = bothMessage[Hold]("Slot kept")

// HoldCreated returns the response to POST /holds.
func (v View) HoldCreated(h slots.Hold) BothMessage[Hold] { return HoldCreated.about(hold(h)) }

// HoldDetail returns the response to GET /holds/{id}.
func (v View) HoldDetail(h slots.Hold) BothSingle[Hold] { return bothSingle(hold(h)) }

func hold(h slots.Hold) Hold {
	expires, _ := h.ExpiresAt.Time()
	return Hold{
		ID: h.ID, ServiceID: h.Service, AgentID: h.Agent, LocationID: h.Location,
		StartDate: h.Start.Day.String(), StartTime: clock(&h.Start.Minutes), EndTime: clock(&h.End.Minutes), Duration: h.Duration, TotalAttendees: h.Attendees,
		ExpiresAt: expires.Format(time.RFC3339),
	}
}

// HoldDeleted is the response to DELETE /holds/{id}.
var HoldDeleted = done("Slot given back")
