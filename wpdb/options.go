package wpdb

import (
	"context"
	"errors"
	"path"

	sq "github.com/Masterminds/squirrel"
)

// OptionValues reads WordPress options; absent ones are absent from the map.
// Nothing is cached: PHP may have written a moment ago. Uses the unique index
// on option_name.
func (db *DB) OptionValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("option_name", "option_value").From(db.Name(Options)).Where(sq.Eq{"option_name": names})
	return db.pairs(ctx, "read options", stmt)
}

// SettingValues reads the plugin's settings; absent ones are absent from the
// map. Where a name stands twice the first row counts
// (OsSettingsHelper::get_settings_value, LatePoint 5.6.5). Uses the index on
// name.
func (db *DB) SettingValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("name", "value").From(db.Name(Settings)).Where(sq.Eq{"name": names}).OrderBy("id")
	return db.pairs(ctx, "read settings", stmt)
}

func (db *DB) pairs(ctx context.Context, op string, stmt sq.Sqlizer) (map[string]string, error) {
	type pair struct {
		name  string
		value *string
	}
	found, err := All(ctx, db, op, stmt, func(row Scanner) (p pair, err error) {
		err = row.Scan(&p.name, &p.value)
		return p, err
	})
	if err != nil {
		return nil, err
	}
	values := make(map[string]string, len(found))
	for _, p := range found {
		if _, seen := values[p.name]; !seen {
			values[p.name] = deref(p.value)
		}
	}
	return values, nil
}

// PluginActive tells whether a plugin file, such as latepoint.php, is active.
// activePlugins is the option active_plugins; where it says no, the network's
// own list is asked. The plugin's folder may have any name.
func (db *DB) PluginActive(ctx context.Context, activePlugins, file string) (bool, error) {
	if listsPlugin(activePlugins, file) {
		return true, nil
	}
	stmt := sq.Select("meta_value").From(db.Name(Sitemeta)).Where(sq.Eq{"meta_key": "active_sitewide_plugins"}).OrderBy("meta_id").Limit(1)
	value, _, err := One(ctx, db, "read network plugins", stmt, func(row Scanner) (value string, err error) {
		err = row.Scan(OrZero(&value))
		return value, err
	})
	if errors.Is(err, ErrSchema) {
		return false, nil // not a network
	}
	if err != nil {
		return false, err
	}
	return listsPlugin(value, file), nil
}

// listsPlugin looks for the file among the values (a site's list) and keys (a
// network's list) of a serialised array. What cannot be read lists nothing.
func listsPlugin(serialised, file string) bool {
	value, err := UnserializePHP(serialised)
	if err != nil {
		return false
	}
	list, ok := value.(*PHPArray)
	if !ok {
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
