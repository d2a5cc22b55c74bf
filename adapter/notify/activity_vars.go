package notify

import (
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// The variables of records that activities and messages show (OsBookingModel::get_data_vars and the like,
// LatePoint 5.6.5). Values that PHP reads from the database are texts.
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
	// OrderVars is an order as activities show it.
	OrderVars struct {
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
		*orderRelations
	}
	orderRelations struct {
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
	// bundleVars is a bundle as activities show it; null if there is none.
	bundleVars struct {
		ID   *string `json:"id"`
		Name *string `json:"name"`
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
		*bookingRelations
	}
	bookingRelations struct {
		Customer     customerVars      `json:"customer"`
		Transactions []transactionVars `json:"transactions"`
		Order        *OrderVars        `json:"order"`
	}
	change struct {
		New any `json:"new"`
		Old any `json:"old"`
	}
)

func customerVarsOf(c records.BookingCustomer) customerVars {
	return customerVars{
		ID: domain.IDText(c.ID), FirstName: c.FirstName, LastName: c.LastName,
		FullName: c.FullName(), Email: c.Email, Phone: c.Phone,
	}
}

// paymentPortions are the plugin's labels for portions of an order. Other portions have none.
var paymentPortions = map[string]string{"full": "Full Balance", "remaining": "Remaining Balance", "deposit": "Deposit", "custom": "Custom"}

func newTransactionVars(w session.WriteSettings, payments []records.Payment) []transactionVars {
	vars := make([]transactionVars, len(payments))
	for i, p := range payments {
		vars[i] = transactionVars{
			ID: domain.IDText(p.ID), OrderID: domain.OptionalIDText(p.OrderID), InvoiceID: domain.OptionalIDText(p.InvoiceID), Token: p.Token, CustomerID: domain.IDText(p.CustomerID),
			Processor: p.Processor, PaymentMethod: p.PaymentMethod, PaymentPortion: w.Texts.Of(paymentPortions[p.PaymentPortion]),
			Kind: p.Kind, Status: p.Status, Amount: w.Currency.Format(p.Amount), Notes: p.Notes,
		}
	}
	return vars
}

func orderVarsAlone(w session.WriteSettings, o records.Order) OrderVars {
	return OrderVars{
		ID: domain.IDText(o.ID), ConfirmationCode: o.ConfirmationCode, CustomerComment: o.CustomerComment,
		Status: o.Status, FulfillmentStatus: o.FulfillmentStatus, PaymentStatus: o.PaymentStatus,
		SourceID: o.SourceID, SourceURL: o.SourceURL, Total: w.Currency.Format(o.Total), Subtotal: w.Currency.Format(o.Subtotal),
		CreatedDatetime: domain.OffsetText(o.CreatedAt),
	}
}

// bookingVarsAlone returns the variables of the booking without those of related records.
func bookingVarsAlone(s *session.Session, w session.WriteSettings, from Snapshot) bookingVars {
	b := from.Booking
	vars := bookingVars{
		ID: domain.IDText(b.ID), BookingCode: b.Code, Duration: domain.IDText(b.Duration), Status: b.Status, Timezone: s.Zone.Name,
		Agent:           agentVars{domain.IDText(b.Agent.ID), b.Agent.FullName, b.Agent.Email, b.Agent.Phone},
		CreatedDatetime: domain.OffsetText(b.CreatedAt),
		ManageForAgent:  w.ManageURL("booking", b.Keys.Agent), ManageForCustomer: w.ManageURL("booking", b.Keys.Customer),
	}
	if b.Service != nil {
		vars.ServiceName = b.Service.Name
	}
	if from.Order != nil {
		vars.CustomerComment = from.Order.CustomerComment
	}
	if start, ok := records.Start(s, b.Booking); ok {
		vars.StartDatetime = start.Format(domain.OffsetLayout)
		vars.StartDate = text.FormatDate(wallClock(b.Booking), w.DateFormat)
		vars.StartTime = w.Clock(wallClock(b.Booking))
	}
	if end, ok := records.End(s, b.Booking); ok {
		vars.EndDatetime = end.Format(domain.OffsetLayout)
	}
	return vars
}

// wallClock returns the stored start of a booking as if it were UTC, so that a time
// skipped by a spring change is shown as stored.
func wallClock(b records.Booking) time.Time {
	day, _ := b.StartDate.Time(time.UTC)
	if b.StartTime == nil {
		return day
	}
	return day.Add(time.Duration(*b.StartTime) * time.Minute)
}

// newBookingVars returns the variables of the booking with its customer, order and payments.
func newBookingVars(s *session.Session, w session.WriteSettings, from Snapshot) bookingVars {
	vars := bookingVarsAlone(s, w, from)
	vars.bookingRelations = &bookingRelations{Customer: customerVarsOf(from.Customer), Transactions: newTransactionVars(w, from.payments())}
	if from.Order != nil {
		order := orderVarsAlone(w, from.Order.Order)
		vars.Order = &order
	}
	return vars
}

// newOrderVars returns the variables of the order with its customer, items and payments. Items of other
// bookings are shown from their item data.
func newOrderVars(s *session.Session, w session.WriteSettings, from Snapshot) OrderVars {
	vars := orderVarsAlone(w, from.Order.Order)
	vars.orderRelations = &orderRelations{Customer: customerVarsOf(from.Customer), Transactions: newTransactionVars(w, from.payments()), Items: []orderItemVars{}}
	for _, item := range from.Order.Items {
		shown := orderItemVars{
			ID: domain.IDText(item.ID), Variant: item.Variant, Subtotal: domain.AmountText(item.Subtotal), Total: domain.AmountText(item.Total),
			ItemData: records.RawObject(item.ItemData),
		}
		switch {
		case item.Variant == records.BundleItem:
			shown.ItemData = bundleVarsOf(*from.Order, item)
		case from.Booking != nil && item.ID == from.Booking.OrderItemID:
			shown.ItemData = bookingItemVars(s, w, from)
		}
		vars.Items = append(vars.Items, shown)
	}
	return vars
}

// bundleVarsOf returns the variables of an item's bundle (OsBundleModel::generate_data_vars, LatePoint 5.6.5).
func bundleVarsOf(order OrderSnapshot, item records.OrderItem) (vars bundleVars) {
	id := itemBundle(item)
	if found, ok := order.bundles[id]; ok {
		vars = bundleVars{new(domain.IDText(id)), &found.name}
	}
	return vars
}

// bookingItemVars returns the variables of the booking as an item of an order.
func bookingItemVars(s *session.Session, w session.WriteSettings, from Snapshot) bookingVars {
	vars := bookingVarsAlone(s, w, from)
	vars.Duration = from.Booking.Duration
	return vars
}

// OrderActivityVars returns the variables of an order with those of all its bookings
// (OsOrderModel::get_data_vars, LatePoint 5.6.5).
func OrderActivityVars(s *session.Session, w session.WriteSettings, o OrderWithBookings) OrderVars {
	vars := newOrderVars(s, w, o.Snapshot())
	for i, item := range o.Order.Items {
		if booking, ok := o.bookingOf(item); ok {
			vars.Items[i].ItemData = bookingItemVars(s, w, o.OfBooking(booking))
		}
	}
	return vars
}
