package session

import (
	"context"
	"encoding/json"
	"slices"

	"bookside/adapter/domain"
	"bookside/adapter/extensions"
	"bookside/wpdb"
)

// Extension reports whether the extension with an id, such as extensions.GoogleCalendar, is
// active: in the site's list of active plugins, in the network's if the plugin itself is active
// there, or in the plugin's own list, which is SettingAddOns among the settings.
func (s *Session) Extension(ctx context.Context, id string, settings map[string]string) (bool, error) {
	var addOns []string
	if json.Unmarshal([]byte(settings[SettingAddOns]), &addOns) == nil && slices.Contains(addOns, id) {
		return true, nil
	}
	plugins := s.options[domain.OptionActivePlugins]
	if wpdb.ListsPlugin(plugins, pluginFile) {
		return wpdb.ListsPlugin(plugins, extensions.File(id)), nil
	}
	return s.DB.PluginActive(ctx, plugins, extensions.File(id))
}

// GoogleCalendarVersion is the version of the Google Calendar add-on's tables, such as 1.0.2; empty
// if it is unknown.
func (s *Session) GoogleCalendarVersion() string {
	return wpdb.PlainText(s.options[domain.OptionGoogleCalendar])
}
