package adapter

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"bookside/adapter/availability"
	"bookside/adapter/language"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// The settings that slots depend on, by name.
const (
	settingBlockingStatuses = "timeslot_blocking_statuses"
	settingStep             = "timeblock_interval"
	settingEarliest         = "earliest_possible_booking"
	settingLatest           = "latest_possible_booking"
	settingOneLocation      = "one_location_at_time"
	settingManyServices     = "multiple_services_at_time"
	settingOneAgent         = "one_agent_at_location"
	settingAgentOrder       = "any_agent_order"
	settingAddOns           = "active_addons"
)

// The settings that writes and messages depend on, by name.
const (
	settingDateFormat      = "date_format"
	settingTimeSystem      = "time_system"
	settingInvoices        = "enable_invoices"
	settingFreeInvoices    = "create_invoices_for_free_bookings"
	settingInvoiceCompany  = "invoices_company_name"
	settingInvoiceFrom     = "invoices_data_from"
	settingInvoiceTo       = "invoices_data_to"
	settingInvoiceTaxID    = "invoices_tax_id"
	settingLogAddress      = "log_customer_ip_address"
	settingMailProcessor   = "notifications_email_processor"
	settingBusinessName    = "business_name"
	settingBusinessPhone   = "business_phone"
	settingBusinessAddress = "business_address"
	settingBusinessLogo    = "business_logo"
	settingOwnStatuses     = "additional_booking_statuses"

	settingDashboard        = "page_url_customer_dashboard"
	settingTerseDates       = "disable_verbose_date_output"
	settingUsersAsCustomers = wpdb.UsersAsCustomers
	settingCustomerRole     = "default_wp_role_for_customer"
)

// The settings that define custom fields, by name.
const (
	settingCustomerFields = "custom_fields_for_customer"
	settingBookingFields  = "custom_fields_for_booking"
)

// The settings that say who is the same customer, and what a customer must have, by name.
const (
	settingCustomerLogin   = "selected_customer_authentication_field_type"
	settingNoCustomerLogin = "steps_hide_login_register_tabs" // what older versions of the plugin had instead
	settingCustomerMerge   = "default_contact_merge_behavior"
	settingDefaultFields   = "default_fields_for_customer"
)

// optionLanguage is WordPress's option with the language of the site; English if it is empty or missing.
const optionLanguage = "WPLANG"

// TranslationProblem says why the texts that are stored or mailed are not in the language of the
// site, which it returns, too; "" where they are.
func (s *Site) TranslationProblem(ctx context.Context) (locale, problem string, err error) {
	options, err := s.db.OptionValues(ctx, optionLanguage)
	locale = wpdb.PlainText(options[optionLanguage])
	return locale, s.languages.Problem(locale), err
}

// currencySettings are the settings of Currency.
var currencySettings = []string{
	"currency_symbol_before", "currency_symbol_after", "thousand_separator", "decimal_separator", "number_of_decimals",
}

// on is the stored value of a setting that is switched on; anything else is off.
const on = "on"

var writeSettingNames = slices.Concat([]string{
	settingDateFormat, settingTimeSystem, settingInvoices, settingFreeInvoices, settingInvoiceCompany, settingInvoiceFrom, settingInvoiceTo,
	settingInvoiceTaxID, settingLogAddress, settingMailProcessor, settingBusinessName, settingBusinessPhone, settingBusinessAddress, settingBusinessLogo, settingOwnStatuses,
	settingDashboard, settingTerseDates, settingUsersAsCustomers, settingCustomerRole,
}, customerRuleSettings, currencySettings)

// writeSettings are the settings and options of the site that writes and messages depend
// on.
type writeSettings struct {
	settings   map[string]string
	siteURL    string
	uploadURL  string // of the site's media, see uploadURL
	cron       string // the option, serialised
	dateFormat string // in PHP's notation
	clock24    bool
	currency   Currency
	texts      language.Texts // of the plugin, in the site's language
}

// writeSettings reads the settings that a write needs.
func (s *Site) writeSettings(ctx context.Context) (writeSettings, error) {
	settings, options, err := s.db.SettingsAndOptions(ctx, writeSettingNames, []string{"siteurl", "cron", "upload_path", "upload_url_path", optionLanguage})
	if err != nil {
		return writeSettings{}, err
	}
	return writeSettings{
		settings: settings, siteURL: wpdb.PlainText(options["siteurl"]), uploadURL: s.uploadURL(options), cron: options["cron"],
		dateFormat: cmp.Or(settings[settingDateFormat], "m/d/Y"), clock24: settings[settingTimeSystem] == "24", currency: currencyOf(settings),
		texts: s.languages.Texts(wpdb.PlainText(options[optionLanguage])),
	}, nil
}

// onUnlessSet reports whether a setting is on. It is on by default.
func (w writeSettings) onUnlessSet(name string) bool {
	value, set := w.settings[name]
	return !set || value == on
}

// clock formats a time of day as the site shows it
// (OsTimeHelper::minutes_to_hours_and_minutes).
func (w writeSettings) clock(t time.Time) string {
	if w.clock24 {
		return process.FormatDate(t, "H:i")
	}
	return process.FormatDate(t, "h:ia")
}

// manageURL returns the URL at which a booking or order is managed with a key.
func (w writeSettings) manageURL(what, key string) string {
	return strings.TrimRight(w.siteURL, "/") + "/wp-admin/admin-post.php?action=latepoint_route_call&route_name=manage_" + what + "_by_key__show&key=" + url.QueryEscape(key)
}

// pageURL returns the URL of a page of the site, given its path or URL.
func (w writeSettings) pageURL(path string) string {
	if path == "" || strings.Contains(path, "://") {
		return path
	}
	return strings.TrimRight(w.siteURL, "/") + "/" + strings.TrimLeft(path, "/")
}

// slotSettings are the names of the settings that slots depend on.
var slotSettings = []string{
	settingBlockingStatuses, settingStep, settingEarliest, settingLatest,
	settingOneLocation, settingManyServices, settingOneAgent, settingAgentOrder, settingAddOns,
}

// AgentOrder returns the setting by which an agent is found for a booking for any agent.
func (s *Site) AgentOrder(ctx context.Context) (availability.AgentOrder, error) {
	settings, err := s.db.SettingValues(ctx, settingAgentOrder)
	return availability.AgentOrder(settings[settingAgentOrder]), err
}

// blockingStatuses returns the statuses of bookings that block slots.
func (s *Site) blockingStatuses(ctx context.Context) ([]string, error) {
	settings, err := s.db.SettingValues(ctx, settingBlockingStatuses)
	return availability.BlockingStatuses(settings[settingBlockingStatuses]), err
}

// addOnActive looks for the add-on in the plugin's own list and in the site's list of
// active plugins, and in the network's list if the plugin itself is active there.
func (s *Site) addOnActive(ctx context.Context, setting string) (bool, error) {
	switch {
	case strings.Contains(setting, addOn):
		return true, nil
	case wpdb.ListsPlugin(s.activePlugins, pluginFile):
		return wpdb.ListsPlugin(s.activePlugins, addOnFile), nil
	default:
		return s.db.PluginActive(ctx, s.activePlugins, addOnFile)
	}
}

// definedFields returns the custom fields that a setting defines, by key.
func (s *Site) definedFields(ctx context.Context, setting string) (map[string]json.RawMessage, error) {
	settings, err := s.db.SettingValues(ctx, setting)
	if err != nil {
		return nil, err
	}
	definitions := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(settings[setting]), &definitions) != nil || definitions == nil {
		definitions = map[string]json.RawMessage{} // not the map that the plugin writes: no fields
	}
	return definitions, nil
}

// leadingInt returns the integer at the start of a text, as PHP converts texts; 0 for
// none.
func leadingInt(text string) int {
	text = strings.TrimSpace(text)
	end := strings.IndexFunc(text, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		text = text[:end]
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return n
}

// addOn is the add-on that makes off periods and daily limits count, by its
// folder and by its file.
const (
	addOn     = "latepoint-pro-features"
	addOnFile = addOn + ".php"
)

// Currency reads how the site formats prices, with the plugin's defaults.
func (s *Site) Currency(ctx context.Context) (Currency, error) {
	settings, err := s.db.SettingValues(ctx, currencySettings...)
	if err != nil {
		return Currency{}, err
	}
	return currencyOf(settings), nil
}

func currencyOf(settings map[string]string) Currency {
	setting := func(name, fallback string) string {
		if value, ok := settings[name]; ok {
			return value
		}
		return fallback
	}
	decimals, err := strconv.ParseInt(setting("number_of_decimals", "2"), 10, 32)
	if err != nil || decimals < 0 || decimals > 4 {
		decimals = 2
	}
	return Currency{
		Before: setting("currency_symbol_before", "$"), After: setting("currency_symbol_after", ""),
		Thousands: setting("thousand_separator", ","), Decimal: setting("decimal_separator", "."),
		Decimals: int32(decimals),
	}
}
