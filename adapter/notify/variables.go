package notify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	h "maragu.dev/gomponents/html"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// Variables are the values of template variables (OsReplacerHelper, LatePoint 5.6.5), by name without braces. A
// template's other variables stay as they are.
type Variables map[string]string

// messageVariables are the variables of messages. As in the plugin, values are plain text and not escaped.
type messageVariables struct {
	text Variables
	html Variables // those that are HTML in the content of mails; all others are the same everywhere
}

// with returns the variables together with others.
func (v messageVariables) with(others messageVariables) messageVariables {
	all := messageVariables{text: Variables{}, html: Variables{}}
	for _, part := range []messageVariables{v, others} {
		maps.Copy(all.text, part.text)
		maps.Copy(all.html, part.html)
	}
	return all
}

// bookingVariables are those of a booking whose service is of a category.
func bookingVariables(w session.WriteSettings, b BookingSnapshot, category string) Variables {
	duration := w.Texts.Of("n/a")
	if b.Duration > 0 {
		duration = strconv.FormatInt(b.Duration, 10) + " " + w.Texts.Of("minutes")
	}
	return Variables{
		"booking_id": domain.IDText(b.ID), "booking_code": b.Code, "booking_price": w.Currency.Format(b.Price),
		"service_name": serviceName(b.Booking), "service_category": category,
		"start_date": readableDay(w, b.Booking), "start_time": timeOfDay(b.StartTime, w.Clock24), "end_time": timeOfDay(b.EndTime, w.Clock24),
		"booking_status": bookingStatusLabel(b.Status, w.Settings[session.SettingOwnStatuses], w.Texts), "booking_duration": duration,
		"location_name": b.Location.Name, "location_full_address": b.Location.FullAddress,
		"manage_booking_url_agent": w.ManageURL("booking", b.Keys.Agent), "manage_booking_url_customer": w.ManageURL("booking", b.Keys.Customer),
	}
}

// serviceName returns the name of a booking's service, or "" if the service was deleted.
func serviceName(b records.Booking) string {
	if b.Service == nil {
		return ""
	}
	return b.Service.Name
}

// readableDay returns the day of a booking as the site writes it.
func readableDay(w session.WriteSettings, b records.Booking) string {
	format := readableDateFormat(w.DateFormat, w.Settings[session.SettingTerseDates] == session.On)
	return w.Texts.Date(text.FormatDate(wallClock(b), format))
}

// orderVariables are those of an order with the agents of its bookings, in the order of the bookings. The tax is
// shown as stored, as in the plugin.
func orderVariables(w session.WriteSettings, o OrderSnapshot, keys records.ManageKeys, agents []agent) Variables {
	var emails, names []string
	for _, a := range agents {
		name := fullName(a.firstName, a.lastName)
		if address := name + " <" + a.email + ">"; !slices.Contains(emails, address) {
			emails = append(emails, address)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	paid := records.LedgerOf(o.Payments).Net()
	return Variables{
		"order_id": domain.IDText(o.ID), "order_confirmation_code": o.ConfirmationCode, "order_coupon_code": domain.ValueOr(o.CouponCode, ""),
		"order_tax_total": domain.AmountText(o.TaxTotal), "order_coupon_discount": w.Currency.Format(o.CouponDiscount),
		"order_subtotal": w.Currency.Format(o.Subtotal), "order_total": w.Currency.Format(o.Total),
		"order_status":             label(orderStatuses, o.Status, w.Texts),
		"order_fulfillment_status": label(fulfillmentStatuses, o.FulfillmentStatus, w.Texts),
		"order_payment_status":     label(paymentStatuses, o.PaymentStatus, w.Texts),
		"order_payments_total":     w.Currency.Format(paid), "order_balance_due_total": w.Currency.Format(o.Total.Sub(paid)),
		"order_agents_emails": strings.Join(emails, ", "), "order_agents_full_names": strings.Join(names, ", "),
		"manage_order_url_agent": w.ManageURL("order", keys.Agent), "manage_order_url_customer": w.ManageURL("order", keys.Customer),
	}
}

func customerVariables(c records.BookingCustomer, notes string) Variables {
	return Variables{
		"customer_full_name": fullName(c.FirstName, c.LastName), "customer_first_name": c.FirstName, "customer_last_name": c.LastName,
		"customer_email": c.Email, "customer_phone": c.Phone, "customer_notes": notes,
	}
}

func agentVariables(a agent) Variables {
	return Variables{
		"agent_first_name": a.firstName, "agent_last_name": a.lastName, "agent_full_name": fullName(a.firstName, a.lastName),
		"agent_display_name": cmp.Or(a.displayName, records.AgentFullName(a.firstName, a.lastName)), "agent_email": a.email, "agent_phone": a.phone,
		"agent_additional_emails": a.additionalEmails, "agent_additional_phones": a.additionalPhones,
	}
}

// transactionVariables are those of a payment, as stored, except for the amount.
func transactionVariables(w session.WriteSettings, p records.Payment) Variables {
	return Variables{
		"transaction_token": domain.ValueOr(p.Token, ""), "transaction_amount": w.Currency.Format(p.Amount), "transaction_processor": p.Processor,
		"transaction_payment_method": p.PaymentMethod, "transaction_kind": p.Kind, "transaction_status": p.Status,
		"transaction_notes": domain.ValueOr(p.Notes, ""), "transaction_payment_portion": p.PaymentPortion,
	}
}

// businessVariables are those of the site itself. Customers see their bookings on its dashboard.
func businessVariables(w session.WriteSettings, logoURL string) messageVariables {
	name := w.Settings[session.SettingBusinessName]
	logo := h.Img(h.Src(logoURL), h.Alt(name), h.Style("height:50px;width:auto;border:0"))
	return messageVariables{
		text: Variables{
			"business_logo_image": name, "business_logo_url": logoURL, "business_address": w.Settings[session.SettingBusinessAddress],
			"business_phone": w.Settings[session.SettingBusinessPhone], "business_name": name,
			"customer_dashboard_url": w.PageURL(w.Settings[session.SettingDashboard]),
		},
		html: Variables{"business_logo_image": markup(logo), "business_logo_url": escapeHTML.Replace(logoURL)},
	}
}

// escapeHTML is esc_html.
var escapeHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;")

func fullName(first, last string) string { return strings.TrimSpace(first + " " + last) }

// readableDateFormat returns the format in which the site shows days to people, by its
// settings date_format and disable_verbose_date_output
// (OsSettingsHelper::get_readable_date_format).
func readableDateFormat(dateFormat string, terse bool) string {
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

func timeOfDay(at *session.Minutes, clock24 bool) string {
	if at == nil {
		return "n/a"
	}
	return formatMinutes(int(*at), clock24)
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

// bookingStatusLabel returns the site's label of a booking status. additional is the setting
// additional_booking_statuses, such as "In Progress, Waiting"; its labels are not translated
// (OsBookingHelper::get_nice_status_name).
func bookingStatusLabel(status, additional string, texts text.Texts) string {
	for own := range strings.SplitSeq(additional, ",") {
		own = strings.TrimSpace(own)
		if own != "" && strings.ReplaceAll(strings.ToLower(own), " ", "_") == status {
			return own
		}
	}
	return label(bookingStatuses, status, texts)
}
