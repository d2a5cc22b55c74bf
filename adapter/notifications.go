package adapter

import (
	"cmp"
	"context"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"

	"bookside/adapter/domain"
	"bookside/adapter/outbox"
	"bookside/adapter/process"
	"bookside/wpdb"
)

// jobCron is the scheduled hook in whose runs the site sends what is due.
const jobCron = "latepoint_process_scheduled_jobs"

// eventTypes are the types of processes that an event sets off; reminders are
// those of start and end (OsProcessJobsHelper).
var eventTypes = map[eventKind][]string{
	customerCreated: {"customer_created"},
	bookingCreated:  {"booking_created", bookingStart, bookingEnd},
	bookingUpdated:  {"booking_updated", bookingStart, bookingEnd},
	orderCreated:    {"order_created"},
	orderUpdated:    {"order_updated"},

	transactionCreated: {"transaction_created"},
}

const (
	bookingStart = "booking_start"
	bookingEnd   = "booking_end"
)

// notify hands over what the site's automations say about events: to the site
// itself where it sends in its cron, else to our outbox where there is one.
// Without tell, reminders alone are handed over. told says that a message to the
// customer is among what goes out now.
//
// What an earlier state of a record had scheduled is taken back first.
func (tx *Tx) notify(ctx context.Context, w writeSettings, events []event, tell bool) (told bool, err error) {
	if !tx.hasAutomations() {
		return false, nil
	}
	for _, e := range events {
		if err := tx.deleteScheduledJobs(ctx, e); err != nil {
			return false, err
		}
	}
	processes, err := tx.processes(ctx, processTypes(events, tell))
	if err != nil || len(processes) == 0 {
		return false, err
	}
	var rows []row
	var mails []outbox.Mail
	byCron := strings.Contains(w.cron, jobCron) && w.settings[settingMailProcessor] != ""
	known := map[recordIDs]messageContext{}
	for _, e := range events {
		if !triggers(e, processes) {
			continue
		}
		around, err := tx.messageContext(ctx, e.facts, known)
		if err != nil {
			return false, err
		}
		subject := tx.notificationSubject(w, e, around)
		for _, eventType := range eventTypes[e.kind] {
			subject.At = tx.eventTime(e, eventType)
			for _, job := range process.Jobs(processes, eventType, subject, tx.Now) {
				switch later := job.DueAt.After(tx.Now); {
				case later || byCron:
					stored, err := tx.jobRow(e, job, subject, later)
					if err != nil {
						return false, err
					}
					rows = append(rows, stored)
				case tx.outbox != nil:
					mails = append(mails, mailsOf(job)...)
				default:
					continue
				}
				told = told || !job.DueAt.After(tx.Now) && mailsTo(job, e.facts.Customer.Email)
			}
		}
	}
	if _, err := tx.insert(ctx, wpdb.ProcessJobs, rows...); err != nil {
		return false, err
	}
	if len(mails) > 0 {
		err = outbox.Add(ctx, tx.db, tx.Now, mails)
	}
	return told, err
}

// hasAutomations tells whether the site has tables for automations.
func (s *Site) hasAutomations() bool {
	return s.schema.Has(wpdb.Processes) && s.schema.Has(wpdb.ProcessJobs)
}

// deleteScheduledJobs deletes what is scheduled for a record that has changed
// (OsProcessJobsHelper::handle_booking_updated and its like).
func (tx *Tx) deleteScheduledJobs(ctx context.Context, e event) error {
	switch e.kind {
	case bookingUpdated:
		return tx.deleteJobs(ctx, sq.Eq{"status": jobScheduled, "object_id": e.facts.ID, "object_model_type": "booking"})
	case orderUpdated:
		return tx.deleteJobs(ctx, sq.Eq{"status": jobScheduled, "object_id": e.facts.Order.ID, "object_model_type": "order"})
	default:
		return nil
	}
}

// processTypes are the types of processes to look for.
func processTypes(events []event, tell bool) []string {
	var types []string
	for _, e := range events {
		for _, eventType := range eventTypes[e.kind] {
			if tell || eventType == bookingStart || eventType == bookingEnd {
				types = append(types, eventType)
			}
		}
	}
	return types
}

// processes are the site's active automations of some types.
func (s *Site) processes(ctx context.Context, types []string) ([]process.Process, error) {
	if len(types) == 0 {
		return nil, nil
	}
	stmt := sq.Select("id", "name", "event_type", "actions_json").From(s.db.Name(wpdb.Processes)).
		Where(sq.Eq{"status": "active", "event_type": types}).OrderBy("id")
	return wpdb.All(ctx, s.db, "read automations", stmt, func(row wpdb.Scanner) (p process.Process, err error) {
		err = row.Scan(&p.ID, &p.Name, &p.EventType, wpdb.OrZero(&p.ActionsJSON))
		return p, err
	})
}

// triggers tells whether any of the automations waits for an event.
func triggers(e event, processes []process.Process) bool {
	return slices.ContainsFunc(processes, func(p process.Process) bool { return slices.Contains(eventTypes[e.kind], p.EventType) })
}

// eventTime is when an event of a type happens.
func (s *Site) eventTime(e event, eventType string) time.Time {
	var at time.Time
	known := false
	switch eventType {
	case bookingStart:
		at, known = s.Start(e.facts.Booking)
	case bookingEnd:
		at, known = s.End(e.facts.Booking)
	}
	if !known {
		return s.Now.UTC()
	}
	return at.UTC()
}

// jobRow is a job for the site to do. One that is due now must outlive the next
// change of its record, at which the site takes back what carries the record's
// type; one that is due later must not.
func (s *Site) jobRow(e event, job process.Job, subject process.Subject, later bool) (row, error) {
	settings, err := job.SettingsJSON(subject.ActivityData)
	if err != nil {
		return nil, err
	}
	info, err := job.InfoJSON()
	if err != nil {
		return nil, err
	}
	objectType, id := e.record()
	processID := job.ProcessID
	if !later {
		processID, objectType = 0, "n/a"
	}
	return append(row{
		{"process_id", processID}, {"object_id", id}, {"object_model_type", objectType}, {"settings", settings},
		{"to_run_after_utc", domain.Stamp(job.DueAt)}, {"status", jobScheduled}, {"run_result", nil}, {"process_info", info},
	}, s.newTimestamps()...), nil
}

// record is the record that an event is about, by the platform's word and id.
func (e event) record() (objectType string, id int64) {
	switch e.kind {
	case customerCreated, customerUpdated:
		return "customer", e.facts.Customer.ID
	case orderCreated, orderUpdated:
		return "order", e.facts.Order.ID
	case transactionCreated:
		return "transaction", e.payment.ID
	default:
		return "booking", e.facts.ID
	}
}

// mailsTo tells whether a job mails to an address.
func mailsTo(job process.Job, address string) bool {
	return slices.ContainsFunc(mailsOf(job), func(m outbox.Mail) bool {
		return slices.ContainsFunc(m.Recipients(), func(to mail.Address) bool { return strings.EqualFold(to.Address, address) })
	})
}

func mailsOf(job process.Job) []outbox.Mail {
	var mails []outbox.Mail
	for _, a := range job.Actions {
		if a.Type != process.SendEmail {
			continue
		}
		mails = append(mails, outbox.Mail{To: a.To, Subject: a.Subject, Content: a.Content})
	}
	return mails
}

// What a message was about, as the history has it.
type (
	bookingActivity struct {
		BookingID  any `json:"booking_id"`
		AgentID    any `json:"agent_id"`
		ServiceID  any `json:"service_id"`
		CustomerID any `json:"customer_id"`
	}
	orderActivity struct {
		OrderID    any `json:"order_id"`
		CustomerID any `json:"customer_id"`
	}
	customerActivity struct {
		CustomerID any `json:"customer_id"`
	}
	transactionActivity struct {
		TransactionID any `json:"transaction_id"`
	}
)

// activityData says what a message was about. A new record has numbers where a
// loaded one has texts, as in PHP.
func (e event) activityData() any {
	as := func(loaded bool, n int64) any {
		if loaded {
			return domain.IDText(n)
		}
		return n
	}
	f := e.facts
	updated := e.kind == bookingUpdated || e.kind == orderUpdated
	customer := as(updated || !e.newCustomer, f.Customer.ID)
	switch objectType, record := e.record(); objectType {
	case "customer":
		return customerActivity{record}
	case "order":
		return orderActivity{as(updated, record), customer}
	case "transaction":
		return transactionActivity{record}
	default:
		return bookingActivity{as(updated, record), as(updated, f.Agent.ID), as(updated, f.serviceID()), customer}
	}
}

// notificationSubject is all that templates and conditions can ask about an event.
func (s *Site) notificationSubject(w writeSettings, e event, around messageContext) process.Subject {
	f := e.facts
	subject := process.Subject{Objects: map[string]map[string]string{"customer": customerAttributes(f)}, ActivityData: e.activityData()}
	sources := []process.VariableSource{
		process.CustomerVariables{
			FirstName: f.Customer.FirstName, LastName: f.Customer.LastName, Email: f.Customer.Email, Phone: f.Customer.Phone, Notes: around.customerNotes,
		},
		w.businessVariables(),
	}
	if f.ID != 0 {
		subject.Objects["booking"] = bookingAttributes(f)
		sources = append(sources, s.bookingVariables(w, f, around.staff[0].category), around.staff[0].AgentVariables)
	}
	if f.Order != nil {
		subject.Objects["order"] = orderAttributes(f)
		sources = append(sources, w.orderVariables(f, around))
	}
	if e.kind == transactionCreated {
		subject.Objects["transaction"] = transactionAttributes(e.payment)
		sources = append(sources, w.transactionVariables(e.payment))
	}
	if e.kind == bookingUpdated {
		subject.Objects["old_booking"] = bookingAttributes(e.old)
	}
	if e.kind == orderUpdated {
		subject.Objects["old_order"] = orderAttributes(e.old)
	}
	subject.Variables = process.VariablesOf(sources...)
	return subject
}

func customerAttributes(f bookingFacts) map[string]string {
	c := f.Customer
	return map[string]string{"id": domain.IDText(c.ID), "first_name": c.FirstName, "last_name": c.LastName, "email": c.Email, "phone": c.Phone}
}

func bookingAttributes(f bookingFacts) map[string]string {
	attributes := map[string]string{
		"id": domain.IDText(f.ID), "booking_code": f.Code, "status": f.Status, "start_date": string(f.StartDate), "end_date": string(f.EndDate),
		"duration": domain.IDText(f.Duration), "buffer_before": domain.IDText(f.BufferBefore), "buffer_after": domain.IDText(f.BufferAfter),
		"service_id": domain.IDText(f.serviceID()), "agent_id": domain.IDText(f.Agent.ID), "location_id": domain.IDText(f.locationID()), "customer_id": domain.IDText(f.Customer.ID),
		"total_attendees": domain.IDText(f.Attendees),
	}
	for name, at := range map[string]*Minutes{"start_time": f.StartTime, "end_time": f.EndTime} {
		if at != nil {
			attributes[name] = strconv.Itoa(int(*at))
		}
	}
	if f.Order != nil {
		attributes["payment_status"] = f.Order.PaymentStatus
	}
	return attributes
}

func orderAttributes(f bookingFacts) map[string]string {
	if f.Order == nil {
		return nil
	}
	o := f.Order
	return map[string]string{
		"id": domain.IDText(o.ID), "status": o.Status, "payment_status": o.PaymentStatus, "fulfillment_status": o.FulfillmentStatus,
		"customer_id": domain.IDText(o.CustomerID), "total": domain.AmountText(o.Total), "subtotal": domain.AmountText(o.Subtotal),
		"confirmation_code": o.ConfirmationCode, "order_item_counts": strconv.Itoa(len(f.items)),
	}
}

func transactionAttributes(p Payment) map[string]string {
	return map[string]string{
		"id": domain.IDText(p.ID), "token": domain.ValueOr(p.Token, ""), "invoice_id": domain.ValueOr(domain.OptionalIDText(p.InvoiceID), ""),
		"order_id": domain.ValueOr(domain.OptionalIDText(p.OrderID), ""), "customer_id": domain.IDText(p.CustomerID), "processor": p.Processor,
		"payment_method": p.PaymentMethod, "payment_portion": p.PaymentPortion, "kind": p.Kind, "status": p.Status,
		"amount": domain.AmountText(p.Amount), "notes": domain.ValueOr(p.Notes, ""),
	}
}

// recordIDs are what an event is about, 0 for no booking or order.
type recordIDs struct{ customer, booking, order int64 }

// messageContext are what messages say beyond the records of an event.
type messageContext struct {
	customerNotes string
	staff         []staffMember // one at least where there is a booking
	orderKeys     manageKeys
}

// messageContext reads the surroundings of an event, once for all events about the same.
func (tx *Tx) messageContext(ctx context.Context, f bookingFacts, known map[recordIDs]messageContext) (messageContext, error) {
	ids := recordIDs{customer: f.Customer.ID, booking: f.ID}
	if f.Order != nil {
		ids.order = f.Order.ID
	}
	if found, ok := known[ids]; ok {
		return found, nil
	}
	var around messageContext
	var err error
	notes := sq.Select("COALESCE(notes, '')").From(tx.db.Name(wpdb.Customers)).Where(sq.Eq{"id": f.Customer.ID})
	if around.customerNotes, _, err = wpdb.One(ctx, tx.db, "read notes of customer", notes, wpdb.Value[string]); err != nil {
		return around, err
	}
	if around.staff, err = tx.staff(ctx, f); err != nil {
		return around, err
	}
	if f.Order != nil {
		around.orderKeys, err = tx.keysOfOrder(ctx, f)
	}
	known[ids] = around
	return around, err
}

// staffMember is the agent of a booking as templates show one, with the category
// of its service.
type staffMember struct {
	process.AgentVariables
	category string
}

// staff is that of a booking, or else of the bookings of an order. A booking has
// one always.
func (s *Site) staff(ctx context.Context, f bookingFacts) ([]staffMember, error) {
	bookings := []int64{f.ID}
	if f.ID == 0 {
		if f.Order == nil {
			return nil, nil
		}
		var err error
		if bookings, err = s.orderBookings(ctx, f.Order.CustomerID, f.items); err != nil || len(bookings) == 0 {
			return nil, err
		}
	}
	stmt := sq.Select("a.first_name", "a.last_name", "a.display_name", "a.email", "a.phone", "a.extra_emails", "a.extra_phones", "c.name").
		From(s.db.As(wpdb.Bookings, "b")).
		LeftJoin(s.db.As(wpdb.Agents, "a") + " ON a.id = b.agent_id").
		LeftJoin(s.db.As(wpdb.Services, "s") + " ON s.id = b.service_id").
		LeftJoin(s.db.As(wpdb.ServiceCategories, "c") + " ON c.id = s.category_id").
		Where(sq.Eq{"b.id": bookings}).OrderBy("b.id")
	staff, err := wpdb.All(ctx, s.db, "read agents of bookings", stmt, func(row wpdb.Scanner) (m staffMember, err error) {
		err = row.Scan(wpdb.OrZero(&m.FirstName), wpdb.OrZero(&m.LastName), wpdb.OrZero(&m.DisplayName), wpdb.OrZero(&m.Email), wpdb.OrZero(&m.Phone),
			wpdb.OrZero(&m.AdditionalEmails), wpdb.OrZero(&m.AdditionalPhones), wpdb.OrZero(&m.category))
		m.DisplayName = cmp.Or(m.DisplayName, agentFullName(m.FirstName, m.LastName))
		return m, err
	})
	if err == nil && f.ID != 0 && len(staff) == 0 {
		staff = []staffMember{{}} // the booking was deleted a moment ago
	}
	return staff, err
}

// keysOfOrder are the keys with which an order is managed; one without gets
// them, as in the plugin.
func (tx *Tx) keysOfOrder(ctx context.Context, f bookingFacts) (manageKeys, error) {
	if f.orderKeys != (manageKeys{}) {
		return f.orderKeys, nil
	}
	keys, err := tx.manageKeys(ctx, wpdb.OrderMeta, f.Order.ID)
	if err != nil {
		return manageKeys{}, err
	}
	return tx.insertManageKeys(ctx, wpdb.OrderMeta, f.Order.ID, keys[f.Order.ID])
}

func (w writeSettings) businessVariables() process.BusinessVariables {
	return process.BusinessVariables{
		Name: w.settings[settingBusinessName], Phone: w.settings[settingBusinessPhone], Address: w.settings[settingBusinessAddress],
		DashboardURL: w.pageURL(w.settings[settingDashboard]),
	}
}

// pageURL is the address of a page that the site names by its path.
func (w writeSettings) pageURL(path string) string {
	if path == "" || strings.Contains(path, "://") {
		return path
	}
	return strings.TrimRight(w.siteURL, "/") + "/" + strings.TrimLeft(path, "/")
}

func (s *Site) bookingVariables(w writeSettings, f bookingFacts, category string) process.BookingVariables {
	v := process.BookingVariables{
		ID: f.ID, Code: f.Code, Price: w.currency.Format(f.Price), ServiceCategory: category,
		Date: wallClock(f.Booking), DateFormat: process.ReadableDateFormat(w.dateFormat, w.settings[settingTerseDates] == on),
		Start: (*int)(f.StartTime), End: (*int)(f.EndTime), Clock24: w.clock24, Duration: f.Duration,
		Status:   process.BookingStatusLabel(f.Status, w.settings[settingOwnStatuses]),
		Location: f.Location.Name, LocationAddress: f.Location.FullAddress,
		ManageURLForAgent: w.manageURL("booking", f.keys.agent), ManageURLForCustomer: w.manageURL("booking", f.keys.customer),
	}
	if f.Service != nil {
		v.Service = f.Service.Name
	}
	return v
}

func (w writeSettings) orderVariables(f bookingFacts, around messageContext) process.OrderVariables {
	o, paid := f.Order, netPaid(f.Payments)
	v := process.OrderVariables{
		ID: o.ID, ConfirmationCode: o.ConfirmationCode, CouponCode: domain.ValueOr(o.CouponCode, ""),
		TaxTotal: domain.AmountText(o.TaxTotal), CouponDiscount: w.currency.Format(o.CouponDiscount),
		Subtotal: w.currency.Format(o.Subtotal), Total: w.currency.Format(o.Total),
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		PaymentsTotal: w.currency.Format(paid), BalanceDue: w.currency.Format(o.Total.Sub(paid)),
		ManageURLForAgent: w.manageURL("order", around.orderKeys.agent), ManageURLForCustomer: w.manageURL("order", around.orderKeys.customer),
	}
	for _, member := range around.staff {
		v.Agents = append(v.Agents, member.AgentVariables)
	}
	return v
}

func (w writeSettings) transactionVariables(p Payment) process.TransactionVariables {
	return process.TransactionVariables{
		Token: domain.ValueOr(p.Token, ""), Amount: w.currency.Format(p.Amount), Processor: p.Processor, PaymentMethod: p.PaymentMethod,
		Kind: p.Kind, Status: p.Status, Notes: domain.ValueOr(p.Notes, ""), PaymentPortion: p.PaymentPortion,
	}
}
