package notify

import (
	"context"
	"errors"
	"path"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// logoURL returns the address of the business's logo, or of the plugin's own if there is none
// (OsSettingsHelper::get_business_logo_url, LatePoint 5.6.5, and WordPress's image_downsize): the thumbnail
// if the image has one.
func logoURL(ctx context.Context, s *session.Session, w session.WriteSettings) (string, error) {
	fallback := strings.TrimRight(w.SiteURL, "/") + "/wp-content/plugins/latepoint/public/images/logo.png"
	id, err := strconv.ParseInt(w.Settings[session.SettingBusinessLogo], 10, 64)
	if err != nil || id <= 0 {
		return fallback, nil //nolint:nilerr // no image
	}
	const file, details = "_wp_attached_file", "_wp_attachment_metadata"
	stmt := sq.Select("meta_key", "meta_value").From(s.DB.Name(wpdb.Postmeta)).Where(sq.Eq{"post_id": id, "meta_key": []string{file, details}})
	meta, err := wpdb.Map[string, string](ctx, s.DB, "read logo", stmt)
	switch {
	case errors.Is(err, wpdb.ErrAccessDenied), errors.Is(err, wpdb.ErrSchema):
		return fallback, nil // a database user of an earlier version, who may not read the table
	case err != nil:
		return "", err
	case meta[file] == "":
		return fallback, nil
	}
	return w.UploadURL + "/" + thumbnail(meta[file], meta[details]), nil
}

// thumbnail returns the file of an image's thumbnail, which is beside the image, or otherwise the image.
// details is serialised.
func thumbnail(file, details string) string {
	value, err := wpdb.UnserializePHP(details)
	for _, key := range []string{"sizes", "thumbnail", "file"} {
		array, ok := value.(map[any]any)
		if err != nil || !ok {
			return file
		}
		value = array[key]
	}
	if name, ok := value.(string); ok && name != "" {
		return path.Join(path.Dir(file), name)
	}
	return file
}
