package notify

import (
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
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

// activityData returns the activity data of an event. As in PHP, a new record has numbers where a loaded
// one has texts.
func (e Event) activityData() any {
	as := func(loaded bool, n int64) any {
		if loaded {
			return domain.IDText(n)
		}
		return n
	}
	updated := e.Kind == BookingUpdated || e.Kind == OrderUpdated
	customer := as(updated || !e.NewCustomer, e.After.Customer.ID)
	switch objectType, id := e.record(); objectType {
	case "customer":
		return customerActivity{id}
	case "order":
		return orderActivity{as(updated, id), customer}
	case "transaction":
		return transactionActivity{id}
	default:
		b := e.After.Booking
		return bookingActivity{as(updated, id), as(updated, b.Agent.ID), as(updated, b.ServiceID()), customer}
	}
}

// notificationSubject returns everything that templates and conditions can use of an event.
func notificationSubject(s *session.Session, w session.WriteSettings, e Event, context messageContext) Subject {
	now := e.After
	subject := Subject{Objects: conditionObjects(s, e), ActivityData: e.activityData()}
	sources := []VariableSource{customerVariables(now.Customer, context.customerNotes), businessVariables(w, context.logoURL)}
	if now.Booking != nil {
		sources = append(sources, bookingVariables(w, now.Booking, context.staff[0].category), context.staff[0].AgentVariables)
	}
	if now.Order != nil {
		sources = append(sources, orderVariables(w, now.Order, context))
	}
	if e.Payment != nil {
		sources = append(sources, transactionVariables(w, *e.Payment))
	}
	subject.Variables, subject.HTML = VariablesOf(sources...), HTMLOf(sources...)
	return subject
}

// The variables of records that templates show.

func customerVariables(c records.BookingCustomer, notes string) CustomerVariables {
	return CustomerVariables{FirstName: c.FirstName, LastName: c.LastName, Email: c.Email, Phone: c.Phone, Notes: notes}
}

func businessVariables(w session.WriteSettings, logoURL string) BusinessVariables {
	return BusinessVariables{
		Name: w.Settings[session.SettingBusinessName], Phone: w.Settings[session.SettingBusinessPhone], Address: w.Settings[session.SettingBusinessAddress],
		LogoURL: logoURL, DashboardURL: w.PageURL(w.Settings[session.SettingDashboard]),
	}
}

func bookingVariables(w session.WriteSettings, b *BookingSnapshot, category string) BookingVariables {
	v := BookingVariables{
		ID: b.ID, Code: b.Code, Price: w.Currency.Format(b.Price), ServiceCategory: category,
		Date: wallClock(b.Booking), DateFormat: ReadableDateFormat(w.DateFormat, w.Settings[session.SettingTerseDates] == session.On),
		Start: (*int)(b.StartTime), End: (*int)(b.EndTime), Clock24: w.Clock24, Duration: b.Duration,
		Status:   BookingStatusLabel(b.Status, w.Settings[session.SettingOwnStatuses], w.Texts),
		Texts:    w.Texts,
		Location: b.Location.Name, LocationAddress: b.Location.FullAddress,
		ManageURLForAgent: w.ManageURL("booking", b.Keys.Agent), ManageURLForCustomer: w.ManageURL("booking", b.Keys.Customer),
	}
	if b.Service != nil {
		v.Service = b.Service.Name
	}
	return v
}

func orderVariables(w session.WriteSettings, o *OrderSnapshot, context messageContext) OrderVariables {
	paid := records.LedgerOf(o.Payments).Net()
	v := OrderVariables{
		ID: o.ID, ConfirmationCode: o.ConfirmationCode, CouponCode: domain.ValueOr(o.CouponCode, ""),
		TaxTotal: domain.AmountText(o.TaxTotal), CouponDiscount: w.Currency.Format(o.CouponDiscount),
		Subtotal: w.Currency.Format(o.Subtotal), Total: w.Currency.Format(o.Total),
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		PaymentsTotal: w.Currency.Format(paid), BalanceDue: w.Currency.Format(o.Total.Sub(paid)),
		ManageURLForAgent: w.ManageURL("order", context.orderKeys.Agent), ManageURLForCustomer: w.ManageURL("order", context.orderKeys.Customer),
		Content: context.order, Texts: w.Texts,
	}
	for _, member := range context.staff {
		v.Agents = append(v.Agents, member.AgentVariables)
	}
	return v
}

func transactionVariables(w session.WriteSettings, p records.Payment) TransactionVariables {
	return TransactionVariables{
		Token: domain.ValueOr(p.Token, ""), Amount: w.Currency.Format(p.Amount), Processor: p.Processor, PaymentMethod: p.PaymentMethod,
		Kind: p.Kind, Status: p.Status, Notes: domain.ValueOr(p.Notes, ""), PaymentPortion: p.PaymentPortion,
	}
}
