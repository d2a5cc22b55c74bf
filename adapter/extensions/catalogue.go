package extensions

// Catalogue is every extension that is known by name.
var Catalogue = []Extension{
	{ProFeatures, "Pro Features", []Part{
		{Times, Understood, "", "Off periods and limits of bookings per day count."},
		{Times, NotHonoured, "enable_assets_functionality", "Rooms and devices that are taken do not close a time, and bookings by the API take none."},
		{Times, NotHonoured, "", "Extras do not lengthen a booking."},
		{Prices, Understood, "", "The prices of a service's durations count."},
		{Prices, NotHonoured, "", "Prices lack the number of attendees, the base fee, extras and taxes."},
		{Prices, NotHonoured, "", "Coupons do not reduce the price of a booking by the API."},
		{Acceptance, Understood, "", "Required custom fields of customers are asked for."},
		{Acceptance, NotHonoured, "", "Required custom fields of bookings are not asked for."},
		{Acceptance, NotHonoured, "no_show_restrictions_enabled", "Customers who did not appear before can book, and their number is not counted."},
		{Acceptance, TakesNoPart, "enable_cloudflare_turnstile", "Turnstile guards the site's form; a key guards the API."},
		{Records, NotHonoured, "enable_cancellation_reason", "Reasons of cancellations are not kept."},
		{Records, NotHonoured, "enable_reschedule_reason", "Reasons of reschedulings are not kept."},
		{Records, NotHonoured, "", "Messages, extras and assets of a booking that is deleted remain."},
		{Pages, TakesNoPart, "", "Time zone selector, QR codes, white label and roles belong to the site's pages."},
	}},
	{GoogleCalendar, "Google Calendar", calendar("Google", "Meet")},
	{OutlookCalendar, "Outlook Calendar", calendar("Outlook", "Teams")},
	{AppleCalendar, "Apple Calendar", []Part{
		{Times, NotHonoured, "enable_apple_calendar", "Appointments in an agent's Apple calendar do not block times."},
		{Reactions, NotHonoured, "enable_apple_calendar", "Bookings by the API do not reach the agent's Apple calendar."},
	}},
	{Zoom, "Zoom", []Part{
		{Reactions, NotHonoured, "enable_zoom", "Bookings by the API have no Zoom meeting, and their mails no link."},
	}},
}

// calendar are the parts of an add-on for a calendar whose events block with its switch off, too.
func calendar(name, meeting string) []Part {
	return []Part{
		{Times, NotHonoured, "", "Appointments in an agent's " + name + " calendar do not block times."},
		{Reactions, NotHonoured, "", "Bookings by the API do not reach the agent's " + name + " calendar and have no " + meeting + " link."},
	}
}
