// Package availability computes which start times of a day are free: the slots of
// LatePoint 5.6.5, from rows that the caller has read. It uses no database, no HTTP and
// no clock.
//
// A [Calendar] consists of the connections, working hours, bookings and limits of one
// service. [Calendar.Day] returns the grid of a day, [Calendar.Assign] chooses agent and
// location for a start. Days and minutes are those of the site's zone. A day has 1440
// minutes; on one on which the clock skips some of them, [Clock] says when a booking ends,
// and bookings are compared by the instants at which they take place.
//
// It imports nothing but the standard library.
package availability
