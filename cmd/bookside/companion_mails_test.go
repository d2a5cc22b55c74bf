package main

import (
	"encoding/json"
	"fmt"
	"net/mail"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// The variables of LatePoint that a mail about a new order may have, those about a new booking besides, and those that are blocks, to which
// the server gives a layout of its own.
const (
	blockVariables = ` business_logo_image order_summary_breakdown order_transactions_breakdown order_items`
	orderVariables = `customer_email customer_first_name customer_full_name customer_last_name customer_notes customer_phone customer_dashboard_url
		business_address business_logo_url business_name business_phone order_agents_emails order_agents_full_names order_balance_due_total
		order_coupon_code order_coupon_discount order_fulfillment_status order_payment_status order_payments_total order_status order_subtotal
		order_tax_total order_total order_confirmation_code manage_order_url_agent manage_order_url_customer`
	bookingVariables = ` booking_status booking_duration booking_price booking_code start_date start_time end_time service_name service_category location_name location_full_address
		agent_display_name agent_email agent_first_name agent_full_name agent_last_name agent_phone agent_additional_emails agent_additional_phones
		manage_booking_url_agent manage_booking_url_customer`
)

// TestMailsAreLatePoints: the mails about a booking by the API are those that LatePoint sends about the same booking on
// the site: to whom, subject and content.
func TestMailsAreLatePoints(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.SiteA().WithFewBookings())
	s := &messagesSite{toldSite: &toldSite{bookingSite: newBookingSite(t, fixtures.NewWordPressWithPlatform(t, db), db)}}
	writeBelow(t, s.Content, map[string]string{"plugins/meeting/meeting.php": string(readFile(t, "testdata/meeting.php"))})
	db.Execute(t, "DELETE FROM wp_latepoint_processes", "UPDATE wp_latepoint_customers SET notes = 'Ring <twice> & wait' WHERE id = 1")
	for id, m := range []struct{ event, to, subject, variables string }{
		{"booking_created", "{{customer_email}}", "{{service_name}} & {{start_time}}", orderVariables + bookingVariables},
		{"order_created", "{{order_agents_emails}}", "{{order_confirmation_code}}: {{customer_full_name}}", orderVariables},
		{"booking_created", "{{agent_email}}, second@example.test", "“{{agent_full_name}}”", bookingVariables},
		{"order_created", "{{customer_email}}", "blocks", blockVariables},
	} {
		var all strings.Builder
		for name := range strings.FieldsSeq(m.variables) {
			fmt.Fprintf(&all, `<p>%s: {{%[1]s}}</p>\\n`, name)
		}
		db.Execute(t, strings.NewReplacer("{{customer_email}}", m.to, "event ", "", fmt.Sprintf("%d of {{booking_id}}", id+1), m.subject, "Join {{meeting_link}}", all.String()).Replace(workflow(id+1, m.event, "[]")))
	}
	s.wordpress = s.ServeByWorkers(t, 3)
	s.Activate(t, "meeting/meeting.php")
	s.visit()
	s.serve(s.wordpress.URL)

	booked := returns[checkedOut](s.bookingSite, "return test_cart_checkout(test_columns("+s.slot(840, "'agent_id' => 1")+"));")
	if booked.Order == 0 {
		t.Fatal(booked.Error)
	}
	want := s.mails(booked.Order)
	if len(want) != 5 {
		t.Fatalf("LatePoint has sent %d mails: %q", len(want), want)
	}
	for _, m := range want {
		expect.Empty(t, regexp.MustCompile(`\{\{\w+\}\}`).FindAllString(m, -1), "not filled")
	}
	again := func() int {
		t.Helper()
		s.execute(db.SQL, "DELETE FROM {p}bookings WHERE start_date = '"+s.bookday+"'")
		s.hour = 13
		booking := s.book(`,"send_confirmation":true`)
		s.s.eventually("the end of events", func() bool {
			return s.number("SELECT COUNT(*) FROM {own}events WHERE status IN ('waiting', 'started')") == 0
		})
		return s.number(fmt.Sprint("SELECT i.order_id FROM {p}bookings b JOIN {p}order_items i ON i.id = b.order_item_id WHERE b.id = ", booking))
	}
	if diff := cmp.Diff(want, s.mails(again())); diff != "" {
		t.Errorf("mails that LatePoint sends about a booking by the API (-site +API):\n%s", diff)
	}
}

// mails returns the mails that WordPress has sent since, about an order, sorted.
func (s *messagesSite) mails(order int) (mails []string) {
	s.t.Helper()
	lines := strings.Split(strings.TrimSuffix(string(readFile(s.t, filepath.Join(s.Content, "meetings.jsonl"))), "\n"), "\n")
	for _, line := range lines[s.read:] {
		text, ok := strings.CutPrefix(line, "mail ")
		if !ok {
			continue
		}
		var mail [3]string
		expect.NoError(s.t, json.Unmarshal([]byte(text), &mail))
		mails = append(mails, s.mailTo(order, mail)...)
	}
	s.read = len(lines)
	slices.Sort(mails)
	return mails
}

// mailTo returns a mail about an order to each of its recipients, without what differs between two equal orders.
func (s *messagesSite) mailTo(order int, sent [3]string) (mails []string) {
	s.t.Helper()
	recipients, err := mail.ParseAddressList(sent[0])
	if err != nil {
		s.t.Fatal(sent[0], err)
	}
	text := sent[1] + "\n" + sent[2]
	booking := fmt.Sprintf("SELECT b.id FROM {p}bookings b JOIN {p}order_items i ON i.id = b.order_item_id WHERE i.order_id = %d", order)
	for _, query := range []string{
		"SELECT booking_code FROM {p}bookings WHERE id = (" + booking + ")",
		fmt.Sprintf("SELECT confirmation_code FROM {p}orders WHERE id = %d", order),
		"SELECT meta_value FROM {p}booking_meta WHERE meta_key = 'key_to_manage_for_agent' AND object_id = (" + booking + ")",
		"SELECT meta_value FROM {p}booking_meta WHERE meta_key = 'key_to_manage_for_customer' AND object_id = (" + booking + ")",
		fmt.Sprintf("SELECT meta_value FROM {p}order_meta WHERE meta_key = 'key_to_manage_for_agent' AND object_id = %d", order),
		fmt.Sprintf("SELECT meta_value FROM {p}order_meta WHERE meta_key = 'key_to_manage_for_customer' AND object_id = %d", order),
	} {
		text = strings.ReplaceAll(text, s.text(query), "(code)")
	}
	text = strings.NewReplacer("\r\n", "\n", s.text("SELECT option_value FROM "+s.db.Prefix+"options WHERE option_name = 'siteurl'"), "http://site.test").Replace(text)
	for _, to := range recipients {
		mails = append(mails, to.String()+"\n"+text)
	}
	return mails
}
