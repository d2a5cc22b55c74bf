package notify

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures/expect"
)

func TestVariables(t *testing.T) {
	t.Parallel()
	w := session.WriteSettings{
		DateFormat: "d.m.Y", SiteURL: "https://x", Currency: session.Currency{After: " €", Decimals: 2},
		Settings: map[string]string{session.SettingBusinessName: "Praxis", session.SettingBusinessPhone: "+49303", session.SettingBusinessAddress: "2 High Street", session.SettingDashboard: "https://x/me"},
	}
	booking := BookingSnapshot{
		Booking: records.Booking{
			ID: 16, Code: "ABC1234", Price: decimal.New(85, 0), Service: &records.BookingService{Name: "Physiotherapy"},
			StartDate: "2026-11-07", StartTime: new(session.Minutes(9*60 + 5)), EndTime: new(session.Minutes(22 * 60)), Duration: 60, Status: "approved",
			Location: records.BookingLocation{Name: "Main", FullAddress: "1 High Street"},
		},
		Keys: records.ManageKeys{Agent: "a", Customer: "c"},
	}
	order := OrderSnapshot{
		Order: records.Order{
			ID: 5, ConfirmationCode: "KLM1234", CouponCode: new("TEN"), CouponDiscount: decimal.New(10, 0), Subtotal: decimal.New(95, 0), Total: decimal.New(85, 0),
			Status: "open", FulfillmentStatus: "not_fulfilled", PaymentStatus: "refunded",
		},
		Payments: []records.Payment{{Amount: decimal.New(5, 0), Kind: records.KindCapture, Status: records.PaymentSucceeded}},
	}
	ann := agent{
		firstName: "Ann", lastName: "Lee", displayName: "Dr. Lee", email: "ann@x.test", phone: "+49301",
		additionalEmails: "a@x.test, b@x.test", additionalPhones: "1, 2",
	}
	payment := records.Payment{
		Token: new("tok"), Amount: decimal.New(5, 0), Processor: "p", PaymentMethod: "cash", Kind: "capture", Status: "succeeded", Notes: new("tn"), PaymentPortion: "full",
	}
	got := Variables{}
	for _, variables := range []Variables{
		bookingVariables(w, booking, "Therapy"), agentVariables(ann),
		orderVariables(w, order, records.ManageKeys{Agent: "oa", Customer: "oc"}, []agent{ann, {firstName: "Bo", email: "bo@x.test"}, ann}),
		customerVariables(records.BookingCustomer{FirstName: "Zoë", Email: "zoe@x.test", Phone: "+49302"}, "n"),
		transactionVariables(w, payment), businessVariables(w, "https://x/logo.png").text,
	} {
		maps.Copy(got, variables)
	}
	want := Variables{
		"booking_id": "16", "booking_code": "ABC1234", "booking_price": "85 €", "service_name": "Physiotherapy", "service_category": "Therapy",
		"start_date": "7 Nov, 2026", "start_time": "09:05am", "end_time": "10:00pm", "booking_status": "Approved", "location_name": "Main",
		"location_full_address": "1 High Street", "booking_duration": "60 minutes",
		"manage_booking_url_agent": w.ManageURL("booking", "a"), "manage_booking_url_customer": w.ManageURL("booking", "c"),
		"order_id": "5", "order_confirmation_code": "KLM1234", "order_coupon_code": "TEN", "order_tax_total": "0.0000", "order_coupon_discount": "10 €",
		"order_subtotal": "95 €", "order_total": "85 €", "order_status": "Open", "order_fulfillment_status": "Not Fulfilled",
		"order_payment_status": "Undefined Status", "order_payments_total": "5 €", "order_balance_due_total": "80 €",
		"order_agents_emails": "Ann Lee <ann@x.test>, Bo <bo@x.test>", "order_agents_full_names": "Ann Lee, Bo",
		"manage_order_url_agent": w.ManageURL("order", "oa"), "manage_order_url_customer": w.ManageURL("order", "oc"),
		"customer_full_name": "Zoë", "customer_first_name": "Zoë", "customer_last_name": "", "customer_email": "zoe@x.test",
		"customer_phone": "+49302", "customer_notes": "n",
		"agent_first_name": "Ann", "agent_last_name": "Lee", "agent_full_name": "Ann Lee", "agent_display_name": "Dr. Lee", "agent_email": "ann@x.test",
		"agent_phone": "+49301", "agent_additional_emails": "a@x.test, b@x.test", "agent_additional_phones": "1, 2",
		"transaction_token": "tok", "transaction_amount": "5 €", "transaction_processor": "p", "transaction_payment_method": "cash",
		"transaction_kind": "capture", "transaction_status": "succeeded", "transaction_notes": "tn", "transaction_payment_portion": "full",
		"business_logo_image": "Praxis", "business_logo_url": "https://x/logo.png", "business_address": "2 High Street", "business_phone": "+49303",
		"business_name": "Praxis", "customer_dashboard_url": "https://x/me",
	}
	expect.Equal(t, want, got, "variables")
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if strings.ContainsAny(name, "{} ") {
			t.Errorf("variable %q, want a name without braces", name)
		}
	}
}

func TestBookingVariablesUnknown(t *testing.T) {
	t.Parallel()
	got := bookingVariables(session.WriteSettings{}, BookingSnapshot{}, "")
	for _, name := range []string{"start_time", "end_time", "booking_duration"} {
		expect.Equal(t, "n/a", got[name], name)
	}
}

func TestReadableDateFormat(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"m/d/Y": "M j, Y", "m.d.Y": "M j, Y", "d.m.Y": "j M, Y", "d/m/Y": "j M, Y", "Y-m-d": "Y, M j", "l": "M j, Y", "": "M j, Y",
	} {
		expect.Equal(t, want, readableDateFormat(format, false), "readableDateFormat(", format, ")")
		expect.Equal(t, format, readableDateFormat(format, true), format, ": terse readableDateFormat()")
	}
}

func TestFormatMinutes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		minutes        int
		want12, want24 string
	}{
		{0, "12:00am", "00:00"}, {59, "12:59am", "00:59"}, {545, "09:05am", "09:05"}, {600, "10:00am", "10:00"}, {719, "11:59am", "11:59"},
		{720, "12:00pm", "12:00"}, {780, "01:00pm", "13:00"}, {1439, "11:59pm", "23:59"}, {1440, "12:00pm", "24:00"},
	} {
		expect.Equal(t, tc.want12, formatMinutes(tc.minutes, false), tc.want12, ": formatMinutes(", tc.minutes, ")")
		expect.Equal(t, tc.want24, formatMinutes(tc.minutes, true), tc.want12, ": formatMinutes(", tc.minutes, ") of 24 hours")
	}
}

func TestBookingStatusLabel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ status, additional, want string }{
		{"approved", "", "Approved"},
		{"pending", "In Progress, Waiting", "Pending Approval"},
		{"payment_pending", "", "Payment Pending"},
		{"in_progress", " In Progress , Waiting", "In Progress"},
		{"waiting", "In Progress, Waiting", "Waiting"},
		{"approved", "APPROVED", "APPROVED"},
		{"confirmed", "In Progress", "Undefined Status"},
		{"", "", "Undefined Status"},
		{"", ",", "Undefined Status"},
	} {
		expect.Equal(t, tc.want, bookingStatusLabel(tc.status, tc.additional, nil), "bookingStatusLabel(", tc.status, ", ", tc.additional, ")")
	}
}
