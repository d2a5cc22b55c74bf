package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/wpdb"
)

// Extension reports whether the extension with an id, such as extensions.GoogleCalendar, is
// active: in the site's list of active plugins, in the network's if the plugin itself is active
// there, or in the plugin's own list, which is SettingAddOns among the settings.
func (s *Session) Extension(id string, settings map[string]string) bool {
	return slices.Contains(addOns(settings), id) || s.plugins.Active(extensions.File(id))
}

// FindExtension is Extension for those who have not read the settings: it reads them only if the sites' lists do not have the extension.
func FindExtension(ctx context.Context, s *Session, id string) (bool, error) {
	if s.Extension(id, nil) {
		return true, nil
	}
	settings, err := s.DB.SettingValues(ctx, SettingAddOns)
	return s.Extension(id, settings), err
}

// HasTable reports whether a table of an add-on exists. If it exists but the schema does not know it yet,
// because the add-on was installed after we started, the error is a wpdb.ErrSchema, so that the schema is read
// again.
func HasTable(ctx context.Context, s *Session, table wpdb.Table) (bool, error) {
	if s.Schema.Has(table) {
		return true, nil
	}
	_, _, err := wpdb.One(ctx, s.DB, "look for a table", sq.Select("1").From(s.DB.Name(table)).Limit(1), wpdb.Value[int64])
	switch {
	case errors.Is(err, wpdb.ErrSchema), errors.Is(err, wpdb.ErrAccessDenied): // with privileges on single tables only, the server hides that a table is missing
		return false, nil
	case err != nil:
		return false, err
	default:
		return false, fmt.Errorf("the table %s is new: %w", table, wpdb.ErrSchema)
	}
}

// EarlyGoogleCalendar reports whether the Google Calendar add-on is known to be older than 1.6, whose
// tables have version 1.0.2.
func EarlyGoogleCalendar(s *Session) bool {
	version := wpdb.PlainText(s.options[domain.OptionGoogleCalendar])
	return versionAtLeast(version, "0") && !versionAtLeast(version, "1.0.2")
}

// EventTables are the tables in which an add-on stores the events of agents' own calendars.
type EventTables struct{ Events, Recurrences wpdb.Table }

// In reports whether a schema has both tables.
func (t EventTables) In(schema *wpdb.Schema) bool {
	return hasTables(schema, []wpdb.Table{t.Events, t.Recurrences})
}

func hasTables(schema *wpdb.Schema, tables []wpdb.Table) bool {
	return !slices.ContainsFunc(tables, func(t wpdb.Table) bool { return !schema.Has(t) })
}

// CalendarTables are the event tables of the calendar add-ons.
var CalendarTables = map[string]EventTables{
	extensions.GoogleCalendar:  {wpdb.GoogleEvents, wpdb.GoogleRecurrences},
	extensions.OutlookCalendar: {wpdb.OutlookEvents, wpdb.OutlookRecurrences},
	extensions.AppleCalendar:   {wpdb.AppleEvents, wpdb.AppleRecurrences},
}

// AssetTables are the tables in which Pro Features stores assets, and what takes them.
var AssetTables = []wpdb.Table{wpdb.AgentsAssets, wpdb.Assets, wpdb.BookingsAssets, wpdb.ServicesAssets}

// unreadTables returns what has tables that cannot be seen: the ids of active calendar add-ons, and the setting of assets.
func unreadTables(ctx context.Context, s *Session, settings map[string]string) (unread []string, err error) {
	needed := map[string][]wpdb.Table{}
	for id, tables := range CalendarTables {
		if s.Extension(id, settings) {
			needed[id] = []wpdb.Table{tables.Events, tables.Recurrences}
		}
	}
	if settings[SettingAssets] == On && s.Extension(extensions.ProFeatures, settings) {
		needed[SettingAssets] = AssetTables
	}
	schema := s.Schema
	for what, tables := range needed {
		if !hasTables(schema, tables) && schema == s.Schema { // the add-on may have created them since
			s.DB.ForgetSchema()
			if schema, err = s.DB.Schema(ctx, s.Schema.Version); err != nil {
				return nil, err
			}
		}
		if !hasTables(schema, tables) {
			unread = append(unread, what)
		}
	}
	return unread, nil
}

// addOns returns the ids in the plugin's own list (OsSettingsHelper::get_active_addons).
func addOns(settings map[string]string) []string {
	var ids []string
	if json.Unmarshal([]byte(settings[SettingAddOns]), &ids) != nil {
		return nil
	}
	return ids
}

// Extensions returns all active extensions, as Extension finds them, and how Bookside treats each.
func (s *Session) Extensions(ctx context.Context) ([]extensions.Active, error) {
	versions := map[string]string{} // ids by option
	for _, e := range extensions.Catalogue {
		versions[extensions.VersionOption(e.ID)] = e.ID
	}
	settings, options, err := s.DB.SettingsAndOptions(ctx, append(extensions.Settings(), SettingAddOns), append(slices.Sorted(maps.Keys(versions)), domain.OptionReported))
	if err != nil {
		return nil, err
	}
	unread, err := unreadTables(ctx, s, settings)
	if err != nil {
		return nil, err
	}
	site := extensions.Site{Plugins: s.plugins.Files(), AddOns: addOns(settings), Settings: settings, Versions: map[string]string{}, Unread: unread,
		Events: s.reported(domain.OptionEvents)}
	site.AsksWordPress, _ = canAsk(s)
	for option, version := range options {
		site.Versions[versions[option]] = wpdb.PlainText(version)
	}
	if options[domain.OptionReported] != "" { // the companion has reported
		site.Reports, err = reports(ctx, s)
	}
	return site.Active(), err
}

// reports returns what the companion reported, or nothing if that cannot be read.
func reports(ctx context.Context, s *Session) (reports []extensions.Report, err error) {
	stmt := sq.Select("plugins").From(s.DB.Name(wpdb.Extensions)).Where(sq.Eq{"id": 1})
	text, found, err := wpdb.One(ctx, s.DB, "read report of extensions", stmt, wpdb.Value[string])
	switch {
	case errors.Is(err, wpdb.ErrSchema), errors.Is(err, wpdb.ErrAccessDenied):
		return nil, nil
	case err != nil || !found:
		return nil, err
	}
	if json.Unmarshal([]byte(text), &reports) != nil {
		return nil, nil //nolint:nilerr // somebody else's
	}
	return reports, nil
}

// CheckExtensions returns a CodeUnavailable that names the active extensions that would decide about a
// booking but are not honoured, if the site refuses such bookings.
func (s *Session) CheckExtensions(ctx context.Context) error {
	if !s.Platform.Config.RefuseIgnored {
		return nil
	}
	active, err := s.Extensions(ctx)
	if err != nil {
		return err
	}
	deciding := slices.DeleteFunc(active, func(a extensions.Active) bool { return !a.Decides() })
	if len(deciding) == 0 {
		return nil
	}
	return domain.Unavailable("Extensions of this site decide about bookings and are not honoured, so that it refuses them: "+extensions.Titles(deciding), nil)
}
