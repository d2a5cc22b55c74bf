package adapter

import (
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
	subject := process.Subject{Objects: s.conditionObjects(e), ActivityData: e.activityData()}
	sources := []process.VariableSource{customerVariables(now.customer, context.customerNotes), w.businessVariables(context.logoURL)}
	if now.booking != nil {
		sources = append(sources, bookingVariables(w, now.booking, context.staff[0].category), context.staff[0].AgentVariables)
	}
	if now.order != nil {
		sources = append(sources, w.orderVariables(now.order, context))
	}
	if e.payment != nil {
		sources = append(sources, w.transactionVariables(*e.payment))
	}
	subject.Variables, subject.HTML = process.VariablesOf(sources...), process.HTMLOf(sources...)
	return subject
}

// The variables of records, which templates show.

func customerVariables(c BookingCustomer, notes string) process.CustomerVariables {
	return process.CustomerVariables{FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, Notes: notes}
}

func (w writeSettings) businessVariables(logoURL string) process.BusinessVariables {
	return process.BusinessVariables{
		Name: w.settings[settingBusinessName], Phone: w.settings[settingBusinessPhone], Address: w.settings[settingBusinessAddress],
		LogoURL: logoURL, DashboardURL: w.pageURL(w.settings[settingDashboard]),
	}
}

func bookingVariables(w writeSettings, b *bookingSnapshot, category string) process.BookingVariables {
	v := process.BookingVariables{
		ID: b.ID, Code: b.Code, Price: w.currency.Format(b.Price), ServiceCategory: category,
		Date: wallClock(b.Booking), DateFormat: process.ReadableDateFormat(w.dateFormat, w.settings[settingTerseDates] == on),
		Start: (*int)(b.StartTime), End: (*int)(b.EndTime), Clock24: w.clock24, Duration: b.Duration,
		Status:   process.BookingStatusLabel(b.Status, w.settings[settingOwnStatuses], w.texts),
		Texts:    w.texts,
		Location: b.Location.Name, LocationAddress: b.Location.FullAddress,
		ManageURLForAgent: w.manageURL("booking", b.keys.agent), ManageURLForCustomer: w.manageURL("booking", b.keys.customer),
	}
	if b.Service != nil {
		v.Service = b.Service.Name
	}
	return v
}

func (w writeSettings) orderVariables(o *orderSnapshot, context messageContext) process.OrderVariables {
	paid := ledgerOf(o.payments).net()
	v := process.OrderVariables{
		ID: o.ID, ConfirmationCode: o.ConfirmationCode, CouponCode: domain.ValueOr(o.CouponCode, ""),
		TaxTotal: domain.AmountText(o.TaxTotal), CouponDiscount: w.currency.Format(o.CouponDiscount),
		Subtotal: w.currency.Format(o.Subtotal), Total: w.currency.Format(o.Total),
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		PaymentsTotal: w.currency.Format(paid), BalanceDue: w.currency.Format(o.Total.Sub(paid)),
		ManageURLForAgent: w.manageURL("order", context.orderKeys.agent), ManageURLForCustomer: w.manageURL("order", context.orderKeys.customer),
		Content: context.order, Texts: w.texts,
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
