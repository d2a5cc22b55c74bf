// Package slots reads the rows that availability is computed from, offers times, says why a time is not
// free, and assigns a slot to a booking within its transaction ([Assign]).
//
// It imports records and what records imports. It writes no booking.
package slots
