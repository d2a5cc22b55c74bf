// Package adapter is the booking domain in the platform's own words: bookings, customers, agents, services,
// locations, orders, payments and coupons of a LatePoint 5 site, read from and written to the site's
// tables. It has no code itself, only the tests that concern several of its packages, such as the recorded
// writes of a real site.
//
// A session.Platform is the installation. Its Serve and Session return one request's view of it, a
// session.Session, which reads; session.Session.Transact begins a session.Tx, which writes. Functions of
// small packages take one or the other, from the top down:
//
//	bookings                         list, create, change, delete; holds; calendars of agents
//	customers orders payments        the same for these, with users, invoices and coupons
//	catalog                          agents, services, categories, locations
//	upkeep                           what no request waits for
//	notify                           events: activities, jobs of automations
//	slots                            rows to availability, and the slot of a booking
//	records                          bookings, orders, customers and payments by their ids
//	lists                            page, order, count, export
//	session                          session, transaction, scope of a key, settings, locks, rows
//
// The others know no session: availability, automation, sanitize and icalendar are pure; keys, journal,
// webhooks, idempotency and indexes have tables of their own; queue is what
// webhooks, events and journal have in common.
package adapter
