package availability

// Reason says why a start is not offered.
type Reason string

// The reasons; Free for a start that is offered.
const (
	Free          Reason = ""
	Booked        Reason = "booked"     // a booking overlaps
	OnHold        Reason = "hold"       // held for a customer
	Buffer        Reason = "buffer"     // only buffers overlap a booking
	NoCapacity    Reason = "capacity"   // too few seats are left, or the day is full
	Off           Reason = "off_period" // time off
	OwnEvent      Reason = "calendar"   // an event of the agent's own calendar
	AssetTaken    Reason = "asset"      // a room or a device is taken
	NotOffered    Reason = "extension"  // an extension of the site does not offer it
	OutsideWindow Reason = "outside_window"
	Past          Reason = "past"
)

// BesideHold stands for Buffer in the message of a start that is too close to a hold.
const BesideHold Reason = "buffer of a hold"

// reasonMessages say the reasons to people who know the site, but not how it is set up.
var reasonMessages = map[Reason]string{
	Booked:        "Another booking overlaps.",
	OnHold:        "It is kept for somebody who is booking it right now; it may be free again in some minutes.",
	Buffer:        "It is too close to another booking: the time before or after one of them overlaps.",
	BesideHold:    "It is too close to a time that is kept for somebody who is booking it right now: the time before or after one of them overlaps.",
	NoCapacity:    "Too few seats are left, or the day has as many bookings as it may have.",
	Off:           "The agent, the location, the service or the whole site has time off.",
	OwnEvent:      "The agent has something else in a calendar of their own.",
	AssetTaken:    "A room or a device that the service needs is taken.",
	NotOffered:    "An extension of the site does not offer it.",
	OutsideWindow: "It is too soon, or too far ahead, for the site to accept bookings.",
	Past:          "It is in the past.",
}

// Message returns the reason as a sentence.
func (r Reason) Message() string { return reasonMessages[r] }

// Message says as a sentence why the start is not offered.
func (s Slot) Message() string {
	if s.Reason == Buffer && s.Booking == 0 {
		return BesideHold.Message()
	}
	return s.Reason.Message()
}
