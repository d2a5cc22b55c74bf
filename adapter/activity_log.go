package adapter

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// The site's settings for what is written about bookings, by name.
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
	settingOwnStatuses     = "additional_booking_statuses"

	settingDashboard        = "page_url_customer_dashboard"
	settingTerseDates       = "disable_verbose_date_output"
	settingUsersAsCustomers = "wp_users_as_customers"
	settingCustomerRole     = "default_wp_role_for_customer"
)

var writeSettingNames = append([]string{
	settingDateFormat, settingTimeSystem, settingInvoices, settingFreeInvoices, settingInvoiceCompany, settingInvoiceFrom, settingInvoiceTo,
	settingInvoiceTaxID, settingLogAddress, settingMailProcessor, settingBusinessName, settingBusinessPhone, settingBusinessAddress, settingOwnStatuses,
	settingDashboard, settingTerseDates, settingUsersAsCustomers, settingCustomerRole,
}, currencySettings...)

// writeSettings is how the site writes about its bookings.
type writeSettings struct {
	settings   map[string]string
	siteURL    string
	cron       string // the option, serialised
	dateFormat string // of PHP
	clock24    bool
	currency   Currency
}

// writeSettings reads how the site writes.
func (s *Site) writeSettings(ctx context.Context) (writeSettings, error) {
	settings, err := s.db.SettingValues(ctx, writeSettingNames...)
	if err != nil {
		return writeSettings{}, err
	}
	options, err := s.db.OptionValues(ctx, "siteurl", "cron")
	if err != nil {
		return writeSettings{}, err
	}
	return writeSettings{
		settings: settings, siteURL: wpdb.PlainText(options["siteurl"]), cron: options["cron"],
		dateFormat: cmp.Or(settings[settingDateFormat], "m/d/Y"), clock24: settings[settingTimeSystem] == "24", currency: currencyOf(settings),
	}, nil
}

// onUnlessSet is a setting that is on where the row is missing.
func (w writeSettings) onUnlessSet(name string) bool {
	value, set := w.settings[name]
	return !set || value == on
}

// clock writes a time of day as the site shows it
// (OsTimeHelper::minutes_to_hours_and_minutes).
func (w writeSettings) clock(t time.Time) string {
	if w.clock24 {
		return process.FormatDate(t, "H:i")
	}
	return process.FormatDate(t, "h:ia")
}

// manageURL is where a booking or order can be managed with a key.
func (w writeSettings) manageURL(what, key string) string {
	return strings.TrimRight(w.siteURL, "/") + "/wp-admin/admin-post.php?action=latepoint_route_call&route_name=manage_" + what + "_by_key__show&key=" + url.QueryEscape(key)
}

// manageKeys are the keys with which a booking or order can be managed without
// logging in.
type manageKeys struct{ agent, customer string }

// bookingFacts is a booking with all that its history says of it.
type bookingFacts struct {
	BookingDetail
	items           []OrderItem
	keys, orderKeys manageKeys // orderKeys where they are known
}

// The records of the plugin's history (OsBookingModel::get_data_vars and its
// like, LatePoint 5.6.5). Values that it has from the database are texts.
type (
	customerVars struct {
		ID        any    `json:"id"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		FullName  string `json:"full_name"`
		Email     string `json:"email"`
		Phone     string `json:"phone"`
	}
	agentVars struct {
		ID       string `json:"id"`
		FullName string `json:"full_name"`
		Email    string `json:"email"`
		Phone    string `json:"phone"`
	}
	transactionVars struct {
		ID             string  `json:"id"`
		OrderID        *string `json:"order_id"`
		InvoiceID      *string `json:"invoice_id"`
		Token          *string `json:"token"`
		CustomerID     string  `json:"customer_id"`
		Processor      string  `json:"processor"`
		PaymentMethod  string  `json:"payment_method"`
		PaymentPortion string  `json:"payment_portion"`
		Kind           string  `json:"kind"`
		Status         string  `json:"status"`
		Amount         string  `json:"amount"`
		Notes          *string `json:"notes"`
	}
	orderVars struct {
		ID                any     `json:"id"`
		ConfirmationCode  string  `json:"confirmation_code"`
		CustomerComment   *string `json:"customer_comment"`
		Status            string  `json:"status"`
		FulfillmentStatus string  `json:"fulfillment_status"`
		PaymentStatus     string  `json:"payment_status"`
		SourceID          *string `json:"source_id"`
		SourceURL         any     `json:"source_url"`
		Total             string  `json:"total"`
		Subtotal          string  `json:"subtotal"`
		CreatedDatetime   string  `json:"created_datetime"`
		*orderAround
	}
	orderAround struct {
		Customer     customerVars      `json:"customer"`
		Transactions []transactionVars `json:"transactions"`
		Items        []orderItemVars   `json:"order_items"`
	}
	orderItemVars struct {
		ID       string `json:"id"`
		Variant  string `json:"variant"`
		Subtotal string `json:"subtotal"`
		Total    string `json:"total"`
		ItemData any    `json:"item_data"`
	}
	bookingVars struct {
		ID                any       `json:"id"`
		BookingCode       string    `json:"booking_code"`
		StartDatetime     string    `json:"start_datetime"`
		EndDatetime       string    `json:"end_datetime"`
		ServiceName       string    `json:"service_name"`
		Duration          any       `json:"duration"`
		CustomerComment   *string   `json:"customer_comment"`
		Status            string    `json:"status"`
		StartDate         string    `json:"start_date"`
		StartTime         string    `json:"start_time"`
		Timezone          string    `json:"timezone"`
		Agent             agentVars `json:"agent"`
		CreatedDatetime   string    `json:"created_datetime"`
		ManageForAgent    string    `json:"manage_booking_for_agent"`
		ManageForCustomer string    `json:"manage_booking_for_customer"`
		*bookingAround
	}
	bookingAround struct {
		Customer     customerVars      `json:"customer"`
		Transactions []transactionVars `json:"transactions"`
		Order        *orderVars        `json:"order"`
	}
	change struct {
		New any `json:"new"`
		Old any `json:"old"`
	}
)

func customerVarsOf(c BookingCustomer) customerVars {
	return customerVars{
		ID: domain.IDText(c.ID), FirstName: c.FirstName, LastName: c.LastName,
		FullName: strings.TrimSpace(c.FirstName + " " + c.LastName), Email: c.Email, Phone: c.Phone,
	}
}

// portionLabels are the plugin's words for portions of a payment; it has none
// for others.
var portionLabels = map[string]string{"full": "Full Balance", "remaining": "Remaining Balance", "deposit": "Deposit", "custom": "Custom"}

func (w writeSettings) transactionVars(payments []Payment) []transactionVars {
	vars := make([]transactionVars, len(payments))
	for i, p := range payments {
		vars[i] = transactionVars{
			ID: domain.IDText(p.ID), OrderID: domain.OptionalIDText(p.OrderID), InvoiceID: domain.OptionalIDText(p.InvoiceID), Token: p.Token, CustomerID: domain.IDText(p.CustomerID),
			Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: portionLabels[p.PaymentPortion],
			Kind: p.Kind, Status: p.Status, Amount: w.currency.Format(p.Amount), Notes: p.Notes,
		}
	}
	return vars
}

func (w writeSettings) orderVarsAlone(o Order) orderVars {
	return orderVars{
		ID: domain.IDText(o.ID), ConfirmationCode: o.ConfirmationCode, CustomerComment: o.CustomerComment,
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		SourceID: o.SourceID, SourceURL: o.SourceURL, Total: w.currency.Format(o.Total), Subtotal: w.currency.Format(o.Subtotal),
		CreatedDatetime: domain.OffsetText(o.CreatedAt),
	}
}

// bookingVarsAlone is a booking without what is around it.
func (s *Site) bookingVarsAlone(w writeSettings, f bookingFacts) bookingVars {
	vars := bookingVars{
		ID: domain.IDText(f.ID), BookingCode: f.Code, Duration: domain.IDText(f.Duration), Status: f.Status, Timezone: s.Zone.Name,
		Agent:           agentVars{domain.IDText(f.Agent.ID), f.Agent.FullName, f.Agent.Email, f.Agent.Phone},
		CreatedDatetime: domain.OffsetText(f.CreatedAt),
		ManageForAgent:  w.manageURL("booking", f.keys.agent), ManageForCustomer: w.manageURL("booking", f.keys.customer),
	}
	if f.Service != nil {
		vars.ServiceName = f.Service.Name
	}
	if f.Order != nil {
		vars.CustomerComment = f.Order.CustomerComment
	}
	if start, ok := s.Start(f.Booking); ok {
		vars.StartDatetime = start.Format(domain.OffsetLayout)
		vars.StartDate = process.FormatDate(wallClock(f.Booking), w.dateFormat)
		vars.StartTime = w.clock(wallClock(f.Booking))
	}
	if end, ok := s.End(f.Booking); ok {
		vars.EndDatetime = end.Format(domain.OffsetLayout)
	}
	return vars
}

// wallClock is what is stored of a booking's start, as if it were UTC: a time
// that a spring change skips is shown as stored.
func wallClock(b Booking) time.Time {
	day, _ := b.StartDate.Time(time.UTC)
	if b.StartTime == nil {
		return day
	}
	return day.Add(time.Duration(*b.StartTime) * time.Minute)
}

// bookingVars is a booking with what is around it.
func (s *Site) bookingVars(w writeSettings, f bookingFacts) bookingVars {
	vars := s.bookingVarsAlone(w, f)
	vars.bookingAround = &bookingAround{Customer: customerVarsOf(f.Customer), Transactions: w.transactionVars(f.Payments)}
	if f.Order != nil {
		order := w.orderVarsAlone(*f.Order)
		vars.Order = &order
	}
	return vars
}

// orderVars is the order of a booking with its items. Those of other bookings
// are shown by what their item data says.
func (s *Site) orderVars(w writeSettings, f bookingFacts) orderVars {
	vars := w.orderVarsAlone(*f.Order)
	vars.orderAround = &orderAround{Customer: customerVarsOf(f.Customer), Transactions: w.transactionVars(f.Payments), Items: []orderItemVars{}}
	for _, item := range f.items {
		shown := orderItemVars{ID: domain.IDText(item.ID), Variant: item.Variant, Subtotal: domain.AmountText(item.Subtotal), Total: domain.AmountText(item.Total), ItemData: rawObject(item.ItemData)}
		if item.ID == f.OrderItemID {
			own := s.bookingVarsAlone(w, f)
			own.Duration = f.Duration
			shown.ItemData = own
		}
		vars.Items = append(vars.Items, shown)
	}
	return vars
}

// activity is an entry of the site's history.
type activity struct {
	code                                                string
	bookingID, customerID, orderID, serviceID, couponID *int64
	description                                         any // nil for none
}

// logActivities adds entries to the site's history. Nobody is named as their author:
// the plugin does the same for what no logged-in user did.
func (tx *Tx) logActivities(ctx context.Context, activities ...activity) error {
	rows := make([]row, len(activities))
	for i, a := range activities {
		description, err := process.EncodePHP(a.description)
		if err != nil {
			return err
		}
		var stored any = description
		c, ok := tx.schema.Column(wpdb.Activities, "description")
		if a.description == nil || ok && !c.Holds(description) {
			stored = nil // a text cut off would be no JSON
		}
		rows[i] = append(row{
			{"agent_id", nil}, {"booking_id", a.bookingID}, {"service_id", a.serviceID}, {"customer_id", a.customerID}, {"location_id", nil},
			{"order_id", a.orderID}, {"order_item_id", nil}, {"coupon_id", a.couponID},
			{"code", a.code}, {"description", stored}, {"initiated_by", ""}, {"initiated_by_id", 0},
		}, tx.newTimestamps()...)
	}
	_, err := tx.insert(ctx, wpdb.Activities, rows...)
	return err
}
