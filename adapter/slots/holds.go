package slots

import (
	"bookside/adapter/availability"
	"bookside/adapter/domain"
)

// Hold is a slot that is kept for a customer who has yet to book.
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
