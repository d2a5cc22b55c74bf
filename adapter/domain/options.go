package domain

// Options are the WordPress options that say whether and how the platform runs, as they
// are stored, by name; nil where there is no table of options.
type Options map[string]string

// OptionNames are the names in Options.
var OptionNames = []string{"active_plugins", "latepoint_db_version", "timezone_string", "gmt_offset"}
