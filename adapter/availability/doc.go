// Package availability computes which start times of a day are free: the slots
// of LatePoint 5.6.5, from rows that the caller has read. It knows no database,
// no HTTP and no clock, and imports the standard library alone.
//
// A [Calendar] is made of one service's connections, working hours, bookings
// and limits; [Calendar.Day] answers for one day, [Calendar.Assign] chooses
// agent and location for a start. Days and minutes are of the site's zone, and
// daylight saving plays no part in them: a day has 1440 minutes.
package availability
