package records

import (
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/session"
)

// The keys of the booking meta in which Pro Features keeps why a booking was cancelled and why it was changed.
const (
	CancellationReason = "cancellation_reason"
	RescheduleReason   = "reschedule_reason"
)

// MoveReason stands for the one of them that belongs to a change, in what a client sends with a mere change of status.
const MoveReason = "reason"

// ReasonKeys are both.
var ReasonKeys = []string{CancellationReason, RescheduleReason}

// AskedReasons returns the reasons of a booking to which nobody gave any: "" for each that the site asks for, by key,
// as its settings say (OsFeatureBookingReasonsHelper::is_enabled, Pro Features 1.6); nil where it asks for none.
func AskedReasons(s *session.Session, settings map[string]string) map[string]string {
	if !s.Extension(extensions.ProFeatures, settings) {
		return nil
	}
	var asked map[string]string
	for _, key := range ReasonKeys {
		if settings[session.SettingOfReason+key] != session.On {
			continue
		}
		if asked == nil {
			asked = map[string]string{}
		}
		asked[key] = ""
	}
	return asked
}
