package wpdb

import (
	"context"
	"errors"
	"iter"
	"maps"
	"path"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"
)

// OptionValues reads WordPress options as they are stored: arrays are serialised, and PlainText returns the
// text of other values. Options that do not exist are not in the map. As in WordPress, the constants of
// [Config] take precedence over their options. Nothing is cached, because PHP may have changed a value a
// moment ago. Uses the unique index on option_name.
func (db *DB) OptionValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("option_name", "option_value").From(db.Name(Options)).Where(sq.Eq{"option_name": names})
	values, err := Map[string, string](ctx, db, "read options", stmt)
	if err != nil {
		return nil, err
	}
	db.putConstants(values, names)
	return values, nil
}

// putConstants replaces the values of options with the constants that override them.
func (db *DB) putConstants(values map[string]string, names []string) {
	for _, name := range names {
		if constant, ok := db.constants[name]; ok {
			values[name] = constant
		}
	}
}

// settingValue is the value of a setting. PHP formats numbers with its own separators where those of a site are NULL.
const settingValue = "COALESCE(value, CASE name WHEN 'thousand_separator' THEN ',' WHEN 'decimal_separator' THEN '.' END)"

// SettingValues reads the plugin's settings, decoded with PlainText; settings
// that do not exist are not in the map. If a name occurs twice, the first row
// counts (OsSettingsHelper::get_settings_value, LatePoint 5.6.5). Uses the
// index on name.
func (db *DB) SettingValues(ctx context.Context, names ...string) (map[string]string, error) {
	stmt := sq.Select("name", settingValue).From(db.Name(Settings)).Where(sq.Eq{"name": names}).OrderBy("id")
	values, err := Map[string, string](ctx, db, "read settings", stmt)
	for name, stored := range values {
		values[name] = PlainText(stored)
	}
	return values, err
}

// SettingsAndOptions is SettingValues and OptionValues in one statement. The columns of both stay
// apart, because the tables may have different collations.
func (db *DB) SettingsAndOptions(ctx context.Context, settings, options []string) (ofPlugin, ofWordPress map[string]string, err error) {
	type value struct {
		id            *int64 // of a setting
		name, setting string
		key, option   string
	}
	named := sq.Select("id", "name", settingValue, "NULL", "NULL").From(db.Name(Settings)).Where(sq.Eq{"name": settings})
	stmt := named.SuffixExpr(sq.ConcatExpr("UNION ALL ", sq.Select("NULL", "NULL", "NULL", "option_name", "option_value").From(db.Name(Options)).Where(sq.Eq{"option_name": options})))
	found, err := All(ctx, db, "read settings and options", stmt, func(row Scanner) (v value, err error) {
		return v, row.Scan(&v.id, OrZero(&v.name), OrZero(&v.setting), OrZero(&v.key), OrZero(&v.option))
	})
	if err != nil {
		return nil, nil, err
	}
	ofPlugin, ofWordPress = map[string]string{}, map[string]string{}
	first := map[string]int64{}
	for _, v := range found {
		switch {
		case v.id == nil:
			ofWordPress[v.key] = v.option
		case first[v.name] == 0 || *v.id < first[v.name]:
			ofPlugin[v.name], first[v.name] = PlainText(v.setting), *v.id
		}
	}
	db.putConstants(ofWordPress, options)
	return ofPlugin, ofWordPress, nil
}

// Plugins are a site's lists of active plugins as they are stored: the site's own and, where that lacks a
// plugin that matters, the network's.
type Plugins []string

// Plugins returns the lists that decide whether a plugin file, such as latepoint.php, is active:
// activePlugins, which is the site's option active_plugins, and the network's list if the file is not in
// it. Without the plugin there are none.
func (db *DB) Plugins(ctx context.Context, activePlugins, file string) (Plugins, error) {
	plugins := Plugins{activePlugins}
	if plugins.Active(file) {
		return plugins, nil
	}
	network, err := db.networkOption(ctx, "active_sitewide_plugins")
	if err != nil {
		return nil, err
	}
	if plugins = append(plugins, network); !plugins.Active(file) {
		return nil, nil
	}
	return plugins, nil
}

// Active reports whether a plugin file is active. The plugin's directory may have any name.
func (p Plugins) Active(file string) bool {
	return slices.ContainsFunc(p, func(list string) bool { return listsPlugin(list, file) })
}

// Files returns the files of all active plugins, each with its directory.
func (p Plugins) Files() (files []string) {
	for _, list := range p {
		files = append(files, listedPlugins(list)...)
	}
	return files
}

// SuperAdmins returns the logins of a network's super admins, none for a site outside a network.
func (db *DB) SuperAdmins(ctx context.Context) ([]string, error) {
	list, err := db.networkOption(ctx, "site_admins")
	if err != nil {
		return nil, err
	}
	value, err := MaybeUnserialize(list)
	admins, ok := value.(map[any]any)
	if err != nil || !ok {
		return nil, nil //nolint:nilerr // without a network there is no such list
	}
	return textsIn(maps.Values(admins)), nil
}

// networkOption returns an option of the network, or an empty text for a site outside a network.
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

// inNetwork detects a network for accounts with privileges on single tables, which cannot learn from the
// server whether there is a table of network options. It looks for a column of the users, which only some
// accounts can see, or for users' metadata.
func (db *DB) inNetwork(ctx context.Context) (bool, error) {
	column := sq.Select("1").From("information_schema.columns").
		Where("table_schema = DATABASE()").Where(sq.Eq{"table_name": db.FullName(Users), "column_name": "spam"})
	home := sq.Select("1").From(db.Name(Usermeta)).Where(sq.Eq{"meta_key": "primary_blog"})
	stmt := sq.Select().Column(sq.Expr("EXISTS (?) OR EXISTS (?)", column, home))
	network, _, err := One(ctx, db, "look for a network", stmt, Value[bool])
	return network, err
}

// listsPlugin reports whether a plugin file, in whatever directory, is among listedPlugins.
func listsPlugin(serialised, file string) bool {
	if !strings.Contains(serialised, file) { // saves most sites the parsing
		return false
	}
	return slices.ContainsFunc(listedPlugins(serialised), func(listed string) bool { return path.Base(listed) == file })
}

// listedPlugins returns the plugin files that are values (of a site's list) or keys (of a network's
// list) of a serialised array. An unreadable value lists nothing.
func listedPlugins(serialised string) (files []string) {
	value, err := MaybeUnserialize(serialised)
	list, ok := value.(map[any]any)
	if err != nil || !ok {
		return nil
	}
	return append(textsIn(maps.Keys(list)), textsIn(maps.Values(list))...)
}

// textsIn returns the texts among values, in order.
func textsIn(values iter.Seq[any]) (texts []string) {
	for value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	slices.Sort(texts)
	return texts
}
