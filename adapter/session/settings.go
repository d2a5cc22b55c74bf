package session

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// The settings that slots depend on, by name.
const (
	SettingBlockingStatuses = "timeslot_blocking_statuses"
	SettingStep             = "timeblock_interval"
	SettingEarliest         = "earliest_possible_booking"
	SettingLatest           = "latest_possible_booking"
	SettingOneLocation      = "one_location_at_time"
	SettingManyServices     = "multiple_services_at_time"
	SettingOneAgent         = "one_agent_at_location"
	SettingAgentOrder       = "any_agent_order"
	SettingAddOns           = "active_addons"
	SettingAppleCalendar    = "enable_apple_calendar"
	SettingAssets           = "enable_assets_functionality" // of Pro Features
)

// The settings that writes and messages depend on, by name.
const (
	settingDateFormat      = "date_format"
	settingTimeSystem      = "time_system"
	SettingInvoices        = "enable_invoices"
	SettingFreeInvoices    = "create_invoices_for_free_bookings"
	SettingInvoiceCompany  = "invoices_company_name"
	SettingInvoiceFrom     = "invoices_data_from"
	SettingInvoiceTo       = "invoices_data_to"
	SettingInvoiceTaxID    = "invoices_tax_id"
	SettingLogAddress      = "log_customer_ip_address"
	SettingMailProcessor   = "notifications_email_processor"
	SettingBusinessName    = "business_name"
	SettingBusinessPhone   = "business_phone"
	SettingBusinessAddress = "business_address"
	SettingBusinessLogo    = "business_logo"
	SettingOwnStatuses     = "additional_booking_statuses"
	SettingTaxes           = "taxes"                        // of Pro Features
	SettingOfReason        = "enable_"                      // and the key of the reason, of Pro Features
	SettingNoShows         = "no_show_restrictions_enabled" // of Pro Features
	SettingNoShowThreshold = "no_show_restriction_threshold"
	SettingNoShowAction    = "no_show_restriction_action"
	SettingFutureBookings  = "max_future_bookings_per_customer"
	SettingDefaultStatus   = "default_booking_status"
	settingPayLocally      = "enable_payments_local"
	settingOfProcessor     = "enable_payment_processor_" // and its word

	SettingDashboard        = "page_url_customer_dashboard"
	SettingTerseDates       = "disable_verbose_date_output"
	SettingUsersAsCustomers = wpdb.UsersAsCustomers
	SettingCustomerRole     = "default_wp_role_for_customer"
)

// The settings that define custom fields, by name.
const (
	SettingCustomerFields = "custom_fields_for_customer"
	SettingBookingFields  = "custom_fields_for_booking"
)

// The settings that say when two customers are the same, and what a customer must have, by name.
const (
	SettingCustomerLogin   = "selected_customer_authentication_field_type"
	SettingNoCustomerLogin = "steps_hide_login_register_tabs" // older versions of the plugin had this instead
	SettingCustomerMerge   = "default_contact_merge_behavior"
	SettingDefaultFields   = "default_fields_for_customer"
)

// optionLanguage is WordPress's option with the language of the site, which is English if empty or missing.
const optionLanguage = "WPLANG"

// TranslationProblem returns why stored and mailed texts are not in the site's language, or nil if they are.
func TranslationProblem(ctx context.Context, s *Session) (*text.TranslationProblem, error) {
	options, err := s.DB.OptionValues(ctx, optionLanguage)
	if err != nil {
		return nil, err
	}
	return s.Platform.Languages.Problem(wpdb.PlainText(options[optionLanguage])), nil
}

// currencySettings are the settings of Currency.
var currencySettings = []string{
	"currency_symbol_before", "currency_symbol_after", "thousand_separator", "decimal_separator", "number_of_decimals",
}

// On is the stored value of a setting that is switched on; anything else means off.
const On = "on"

var writeSettingNames = slices.Concat([]string{
	settingDateFormat, settingTimeSystem, SettingInvoices, SettingFreeInvoices, SettingInvoiceCompany, SettingInvoiceFrom, SettingInvoiceTo,
	SettingInvoiceTaxID, SettingLogAddress, SettingMailProcessor, SettingBusinessName, SettingBusinessPhone, SettingBusinessAddress, SettingBusinessLogo, SettingOwnStatuses, SettingTaxes, SettingBookingFields,
	SettingOfReason + "cancellation_reason", SettingOfReason + "reschedule_reason", SettingNoShows, SettingNoShowThreshold, SettingNoShowAction, SettingFutureBookings, settingPayLocally, SettingAssets,
	SettingDashboard, SettingTerseDates, SettingUsersAsCustomers, SettingCustomerRole, SettingDefaultStatus,
}, CustomerRuleSettings, currencySettings)

// WriteSettings are the site's settings and options that writes and messages depend on.
type WriteSettings struct {
	Settings   map[string]string
	SiteURL    string
	UploadURL  string // of the site's media, see uploadURL
	Cron       string // the option, serialised
	DateFormat string // in PHP's notation
	Clock24    bool
	Currency   Currency
	Texts      text.Texts // of the plugin, in the site's language
	PayAtOnce  string     // the id of an add-on with which customers have to pay when they book; "" for none
}

// WriteSettings reads the settings that a write needs.
func (s *Session) WriteSettings(ctx context.Context) (WriteSettings, error) {
	processors := paymentProcessors(s)
	settings, options, err := s.DB.SettingsAndOptions(ctx, slices.Concat(writeSettingNames, slices.Sorted(maps.Keys(processors))), []string{"siteurl", "cron", "upload_path", "upload_url_path", optionLanguage})
	if err != nil {
		return WriteSettings{}, err
	}
	return WriteSettings{
		Settings: settings, SiteURL: wpdb.PlainText(options["siteurl"]), UploadURL: uploadURL(s, options), Cron: options["cron"],
		DateFormat: cmp.Or(settings[settingDateFormat], "m/d/Y"), Clock24: settings[settingTimeSystem] == "24", Currency: CurrencyOf(settings),
		Texts: s.Platform.Languages.Texts(wpdb.PlainText(options[optionLanguage])), PayAtOnce: payAtOnce(settings, processors),
	}, nil
}

// paymentProcessors returns the ids of the active add-ons by which customers pay, by the settings that switch them on.
func paymentProcessors(s *Session) map[string]string {
	processors := map[string]string{}
	for _, file := range s.plugins.Files() {
		if code, ok := extensions.PaymentProcessor(file); ok {
			processors[settingOfProcessor+code] = strings.TrimSuffix(path.Base(file), ".php")
		}
	}
	return processors
}

// payAtOnce returns an add-on with which customers have to pay when they book, because they may not pay later; "" for none.
func payAtOnce(settings, processors map[string]string) string {
	if settings[settingPayLocally] == On {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(processors)) {
		if settings[name] == On {
			return processors[name]
		}
	}
	return ""
}

// OnUnlessSet reports whether a setting is on. It is on by default.
func (w WriteSettings) OnUnlessSet(name string) bool {
	value, set := w.Settings[name]
	return !set || value == On
}

// Clock formats a time of day as the site shows it
// (OsTimeHelper::minutes_to_hours_and_minutes).
func (w WriteSettings) Clock(t time.Time) string {
	if w.Clock24 {
		return text.FormatDate(t, "H:i")
	}
	return text.FormatDate(t, "h:ia")
}

// ManageURL returns the URL where a booking or order is managed with a key.
func (w WriteSettings) ManageURL(what, key string) string {
	return strings.TrimRight(w.SiteURL, "/") + "/wp-admin/admin-post.php?action=latepoint_route_call&route_name=manage_" + what + "_by_key__show&key=" + url.QueryEscape(key)
}

// PageURL returns the URL of a page of the site, given its path or URL.
func (w WriteSettings) PageURL(path string) string {
	if path == "" || strings.Contains(path, "://") {
		return path
	}
	return strings.TrimRight(w.SiteURL, "/") + "/" + strings.TrimLeft(path, "/")
}

// SlotSettings are the names of the settings that slots depend on.
var SlotSettings = []string{
	SettingBlockingStatuses, SettingStep, SettingEarliest, SettingLatest,
	SettingOneLocation, SettingManyServices, SettingOneAgent, SettingAgentOrder, SettingAddOns, SettingAppleCalendar, SettingAssets,
}

// AgentOrder returns the setting that decides which agent gets a booking for any agent.
func (s *Session) AgentOrder(ctx context.Context) (availability.AgentOrder, error) {
	settings, err := s.DB.SettingValues(ctx, SettingAgentOrder)
	return availability.AgentOrder(settings[SettingAgentOrder]), err
}

// BlockingStatuses returns the booking statuses that block slots.
func BlockingStatuses(ctx context.Context, s *Session) ([]string, error) {
	settings, err := s.DB.SettingValues(ctx, SettingBlockingStatuses)
	return availability.BlockingStatuses(settings[SettingBlockingStatuses]), err
}

// DefinedFields returns the custom fields that a setting defines, by key.
func DefinedFields(ctx context.Context, s *Session, setting string) (map[string]json.RawMessage, error) {
	settings, err := s.DB.SettingValues(ctx, setting)
	if err != nil {
		return nil, err
	}
	definitions := map[string]json.RawMessage{}
	if json.Unmarshal([]byte(settings[setting]), &definitions) != nil || definitions == nil {
		definitions = map[string]json.RawMessage{} // not the map that the plugin writes, so there are no fields
	}
	return definitions, nil
}

// LeadingInt returns the integer at the start of a text, as PHP converts texts, or 0 if there is none.
func LeadingInt(text string) int {
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

// Currency reads how the site formats prices, falling back to the plugin's defaults.
func (s *Session) Currency(ctx context.Context) (Currency, error) {
	settings, err := s.DB.SettingValues(ctx, currencySettings...)
	if err != nil {
		return Currency{}, err
	}
	return CurrencyOf(settings), nil
}

// CurrencyOf returns how a site with these settings formats prices.
func CurrencyOf(settings map[string]string) Currency {
	setting := func(name, fallback string) string {
		if value, ok := settings[name]; ok {
			return value
		}
		return fallback
	}
	decimals, err := strconv.ParseInt(cmp.Or(setting("number_of_decimals", "2"), "0"), 10, 32)
	if err != nil || decimals < 0 || decimals > 4 {
		decimals = 2
	}
	return Currency{
		Before: setting("currency_symbol_before", "$"), After: setting("currency_symbol_after", ""),
		Thousands: setting("thousand_separator", ","), Decimal: setting("decimal_separator", "."),
		Decimals: int32(decimals),
	}
}

// CustomerRuleSettings are the settings behind customer rules.
var CustomerRuleSettings = []string{
	SettingCustomerLogin, SettingNoCustomerLogin, SettingCustomerMerge, SettingDefaultFields, SettingCustomerFields, SettingAddOns,
}

// uploadURL returns the address of the site's media folder, without a trailing slash (WordPress's
// wp_upload_dir).
func uploadURL(s *Session, options map[string]string) string {
	if address := wpdb.PlainText(options["upload_url_path"]); address != "" {
		return strings.TrimRight(address, "/")
	}
	folder := strings.Trim(wpdb.PlainText(options["upload_path"]), "/")
	if folder == "" || path.IsAbs(wpdb.PlainText(options["upload_path"])) {
		folder = "wp-content/uploads"
	}
	address := strings.TrimRight(wpdb.PlainText(options["siteurl"]), "/") + "/" + folder
	network := strings.TrimSuffix(s.DB.FullName(wpdb.Users), string(wpdb.Users))
	number := strings.TrimSuffix(strings.TrimPrefix(s.DB.Prefix(), network), "_")
	if _, err := strconv.Atoi(number); err == nil && number != "1" {
		address += "/sites/" + number
	}
	return address
}

// JobScheduled is the status of a job that has not run.
const JobScheduled = "scheduled"
