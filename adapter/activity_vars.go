package adapter

import (
	"strings"
	"time"

	"bookside/adapter/domain"
	"bookside/adapter/process"
)

// The records of the plugin's history (OsBookingModel::get_data_vars and its
// like, LatePoint 5.6.5). Values that it has from the database are texts.
type (
	customerVars struct {
		ID        any    `json:"id"`
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		FullName  string `json:"full_name"`
		Email     string `json:"email"`
		Phone     string `json:"phone"`
	}
	agentVars struct {
		ID       string `json:"id"`
		FullName string `json:"full_name"`
		Email    string `json:"email"`
		Phone    string `json:"phone"`
	}
	transactionVars struct {
		ID             string  `json:"id"`
		OrderID        *string `json:"order_id"`
		InvoiceID      *string `json:"invoice_id"`
		Token          *string `json:"token"`
		CustomerID     string  `json:"customer_id"`
		Processor      string  `json:"processor"`
		PaymentMethod  string  `json:"payment_method"`
		PaymentPortion string  `json:"payment_portion"`
		Kind           string  `json:"kind"`
		Status         string  `json:"status"`
		Amount         string  `json:"amount"`
		Notes          *string `json:"notes"`
	}
	orderVars struct {
		ID                any     `json:"id"`
		ConfirmationCode  string  `json:"confirmation_code"`
		CustomerComment   *string `json:"customer_comment"`
		Status            string  `json:"status"`
		FulfillmentStatus string  `json:"fulfillment_status"`
		PaymentStatus     string  `json:"payment_status"`
		SourceID          *string `json:"source_id"`
		SourceURL         any     `json:"source_url"`
		Total             string  `json:"total"`
		Subtotal          string  `json:"subtotal"`
		CreatedDatetime   string  `json:"created_datetime"`
		*orderAround
	}
	orderAround struct {
		Customer     customerVars      `json:"customer"`
		Transactions []transactionVars `json:"transactions"`
		Items        []orderItemVars   `json:"order_items"`
	}
	orderItemVars struct {
		ID       string `json:"id"`
		Variant  string `json:"variant"`
		Subtotal string `json:"subtotal"`
		Total    string `json:"total"`
		ItemData any    `json:"item_data"`
	}
	bookingVars struct {
		ID                any       `json:"id"`
		BookingCode       string    `json:"booking_code"`
		StartDatetime     string    `json:"start_datetime"`
		EndDatetime       string    `json:"end_datetime"`
		ServiceName       string    `json:"service_name"`
		Duration          any       `json:"duration"`
		CustomerComment   *string   `json:"customer_comment"`
		Status            string    `json:"status"`
		StartDate         string    `json:"start_date"`
		StartTime         string    `json:"start_time"`
		Timezone          string    `json:"timezone"`
		Agent             agentVars `json:"agent"`
		CreatedDatetime   string    `json:"created_datetime"`
		ManageForAgent    string    `json:"manage_booking_for_agent"`
		ManageForCustomer string    `json:"manage_booking_for_customer"`
		*bookingAround
	}
	bookingAround struct {
		Customer     customerVars      `json:"customer"`
		Transactions []transactionVars `json:"transactions"`
		Order        *orderVars        `json:"order"`
	}
	change struct {
		New any `json:"new"`
		Old any `json:"old"`
	}
)

func customerVarsOf(c BookingCustomer) customerVars {
	return customerVars{
		ID: domain.IDText(c.ID), FirstName: c.FirstName, LastName: c.LastName,
		FullName: strings.TrimSpace(c.FirstName + " " + c.LastName), Email: c.Email, Phone: c.Phone,
	}
}

// portionLabels are the plugin's words for portions of a payment; it has none
// for others.
var portionLabels = map[string]string{"full": "Full Balance", "remaining": "Remaining Balance", "deposit": "Deposit", "custom": "Custom"}

func (w writeSettings) transactionVars(payments []Payment) []transactionVars {
	vars := make([]transactionVars, len(payments))
	for i, p := range payments {
		vars[i] = transactionVars{
			ID: domain.IDText(p.ID), OrderID: domain.OptionalIDText(p.OrderID), InvoiceID: domain.OptionalIDText(p.InvoiceID), Token: p.Token, CustomerID: domain.IDText(p.CustomerID),
			Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: portionLabels[p.PaymentPortion],
			Kind: p.Kind, Status: p.Status, Amount: w.currency.Format(p.Amount), Notes: p.Notes,
		}
	}
	return vars
}

func (w writeSettings) orderVarsAlone(o Order) orderVars {
	return orderVars{
		ID: domain.IDText(o.ID), ConfirmationCode: o.ConfirmationCode, CustomerComment: o.CustomerComment,
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		SourceID: o.SourceID, SourceURL: o.SourceURL, Total: w.currency.Format(o.Total), Subtotal: w.currency.Format(o.Subtotal),
		CreatedDatetime: domain.OffsetText(o.CreatedAt),
	}
}

// bookingVarsAlone is a booking without what is around it.
func (s *Site) bookingVarsAlone(w writeSettings, f bookingFacts) bookingVars {
	vars := bookingVars{
		ID: domain.IDText(f.ID), BookingCode: f.Code, Duration: domain.IDText(f.Duration), Status: f.Status, Timezone: s.Zone.Name,
		Agent:           agentVars{domain.IDText(f.Agent.ID), f.Agent.FullName, f.Agent.Email, f.Agent.Phone},
		CreatedDatetime: domain.OffsetText(f.CreatedAt),
		ManageForAgent:  w.manageURL("booking", f.keys.agent), ManageForCustomer: w.manageURL("booking", f.keys.customer),
	}
	if f.Service != nil {
		vars.ServiceName = f.Service.Name
	}
	if f.Order != nil {
		vars.CustomerComment = f.Order.CustomerComment
	}
	if start, ok := s.Start(f.Booking); ok {
		vars.StartDatetime = start.Format(domain.OffsetLayout)
		vars.StartDate = process.FormatDate(wallClock(f.Booking), w.dateFormat)
		vars.StartTime = w.clock(wallClock(f.Booking))
	}
	if end, ok := s.End(f.Booking); ok {
		vars.EndDatetime = end.Format(domain.OffsetLayout)
	}
	return vars
}

// wallClock is what is stored of a booking's start, as if it were UTC: a time
// that a spring change skips is shown as stored.
func wallClock(b Booking) time.Time {
	day, _ := b.StartDate.Time(time.UTC)
	if b.StartTime == nil {
		return day
	}
	return day.Add(time.Duration(*b.StartTime) * time.Minute)
}

// bookingVars is a booking with what is around it.
func (s *Site) bookingVars(w writeSettings, f bookingFacts) bookingVars {
	vars := s.bookingVarsAlone(w, f)
	vars.bookingAround = &bookingAround{Customer: customerVarsOf(f.Customer), Transactions: w.transactionVars(f.Payments)}
	if f.Order != nil {
		order := w.orderVarsAlone(*f.Order)
		vars.Order = &order
	}
	return vars
}

// orderVars is the order of a booking with its items. Those of other bookings
// are shown by what their item data says.
func (s *Site) orderVars(w writeSettings, f bookingFacts) orderVars {
	vars := w.orderVarsAlone(*f.Order)
	vars.orderAround = &orderAround{Customer: customerVarsOf(f.Customer), Transactions: w.transactionVars(f.Payments), Items: []orderItemVars{}}
	for _, item := range f.items {
		shown := orderItemVars{ID: domain.IDText(item.ID), Variant: item.Variant, Subtotal: domain.AmountText(item.Subtotal), Total: domain.AmountText(item.Total), ItemData: rawObject(item.ItemData)}
		if item.ID == f.OrderItemID {
			own := s.bookingVarsAlone(w, f)
			own.Duration = f.Duration
			shown.ItemData = own
		}
		vars.Items = append(vars.Items, shown)
	}
	return vars
}

// orderActivityVars is what the history says of an order (OsOrderModel::get_data_vars,
// LatePoint 5.6.5).
func (s *Site) orderActivityVars(w writeSettings, f orderFacts) orderVars {
	vars := s.orderVars(w, f.facts())
	for i, item := range f.items {
		if booking, ok := f.bookingOf(item); ok {
			shown := s.bookingVarsAlone(w, booking)
			shown.Duration = booking.Duration
			vars.Items[i].ItemData = shown
		}
	}
	return vars
}
