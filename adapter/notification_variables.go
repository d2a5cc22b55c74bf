package adapter

import (
	"strconv"

	"bookside/adapter/domain"
	"bookside/adapter/process"
)

// The activity data of a message: the ids of the records that it is about.
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

// activityData returns the activity data of an event. A new record has numbers where a
// loaded one has texts, as in PHP.
func (e event) activityData() any {
	as := func(loaded bool, n int64) any {
		if loaded {
			return domain.IDText(n)
		}
		return n
	}
	updated := e.kind == bookingUpdated || e.kind == orderUpdated
	customer := as(updated || !e.newCustomer, e.after.customer.ID)
	switch objectType, id := e.record(); objectType {
	case "customer":
		return customerActivity{id}
	case "order":
		return orderActivity{as(updated, id), customer}
	case "transaction":
		return transactionActivity{id}
	default:
		b := e.after.booking
		return bookingActivity{as(updated, id), as(updated, b.Agent.ID), as(updated, b.serviceID()), customer}
	}
}

// notificationSubject returns all that templates and conditions can use of an event.
func (s *Site) notificationSubject(w writeSettings, e event, context messageContext) process.Subject {
	now := e.after
	subject := process.Subject{Objects: map[string]map[string]string{"customer": customerAttributes(now.customer)}, ActivityData: e.activityData()}
	sources := []process.VariableSource{customerVariables(now.customer, context.customerNotes), w.businessVariables()}
	if now.booking != nil {
		subject.Objects["booking"] = bookingAttributes(now)
		sources = append(sources, s.bookingVariables(w, now.booking, context.staff[0].category), context.staff[0].AgentVariables)
	}
	if now.order != nil {
		subject.Objects["order"] = orderAttributes(now.order)
		sources = append(sources, w.orderVariables(now.order, context))
	}
	if e.payment != nil {
		subject.Objects["transaction"] = transactionAttributes(*e.payment)
		sources = append(sources, w.transactionVariables(*e.payment))
	}
	switch e.kind {
	case bookingUpdated:
		subject.Objects["old_booking"] = bookingAttributes(*e.before)
	case orderUpdated:
		subject.Objects["old_order"] = orderAttributes(e.before.order)
	}
	subject.Variables = process.VariablesOf(sources...)
	return subject
}

// The attributes of records, which conditions compare.

func customerAttributes(c BookingCustomer) map[string]string {
	return map[string]string{"id": domain.IDText(c.ID), "first_name": c.FirstName, "last_name": c.LastName, "email": c.Email, "phone": c.Phone}
}

func bookingAttributes(of snapshot) map[string]string {
	b := of.booking
	attributes := map[string]string{
		"id": domain.IDText(b.ID), "booking_code": b.Code, "status": b.Status, "start_date": string(b.StartDate), "end_date": string(b.EndDate),
		"duration": domain.IDText(b.Duration), "buffer_before": domain.IDText(b.BufferBefore), "buffer_after": domain.IDText(b.BufferAfter),
		"service_id": domain.IDText(b.serviceID()), "agent_id": domain.IDText(b.Agent.ID), "location_id": domain.IDText(b.locationID()), "customer_id": domain.IDText(b.Customer.ID),
		"total_attendees": domain.IDText(b.Attendees),
	}
	for name, at := range map[string]*Minutes{"start_time": b.StartTime, "end_time": b.EndTime} {
		if at != nil {
			attributes[name] = strconv.Itoa(int(*at))
		}
	}
	if of.order != nil {
		attributes["payment_status"] = of.order.PaymentStatus
	}
	return attributes
}

func orderAttributes(o *orderSnapshot) map[string]string {
	return map[string]string{
		"id": domain.IDText(o.ID), "status": o.Status, "payment_status": o.PaymentStatus, "fulfillment_status": o.FulfillmentStatus,
		"customer_id": domain.IDText(o.CustomerID), "total": domain.AmountText(o.Total), "subtotal": domain.AmountText(o.Subtotal),
		"confirmation_code": o.ConfirmationCode, "order_item_counts": strconv.Itoa(len(o.items)),
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

// The variables of records, which templates show.

func customerVariables(c BookingCustomer, notes string) process.CustomerVariables {
	return process.CustomerVariables{FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, Notes: notes}
}

func (w writeSettings) businessVariables() process.BusinessVariables {
	return process.BusinessVariables{
		Name: w.settings[settingBusinessName], Phone: w.settings[settingBusinessPhone], Address: w.settings[settingBusinessAddress],
		DashboardURL: w.pageURL(w.settings[settingDashboard]),
	}
}

func (s *Site) bookingVariables(w writeSettings, b *bookingSnapshot, category string) process.BookingVariables {
	v := process.BookingVariables{
		ID: b.ID, Code: b.Code, Price: w.currency.Format(b.Price), ServiceCategory: category,
		Date: wallClock(b.Booking), DateFormat: process.ReadableDateFormat(w.dateFormat, w.settings[settingTerseDates] == on),
		Start: (*int)(b.StartTime), End: (*int)(b.EndTime), Clock24: w.clock24, Duration: b.Duration,
		Status:   process.BookingStatusLabel(b.Status, w.settings[settingOwnStatuses]),
		Location: b.Location.Name, LocationAddress: b.Location.FullAddress,
		ManageURLForAgent: w.manageURL("booking", b.keys.agent), ManageURLForCustomer: w.manageURL("booking", b.keys.customer),
	}
	if b.Service != nil {
		v.Service = b.Service.Name
	}
	return v
}

func (w writeSettings) orderVariables(o *orderSnapshot, context messageContext) process.OrderVariables {
	paid := netPaid(o.payments)
	v := process.OrderVariables{
		ID: o.ID, ConfirmationCode: o.ConfirmationCode, CouponCode: domain.ValueOr(o.CouponCode, ""),
		TaxTotal: domain.AmountText(o.TaxTotal), CouponDiscount: w.currency.Format(o.CouponDiscount),
		Subtotal: w.currency.Format(o.Subtotal), Total: w.currency.Format(o.Total),
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		PaymentsTotal: w.currency.Format(paid), BalanceDue: w.currency.Format(o.Total.Sub(paid)),
		ManageURLForAgent: w.manageURL("order", context.orderKeys.agent), ManageURLForCustomer: w.manageURL("order", context.orderKeys.customer),
	}
	for _, member := range context.staff {
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
