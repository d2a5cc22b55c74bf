package slots

import (
	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
)

// Hold is a slot kept for a customer.
type Hold struct {
	ID int64
	availability.Resource
	Start, End availability.Moment
	Duration   int64 // minutes, without those of the extras
	Attendees  int64
	Extras     []ChosenExtra
	CreatedAt  domain.Timestamp
	ExpiresAt  domain.Timestamp
}
