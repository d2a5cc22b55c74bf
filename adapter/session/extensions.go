package session

import (
	"encoding/json"
	"slices"

	"bookside/adapter/domain"
	"bookside/adapter/extensions"
	"bookside/wpdb"
)

// Extension reports whether the extension with an id, such as extensions.GoogleCalendar, is
// active: in the site's list of active plugins, in the network's if the plugin itself is active
// there, or in the plugin's own list, which is SettingAddOns among the settings.
func (s *Session) Extension(id string, settings map[string]string) bool {
	var addOns []string
	if json.Unmarshal([]byte(settings[SettingAddOns]), &addOns) == nil && slices.Contains(addOns, id) {
		return true
	}
	return s.plugins.Active(extensions.File(id))
}

// GoogleCalendarVersion is the version of the Google Calendar add-on's tables, such as 1.0.2; empty
// if it is unknown.
func (s *Session) GoogleCalendarVersion() string {
	return wpdb.PlainText(s.options[domain.OptionGoogleCalendar])
}

// EarlyGoogleCalendar reports whether the Google Calendar add-on is known to be of a version before
// 1.6, whose tables have a version before 1.0.2.
func (s *Session) EarlyGoogleCalendar() bool {
	version := s.GoogleCalendarVersion()
	return versionAtLeast(version, "0") && !versionAtLeast(version, "1.0.2")
}
