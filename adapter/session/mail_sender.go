package session

import (
	"context"
	"html"
	"net/mail"
	"strings"

	"github.com/bookside/bookside/wpdb"
)

// The settings for the sender of notifications, by name.
const (
	settingSenderName    = "notification_email_setting_from_name"
	settingSenderAddress = "notification_email_setting_from_email"
)

// MailSender returns the sender of the site's notifications: the one in the plugin's settings, otherwise
// the site's name and its administrator's address (OsNotificationsHelper::get_email_headers_from).
func MailSender(ctx context.Context, db *wpdb.DB) (mail.Address, error) {
	settings, err := db.SettingValues(ctx, settingSenderName, settingSenderAddress)
	if err != nil {
		return mail.Address{}, err
	}
	options, err := db.OptionValues(ctx, "blogname", "admin_email")
	if err != nil {
		return mail.Address{}, err
	}
	site := mail.Address{Name: html.UnescapeString(wpdb.PlainText(options["blogname"])), Address: wpdb.PlainText(options["admin_email"])} // names are stored escaped
	sender := site
	if name, set := settings[settingSenderName]; set {
		sender.Name = name
	}
	if address, set := settings[settingSenderAddress]; set {
		sender.Address = address
	}
	if sender.Name == "" || sender.Address == "" {
		sender = site
	}
	return mail.Address{Name: strings.Join(strings.Fields(sender.Name), " "), Address: strings.TrimSpace(sender.Address)}, nil
}
