package notify

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/text"
)

// Variables are the values of template variables, by name without braces. A template's other variables stay
// as they are.
type Variables map[string]string

// A VariableSource is a record whose variables templates can use: BookingVariables,
// OrderVariables and so on.
type VariableSource interface {
	variables() Variables
}

// VariablesOf returns the variables of records (OsReplacerHelper, LatePoint 5.6.5). As in the plugin,
// values are plain text and not escaped.
func VariablesOf(records ...VariableSource) Variables {
	all := Variables{}
	for _, record := range records {
		maps.Copy(all, record.variables())
	}
	return all
}

// HTMLOf returns the variables of records that are HTML in the content of a mail. All other variables are
// the same everywhere.
func HTMLOf(records ...VariableSource) Variables {
	all := Variables{}
	for _, record := range records {
		if source, ok := record.(interface{ html() Variables }); ok {
			maps.Copy(all, source.html())
		}
	}
	return all
}

// BookingVariables is a booking as templates show it. Prices are formatted.
type BookingVariables struct {
	ID                        int64
	Code, Price               string
	Service, ServiceCategory  string
	Date                      time.Time // the calendar day in its own zone
	DateFormat                string    // see ReadableDateFormat
	Start, End                *int      // minutes after midnight, nil for none
	Clock24                   bool      // by the setting time_system
	Duration                  int64     // minutes
	Status                    string    // the label, see BookingStatusLabel
	Location, LocationAddress string
	ManageURLForAgent         string
	ManageURLForCustomer      string
	Texts                     text.Texts // of the plugin, in the site's language
}

func (b BookingVariables) variables() Variables {
	duration := b.Texts.Of("n/a")
	if b.Duration > 0 {
		duration = strconv.FormatInt(b.Duration, 10) + " " + b.Texts.Of("minutes")
	}
	return Variables{
		"booking_id": strconv.FormatInt(b.ID, 10), "booking_code": b.Code, "booking_price": b.Price,
		"service_name": b.Service, "service_category": b.ServiceCategory,
		"start_date": b.day(), "start_time": timeOfDay(b.Start, b.Clock24), "end_time": timeOfDay(b.End, b.Clock24),
		"booking_status": b.Status, "location_name": b.Location, "location_full_address": b.LocationAddress, "booking_duration": duration,
		"manage_booking_url_agent": b.ManageURLForAgent, "manage_booking_url_customer": b.ManageURLForCustomer,
	}
}

// When returns the day and the start time of the booking as the site writes them.
func (b BookingVariables) When() string {
	return b.day() + ", " + timeOfDay(b.Start, b.Clock24)
}

func (b BookingVariables) day() string { return b.Texts.Date(text.FormatDate(b.Date, b.DateFormat)) }

// OrderVariables is an order as templates show it. Amounts are formatted, except for
// TaxTotal, which the plugin shows as stored.
type OrderVariables struct {
	ID                                        int64
	ConfirmationCode, CouponCode              string
	TaxTotal, CouponDiscount, Subtotal, Total string
	Status, FulfillmentStatus, PaymentStatus  string // as stored
	PaymentsTotal, BalanceDue                 string
	Agents                                    []AgentVariables // of its bookings, in the order of the bookings
	ManageURLForAgent, ManageURLForCustomer   string
	Content                                   *OrderContent // nil if no template shows it
	Texts                                     text.Texts    // of the plugin, in the site's language
}

func (o OrderVariables) html() Variables {
	if o.Content == nil {
		return nil
	}
	return o.contentHTML()
}

func (o OrderVariables) variables() Variables {
	var emails, names []string
	for _, agent := range o.Agents {
		name := fullName(agent.FirstName, agent.LastName)
		if address := name + " <" + agent.Email + ">"; !slices.Contains(emails, address) {
			emails = append(emails, address)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	all := Variables{
		"order_id": strconv.FormatInt(o.ID, 10), "order_confirmation_code": o.ConfirmationCode, "order_coupon_code": o.CouponCode,
		"order_tax_total": o.TaxTotal, "order_coupon_discount": o.CouponDiscount, "order_subtotal": o.Subtotal, "order_total": o.Total,
		"order_status":             label(orderStatuses, o.Status, o.Texts),
		"order_fulfillment_status": label(fulfillmentStatuses, o.FulfillmentStatus, o.Texts),
		"order_payment_status":     label(paymentStatuses, o.PaymentStatus, o.Texts),
		"order_payments_total":     o.PaymentsTotal, "order_balance_due_total": o.BalanceDue,
		"order_agents_emails": strings.Join(emails, ", "), "order_agents_full_names": strings.Join(names, ", "),
		"manage_order_url_agent": o.ManageURLForAgent, "manage_order_url_customer": o.ManageURLForCustomer,
	}
	if o.Content != nil {
		maps.Copy(all, o.contentText())
	}
	return all
}

// CustomerVariables is a customer as templates show it.
type CustomerVariables struct {
	FirstName, LastName, Email, Phone, Notes string
}

func (c CustomerVariables) variables() Variables {
	return Variables{
		"customer_full_name": fullName(c.FirstName, c.LastName), "customer_first_name": c.FirstName, "customer_last_name": c.LastName,
		"customer_email": c.Email, "customer_phone": c.Phone, "customer_notes": c.Notes,
	}
}

// AgentVariables is an agent as templates show it.
type AgentVariables struct {
	FirstName, LastName, DisplayName   string
	Email, Phone                       string
	AdditionalEmails, AdditionalPhones string // comma-separated
}

func (a AgentVariables) variables() Variables {
	return Variables{
		"agent_first_name": a.FirstName, "agent_last_name": a.LastName, "agent_full_name": fullName(a.FirstName, a.LastName),
		"agent_display_name": a.DisplayName, "agent_email": a.Email, "agent_phone": a.Phone,
		"agent_additional_emails": a.AdditionalEmails, "agent_additional_phones": a.AdditionalPhones,
	}
}

// TransactionVariables is a payment as templates show it: as stored, except for the
// amount, which is formatted.
type TransactionVariables struct {
	Token, Amount, Processor, PaymentMethod string
	Kind, Status, Notes, PaymentPortion     string
}

func (t TransactionVariables) variables() Variables {
	return Variables{
		"transaction_token": t.Token, "transaction_amount": t.Amount, "transaction_processor": t.Processor,
		"transaction_payment_method": t.PaymentMethod, "transaction_kind": t.Kind, "transaction_status": t.Status,
		"transaction_notes": t.Notes, "transaction_payment_portion": t.PaymentPortion,
	}
}

// BusinessVariables are the variables of the site itself.
type BusinessVariables struct {
	Name, Phone, Address string
	LogoURL              string
	DashboardURL         string // the page on which customers see their bookings
}

func (b BusinessVariables) variables() Variables {
	return Variables{
		"business_logo_image": b.Name, "business_logo_url": b.LogoURL, "business_address": b.Address,
		"business_phone": b.Phone, "business_name": b.Name, "customer_dashboard_url": b.DashboardURL,
	}
}

func (b BusinessVariables) html() Variables {
	logo := h.Img(h.Src(b.LogoURL), h.Alt(b.Name), h.Style("height:50px;width:auto;border:0"))
	return Variables{"business_logo_image": markup(logo), "business_logo_url": escapeHTML.Replace(b.LogoURL)}
}

func fullName(first, last string) string { return strings.TrimSpace(first + " " + last) }

// ReadableDateFormat returns the format in which the site shows days to people, by its
// settings date_format and disable_verbose_date_output
// (OsSettingsHelper::get_readable_date_format).
func ReadableDateFormat(dateFormat string, terse bool) string {
	if terse {
		return dateFormat
	}
	switch dateFormat {
	case "d.m.Y", "d/m/Y":
		return "j M, Y"
	case "Y-m-d":
		return "Y, M j"
	default:
		return "M j, Y"
	}
}

// formatMinutes formats minutes after midnight as the site shows a time of day: 09:05am,
// or 09:05 with a 24-hour clock (OsTimeHelper::minutes_to_hours_and_minutes).
func formatMinutes(minutes int, clock24 bool) string {
	hours := minutes / 60
	if clock24 {
		return fmt.Sprintf("%02d:%02d", hours, minutes%60)
	}
	half := "am"
	if minutes >= 12*60 {
		half = "pm"
	}
	switch {
	case hours > 12:
		hours -= 12
	case hours == 0:
		hours = 12
	}
	return fmt.Sprintf("%02d:%02d%s", hours, minutes%60, half)
}

func timeOfDay(minutes *int, clock24 bool) string {
	if minutes == nil {
		return "n/a"
	}
	return formatMinutes(*minutes, clock24)
}

// The plugin's labels of statuses.
var (
	bookingStatuses = map[string]string{
		"approved": "Approved", "pending": "Pending Approval", "payment_pending": "Payment Pending",
		"cancelled": "Cancelled", "no_show": "No Show", "completed": "Completed",
	}
	orderStatuses       = map[string]string{"open": "Open", "cancelled": "Cancelled", "completed": "Completed"}
	fulfillmentStatuses = map[string]string{"not_fulfilled": "Not Fulfilled", "fulfilled": "Fulfilled", "partially_fulfilled": "Partially Fulfilled"}
	paymentStatuses     = map[string]string{
		"not_paid": "Not Paid", "partially_paid": "Partially Paid", "fully_paid": "Fully Paid", "processing": "Processing",
	}
)

func label(labels map[string]string, status string, texts text.Texts) string {
	if found, ok := labels[status]; ok {
		return texts.Of(found)
	}
	return texts.Of("Undefined Status")
}

// BookingStatusLabel returns the site's label of a booking status. additional is the setting
// additional_booking_statuses, such as "In Progress, Waiting"; its labels are not translated
// (OsBookingHelper::get_nice_status_name).
func BookingStatusLabel(status, additional string, texts text.Texts) string {
	for own := range strings.SplitSeq(additional, ",") {
		own = strings.TrimSpace(own)
		if own != "" && strings.ReplaceAll(strings.ToLower(own), " ", "_") == status {
			return own
		}
	}
	return label(bookingStatuses, status, texts)
}
