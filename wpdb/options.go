package wpdb

import (
	"context"
	"errors"
	"path"

	sq "github.com/Masterminds/squirrel"
)

// OptionValues reads WordPress options as they are stored, which for arrays is
// serialised: PlainText is the text of one that is none. Absent ones are absent
// from the map. Nothing is cached: PHP may have written a moment ago. Uses the unique index
// on option_name.
func (db *DB) OptionValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("option_name", "option_value").From(db.Name(Options)).Where(sq.Eq{"option_name": names})
	return Map[string, string](ctx, db, "read options", stmt)
}

// SettingValues reads the plugin's settings, as PlainText has them; absent ones
// are absent from the map. Where a name stands twice the first row counts
// (OsSettingsHelper::get_settings_value, LatePoint 5.6.5). Uses the index on
// name.
func (db *DB) SettingValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("name", "value").From(db.Name(Settings)).Where(sq.Eq{"name": names}).OrderBy("id")
	values, err := Map[string, string](ctx, db, "read settings", stmt)
	for name, stored := range values {
		values[name] = PlainText(stored)
	}
	return values, err
}

// PluginActive tells whether a plugin file, such as latepoint.php, is active.
// activePlugins is the option active_plugins; where it says no, the network's
// own list is asked. The plugin's folder may have any name.
func (db *DB) PluginActive(ctx context.Context, activePlugins, file string) (bool, error) {
	if ListsPlugin(activePlugins, file) {
		return true, nil
	}
	value, err := db.networkOption(ctx, "active_sitewide_plugins")
	if err != nil {
		return false, err
	}
	return ListsPlugin(value, file), nil
}

// SuperAdmins are the logins of those who may do everything on a network; none
// on a site of its own.
func (db *DB) SuperAdmins(ctx context.Context) ([]string, error) {
	list, err := db.networkOption(ctx, "site_admins")
	if err != nil {
		return nil, err
	}
	value, err := MaybeUnserialize(list)
	admins, ok := value.(*PHPArray)
	if err != nil || !ok {
		return nil, nil //nolint:nilerr // a site of its own has no such list
	}
	var logins []string
	for _, login := range admins.All() {
		if name, ok := login.(string); ok {
			logins = append(logins, name)
		}
	}
	return logins, nil
}

// networkOption is an option of the network, "" on a site of its own.
func (db *DB) networkOption(ctx context.Context, name string) (string, error) {
	stmt := sq.Select("meta_value").From(db.Name(Sitemeta)).Where(sq.Eq{"meta_key": name}).OrderBy("meta_id").Limit(1)
	value, _, err := One(ctx, db, "read network options", stmt, func(row Scanner) (value string, err error) {
		err = row.Scan(OrZero(&value))
		return value, err
	})
	switch {
	case errors.Is(err, ErrSchema):
		return "", nil // not a network
	case errors.Is(err, ErrAccessDenied):
		network, probeErr := db.inNetwork(ctx)
		if probeErr != nil {
			return "", errors.Join(err, probeErr)
		}
		if !network {
			return "", nil
		}
	}
	return value, err
}

// inNetwork tells a network by a column that its users have, for an account
// with rights on single tables: to such a one a server does not tell whether
// there is a table of network options.
func (db *DB) inNetwork(ctx context.Context) (bool, error) {
	stmt := sq.Select("1").From("information_schema.columns").
		Where("table_schema = DATABASE()").Where(sq.Eq{"table_name": db.FullName(Users), "column_name": "spam"})
	_, network, err := One(ctx, db, "look for a network", stmt, Value[int])
	return network, err
}

// ListsPlugin tells whether a plugin file stands among the values (a site's
// list) or keys (a network's list) of a serialised array. What cannot be read
// lists nothing.
func ListsPlugin(serialised, file string) bool {
	value, err := MaybeUnserialize(serialised)
	list, ok := value.(*PHPArray)
	if err != nil || !ok {
		return false
	}
	for key, value := range list.All() {
		for _, entry := range []any{key, value} {
			if name, ok := entry.(string); ok && path.Base(name) == file {
				return true
			}
		}
	}
	return false
}
