package notify

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestVariablesOf(t *testing.T) {
	t.Parallel()
	start, end := 9*60+5, 22*60
	booking := BookingVariables{
		ID: 16, Code: "ABC1234", Price: "85 €", Service: "Physiotherapy", ServiceCategory: "Therapy",
		Date: time.Date(2026, time.November, 7, 23, 30, 0, 0, time.FixedZone("+14:00", 14*3600)), DateFormat: ReadableDateFormat("d.m.Y", false),
		Start: &start, End: &end, Duration: 60, Status: "Approved", Location: "Main", LocationAddress: "1 High Street",
		ManageURLForAgent: "https://x/a", ManageURLForCustomer: "https://x/c",
	}
	ann := AgentVariables{
		FirstName: "Ann", LastName: "Lee", DisplayName: "Dr. Lee", Email: "ann@x.test", Phone: "+49301",
		AdditionalEmails: "a@x.test, b@x.test", AdditionalPhones: "1, 2",
	}
	got := VariablesOf(booking, ann,
		OrderVariables{
			ID: 5, ConfirmationCode: "KLM1234", CouponCode: "TEN", TaxTotal: "0.0000", CouponDiscount: "10 €", Subtotal: "95 €", Total: "85 €",
			Status: "open", FulfillmentStatus: "not_fulfilled", PaymentStatus: "refunded", PaymentsTotal: "5 €", BalanceDue: "80 €",
			Agents:            []AgentVariables{ann, {FirstName: "Bo", Email: "bo@x.test"}, ann},
			ManageURLForAgent: "https://x/oa", ManageURLForCustomer: "https://x/oc",
		},
		CustomerVariables{FirstName: "Zoë", Email: "zoe@x.test", Phone: "+49302", Notes: "n"},
		TransactionVariables{Token: "tok", Amount: "5 €", Processor: "p", PaymentMethod: "cash", Kind: "capture", Status: "succeeded", Notes: "tn", PaymentPortion: "full"},
		BusinessVariables{Name: "Praxis", Phone: "+49303", Address: "2 High Street", LogoURL: "https://x/logo.png", DashboardURL: "https://x/me"},
	)
	want := Variables{
		"booking_id": "16", "booking_code": "ABC1234", "booking_price": "85 €", "service_name": "Physiotherapy", "service_category": "Therapy",
		"start_date": "7 Nov, 2026", "start_time": "09:05am", "end_time": "10:00pm", "booking_status": "Approved", "location_name": "Main",
		"location_full_address": "1 High Street", "booking_duration": "60 minutes",
		"manage_booking_url_agent": "https://x/a", "manage_booking_url_customer": "https://x/c",
		"order_id": "5", "order_confirmation_code": "KLM1234", "order_coupon_code": "TEN", "order_tax_total": "0.0000", "order_coupon_discount": "10 €",
		"order_subtotal": "95 €", "order_total": "85 €", "order_status": "Open", "order_fulfillment_status": "Not Fulfilled",
		"order_payment_status": "Undefined Status", "order_payments_total": "5 €", "order_balance_due_total": "80 €",
		"order_agents_emails": "Ann Lee <ann@x.test>, Bo <bo@x.test>", "order_agents_full_names": "Ann Lee, Bo",
		"manage_order_url_agent": "https://x/oa", "manage_order_url_customer": "https://x/oc",
		"customer_full_name": "Zoë", "customer_first_name": "Zoë", "customer_last_name": "", "customer_email": "zoe@x.test",
		"customer_phone": "+49302", "customer_notes": "n",
		"agent_first_name": "Ann", "agent_last_name": "Lee", "agent_full_name": "Ann Lee", "agent_display_name": "Dr. Lee", "agent_email": "ann@x.test",
		"agent_phone": "+49301", "agent_additional_emails": "a@x.test, b@x.test", "agent_additional_phones": "1, 2",
		"transaction_token": "tok", "transaction_amount": "5 €", "transaction_processor": "p", "transaction_payment_method": "cash",
		"transaction_kind": "capture", "transaction_status": "succeeded", "transaction_notes": "tn", "transaction_payment_portion": "full",
		"business_logo_image": "Praxis", "business_logo_url": "https://x/logo.png", "business_address": "2 High Street", "business_phone": "+49303",
		"business_name": "Praxis", "customer_dashboard_url": "https://x/me",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("VariablesOf (-want +got):\n%s", diff)
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if strings.ContainsAny(name, "{} ") {
			t.Errorf("variable %q, want a name without braces", name)
		}
	}
}

func TestBookingVariablesUnknown(t *testing.T) {
	t.Parallel()
	got := VariablesOf(BookingVariables{})
	for _, name := range []string{"start_time", "end_time", "booking_duration"} {
		t.Run(name, func(t *testing.T) {
			if got[name] != "n/a" {
				t.Errorf("%s = %q, want n/a", name, got[name])
			}
		})
	}
}

func TestReadableDateFormat(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"m/d/Y": "M j, Y", "m.d.Y": "M j, Y", "d.m.Y": "j M, Y", "d/m/Y": "j M, Y", "Y-m-d": "Y, M j", "l": "M j, Y", "": "M j, Y",
	} {
		t.Run(format, func(t *testing.T) {
			if got := ReadableDateFormat(format, false); got != want {
				t.Errorf("ReadableDateFormat(%q) = %q, want %q", format, got, want)
			}
			if got := ReadableDateFormat(format, true); got != format {
				t.Errorf("terse ReadableDateFormat(%q) = %q", format, got)
			}
		})
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
		t.Run(tc.want12, func(t *testing.T) {
			if got := formatMinutes(tc.minutes, false); got != tc.want12 {
				t.Errorf("formatMinutes(%d) = %q, want %q", tc.minutes, got, tc.want12)
			}
			if got := formatMinutes(tc.minutes, true); got != tc.want24 {
				t.Errorf("formatMinutes(%d) of 24 hours = %q, want %q", tc.minutes, got, tc.want24)
			}
		})
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
		t.Run(tc.status, func(t *testing.T) {
			if got := BookingStatusLabel(tc.status, tc.additional, nil); got != tc.want {
				t.Errorf("BookingStatusLabel(%q, %q) = %q, want %q", tc.status, tc.additional, got, tc.want)
			}
		})
	}
}
