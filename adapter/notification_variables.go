package adapter

import (
	"strconv"

	"bookside/adapter/domain"
	"bookside/adapter/process"
)

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

func (w writeSettings) businessVariables() process.BusinessVariables {
	return process.BusinessVariables{
		Name: w.settings[settingBusinessName], Phone: w.settings[settingBusinessPhone], Address: w.settings[settingBusinessAddress],
		DashboardURL: w.pageURL(w.settings[settingDashboard]),
	}
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
