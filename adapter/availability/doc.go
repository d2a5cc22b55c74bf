// Package availability computes which start times of a day are free: the slots of LatePoint 5.6.5, from
// rows that the caller has read, and from events in the calendars of agents.
//
// A [Calendar] consists of the connections, working hours, bookings and limits of one service.
// [Calendar.Day] returns the grid of a day, [Calendar.Assign] chooses agent and location for a start. Days
// and minutes are in the site's zone. A day has 1440 minutes; when the clock skips some of them, [Clock]
// says when a booking ends, and bookings are compared by instant.
//
// It uses no database, no HTTP and no clock, and imports nothing but the standard library.
package availability
