package extensions

// Catalogue is every extension that Bookside knows by name.
var Catalogue = []Extension{
	{ProFeatures, "Pro Features", []Part{
		{Times, Understood, "", "Off periods and limits of bookings per day count."},
		{Times, Understood, "enable_assets_functionality", "Rooms and devices that are taken close a time, and bookings by the API take them."},
		{Times, Understood, "", "Extras make a booking longer."},
		{Prices, Understood, "", "The prices of durations, attendees, the base fee, extras, coupons and taxes count."},
		{Acceptance, Understood, "", "Required custom fields of customers and bookings are asked for; a booking that requires a file is refused."},
		{Acceptance, Understood, "no_show_restrictions_enabled", "A booking for a customer with too many no-shows carries a warning."},
		{Acceptance, Understood, "", "A series of bookings is a list of bookings in the API; one in a single request is refused."},
		{Acceptance, TakesNoPart, "enable_cloudflare_turnstile", "Turnstile guards the site's form; a key guards the API."},
		{Records, Understood, "no_show_restrictions_enabled", "No-shows are counted."},
		{Records, Understood, "enable_cancellation_reason", "Reasons of cancellations are kept and shown."},
		{Records, Understood, "enable_reschedule_reason", "Reasons of reschedulings are kept and shown."},
		{Records, Understood, "", "Messages, extras and assets of a booking are deleted with it."},
		{Messages, RunAfterwards, "", "Messages about bookings by the API have its variables, such as those of extras."},
		{Pages, TakesNoPart, "", "Time zone selector, QR codes, white label and roles belong to the site's pages."},
	}},
	{GoogleCalendar, "Google Calendar", calendar("Google", "Meet")},
	{OutlookCalendar, "Outlook Calendar", calendar("Outlook", "Teams")},
	{AppleCalendar, "Apple Calendar", []Part{
		{Times, Understood, "enable_apple_calendar", "Appointments in an agent's Apple calendar block the agent."},
		{Reactions, RunAfterwards, "enable_apple_calendar", "Bookings by the API reach the agent's Apple calendar."},
	}},
	{Zoom, "Zoom", []Part{
		{Reactions, RunAfterwards, "enable_zoom", "Bookings by the API get their Zoom meeting."},
		{Messages, RunAfterwards, "enable_zoom", "Messages about bookings by the API have the link to the meeting."},
	}},

	// Payments are made on the site's pages.
	{"latepoint-payments-*", "Payments", []Part{
		{Acceptance, Understood, "", "If the site does not let customers pay later, a booking that is to be paid is refused unless its price is sent."},
		{Pages, TakesNoPart, "", "Customers pay on the site's pages: a booking by the API is unpaid until then."},
	}},
	{"latepoint-mailchimp", "Mailchimp", []Part{
		{Messages, RunAfterwards, "", "Workflows run its action for bookings by the API."},
	}},

	// The single add-ons that Pro Features replaces.
	{"latepoint-coupons", "Coupons", []Part{
		{Prices, NotHonoured, "", "Coupons do not reduce the price of a booking by the API."},
	}},
	{"latepoint-custom-fields", "Custom Fields", []Part{
		{Acceptance, NotHonoured, "", "Required custom fields are not asked for."},
	}},
	{"latepoint-group-bookings", "Group Bookings", []Part{
		{Prices, NotHonoured, "", "Prices lack the number of attendees."},
	}},
	{"latepoint-locations", "Locations", []Part{
		{Times, Understood, "", "Times and bookings are those of the location."},
	}},
	{"latepoint-messages", "Messages", []Part{
		{Records, NotHonoured, "", "Messages of a booking that is deleted remain."},
	}},
	{"latepoint-qr-code", "QR Code", []Part{
		{Pages, TakesNoPart, "", "It belongs to the site's pages."},
	}},
	{"latepoint-reminders", "Reminders", []Part{
		{Reactions, Understood, "", "Bookings by the API have the reminders of the site's workflows."},
	}},
	{"latepoint-role-manager", "Role Manager", []Part{
		{Pages, TakesNoPart, "", "Roles are those of wp-admin; a key has permissions of its own."},
	}},
	{"latepoint-service-durations", "Service Durations", []Part{
		{Prices, Understood, "", "The durations of a service and their prices count."},
	}},
	{"latepoint-service-extras", "Service Extras", []Part{
		{Times, NotHonoured, "", "Extras do not lengthen a booking."},
		{Prices, NotHonoured, "", "Prices lack extras."},
	}},
	{"latepoint-taxes", "Taxes", []Part{
		{Prices, NotHonoured, "", "Prices lack taxes."},
	}},
	{"latepoint-timezone-selector", "Timezone Selector", []Part{
		{Pages, TakesNoPart, "", "It belongs to the site's pages."},
	}},
	{"latepoint-webhooks", "Webhooks", []Part{
		{Reactions, Understood, "", "Bookings by the API call the URLs of the site's workflows."},
	}},

	// By other vendors.
	{"dynamic-pricing-latepoint", "Dynamic Pricing", []Part{
		{Prices, NotHonoured, "", "It changes prices: bookings by the API have the service's own price."},
	}},
	{"latepoint-linked-services", "Linked Services", []Part{
		{Acceptance, Understood, "", "Services with linked ones are booked on the site's pages; the API refuses them."},
	}},
}

// calendar returns the parts of a calendar add-on whose events block even if its switch is off.
func calendar(name, meeting string) []Part {
	return []Part{
		{Times, Understood, "", "Appointments in an agent's " + name + " calendar block the agent."},
		{Reactions, RunAfterwards, "", "Bookings by the API reach the agent's " + name + " calendar."},
		{Messages, RunAfterwards, "", "Messages about bookings by the API have the " + meeting + " link."},
	}
}
