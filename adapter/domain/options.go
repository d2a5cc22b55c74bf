package domain

// Options are the WordPress options that say whether and how the platform runs, as stored, by name; nil
// without a table of options.
type Options map[string]string

// OptionNames are the names in Options.
var OptionNames = []string{OptionActivePlugins, "latepoint_db_version", "timezone_string", "gmt_offset", OptionGoogleCalendar, OptionCompanion, OptionEvents, OptionReported}

const (
	// OptionActivePlugins is the site's list of active plugins, serialised.
	OptionActivePlugins = "active_plugins"
	// OptionGoogleCalendar is the version of the Google Calendar add-on's tables, whose rules differ by
	// version.
	OptionGoogleCalendar = "latepoint-google-calendar_addon_db_version"
	// OptionCompanion has the version of the companion and when WordPress last loaded it, to a day: a Unix time. It is empty
	// once the companion was removed.
	OptionCompanion = "bookside_companion_seen"
	// OptionEvents lists the events that extensions of the site listen to, separated by spaces. The
	// companion writes it.
	OptionEvents = "bookside_companion_events"
	// OptionReported has when the companion reported what listens to LatePoint, and how many listeners there
	// are: a fingerprint, the Unix time and a number, separated by spaces.
	OptionReported = "bookside_companion_extensions"
)
