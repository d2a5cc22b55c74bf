package adapter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/payments"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

// receipt returns an automation about payments, on a condition, with everything that a template can show of
// a payment.
func receipt(operator, property, value string) string {
	return `INSERT INTO wp_latepoint_processes (id, name, event_type, status, actions_json) VALUES (20, 'Receipt', 'transaction_created', 'active',
		'[{"type":"group","trigger_condition":{"property":"` + property + `"},"items":[{"type":"trigger_condition_branch","settings":{"operator":"` + operator + `","value":"` + value + `"},
		"items":[{"type":"group","trigger_condition":false,"items":[{"type":"action","id":"pa_20","settings":{"status":"active","type":"send_email","settings":
		{"to_email":"{{customer_full_name}} <{{customer_email}}>","subject":"{{order_confirmation_code}} {{order_payment_status}}",
		"content":"{{transaction_amount}}|{{transaction_kind}}|{{transaction_status}}|{{transaction_processor}}|{{transaction_payment_method}}|{{transaction_payment_portion}}|{{transaction_token}}|{{transaction_notes}}|{{order_payments_total}}|{{order_balance_due_total}}|{{order_agents_emails}}|{{manage_order_url_customer}}|{{booking_code}}|{{customer_notes}}"}}}]}]}],"time_offset":[]}]')`
}

// TestNewPaymentNotifies: order 1403 of customer 153 costs 135. Messages are sent for a new payment, but
// not when it is changed or deleted.
func TestNewPaymentNotifies(t *testing.T) {
	t.Parallel()
	payment := payments.New{OrderID: new(int64(1403)), Patch: payments.Patch{
		Amount: euros("35.5"), Processor: new("stripe"), PaymentMethod: new("card"), PaymentPortion: new("deposit"), Token: new("tok_1"), Notes: new("Thanks"),
	}}
	ofAnother := payment
	ofAnother.CustomerID = 12
	always := receipt("equal", "transaction__kind", "capture")
	for name, c := range map[string]struct {
		setup   []string
		payment payments.New
		to      []string
	}{
		"an order without keys":     {setup: []string{withJobCron, always, "DELETE FROM wp_latepoint_order_meta"}, payment: payment, to: []string{"customer"}},
		"the site sends":            {setup: []string{withJobCron, always}, payment: payment, to: []string{"customer"}},
		"of the payment's customer": {setup: []string{withJobCron, always, "UPDATE wp_latepoint_orders SET customer_id = 0 WHERE id = 1403"}, payment: ofAnother, to: []string{"another"}},
		"a condition that holds":    {setup: []string{withJobCron, receipt("greater_than", "transaction__amount", "35")}, payment: payment, to: []string{"customer"}},
		"a condition that does not": {setup: []string{withJobCron, receipt("equal", "transaction__status", "failed,processing")}, payment: payment},
		"nobody sends":              {setup: []string{always}, payment: payment},
		"no automations":            {setup: []string{withJobCron}, payment: payment},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			database, site, _ := newNotifyingSite(t, append([]string{"DELETE FROM wp_latepoint_processes", "UPDATE wp_latepoint_customers SET notes = 'rings twice' WHERE id IN (12, 153)"}, c.setup...)...)
			created, err := txCreate(t.Context(), site, payments.Create, c.payment)
			expect.NoError(t, err)
			var around string // agents and link of the order
			err = database.SQL.QueryRowContext(t.Context(), "SELECT CONCAT(a.first_name, ' ', a.last_name, ' <', a.email, '>|', o.option_value, '/wp-admin/admin-post.php"+
				"?action=latepoint_route_call&route_name=manage_order_by_key__show&key=', COALESCE((SELECT meta_value FROM wp_latepoint_order_meta"+
				" WHERE object_id = 1403 AND meta_key = 'key_to_manage_for_customer'), 'none')) FROM wp_latepoint_bookings AS b"+
				" JOIN wp_latepoint_agents AS a ON a.id = b.agent_id JOIN wp_options AS o ON o.option_name = 'siteurl' WHERE b.id = 1441").Scan(&around)
			expect.NoError(t, err)
			var want []paymentJob
			for _, who := range c.to {
				id := map[string]int64{"customer": 153, "another": 12}[who]
				customer, _, err := records.OrderCustomer(t.Context(), site, id)
				expect.NoError(t, err)
				want = append(want, paymentJob{
					ObjectType: "n/a", Transaction: created.ID, Told: created.ID, Info: `{"name":"Receipt","event_type":"transaction_created"}`,
					To: customer.FirstName + " " + customer.LastName + " <" + customer.Email + ">", Subject: orderCode(t, database) + " Partially Paid",
					Content: "35.50 €|capture|succeeded|stripe|card|deposit|tok_1|Thanks|35.50 €|99.50 €|" + around + "|{{booking_code}}|rings twice",
				})
			}
			expect.Equal(t, want, paymentJobs(t, database), "jobs")
			_, err = txUpdate(t.Context(), site, payments.Update, created.ID, payments.Patch{Status: new("failed")})
			expect.NoError(t, err)
			expect.NoError(t, txDelete(t.Context(), site, payments.Delete, created.ID))
			expect.Equal(t, len(want), len(paymentJobs(t, database)), "a change or deletion notified")
		})
	}
}

// paymentJob is a queued job about a payment.
type paymentJob struct {
	ObjectType, Info     string
	Transaction, Told    int64
	To, Subject, Content string
}

// TestLinksOfAConstantAddress: links begin with WP_SITEURL where it is defined, as WordPress makes them.
func TestLinksOfAConstantAddress(t *testing.T) {
	t.Parallel()
	database, _, _ := newNotifyingSite(t, "DELETE FROM wp_latepoint_processes", withJobCron, receipt("equal", "transaction__kind", "capture"))
	db := wpdbtest.OpenConfig(t, wpdb.Config{DSN: database.DSN, Prefix: database.Prefix, SiteURL: "https://shop.example/wp/"})
	site, err := session.NewPlatform(db, fixtures.RecordedNow).Session(t.Context())
	expect.NoError(t, err)
	_, err = txCreate(t.Context(), site, payments.Create, payments.New{OrderID: new(int64(1403)), Patch: payments.Patch{Amount: euros("35.5")}})
	expect.NoError(t, err)
	jobs := paymentJobs(t, database)
	if len(jobs) != 1 || !strings.Contains(jobs[0].Content, "|https://shop.example/wp/wp-admin/admin-post.php?action=latepoint_route_call&route_name=manage_order_by_key__show&") {
		t.Errorf("jobs %+v", jobs)
	}
}

func paymentJobs(t *testing.T, d *fixtures.Database) (jobs []paymentJob) {
	t.Helper()
	rows, err := d.SQL.QueryContext(t.Context(), "SELECT object_model_type, object_id, process_info, settings FROM wp_latepoint_process_jobs WHERE process_info LIKE '%transaction_created%' ORDER BY id")
	expect.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var j paymentJob
		var settings string
		expect.NoError(t, rows.Scan(&j.ObjectType, &j.Transaction, &j.Info, &settings))
		var stored struct {
			Data map[string]struct {
				About struct {
					ID int64 `json:"transaction_id"`
				} `json:"activity_data"`
				To, Subject, Content string
			} `json:"action_data"`
		}
		expect.NoError(t, json.Unmarshal([]byte(settings), &stored))
		action := stored.Data["pa_20"]
		j.Told, j.To, j.Subject, j.Content = action.About.ID, action.To, action.Subject, action.Content
		jobs = append(jobs, j)
	}
	expect.NoError(t, rows.Err())
	return jobs
}

func orderCode(t *testing.T, d *fixtures.Database) (code string) {
	t.Helper()
	d.Scan(t, "SELECT confirmation_code FROM wp_latepoint_orders WHERE id = 1403", &code)
	return code
}
