package notify

import (
	"context"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
)

// orderContent is what an order consists of, for the variables that show it as a whole. Prices are formatted
// with all their decimals, unless said otherwise.
type orderContent struct {
	texts text.Texts
	// breakdown is the column price_breakdown. If it is empty or not JSON, items and itemsTotal are shown.
	breakdown  string
	items      []contentItem
	itemsTotal string
	credits    string // what was paid, with a minus before it unless that is nothing
	balanceDue string
	payments   []contentPayment
}

// contentItem is an item of an order.
type contentItem struct {
	heading     string // of its price, in English
	name, price string
	details     []string // when and with whom, or the services of a bundle
}

// contentPayment is a payment of an order. The portion is as stored, the amount formatted without empty decimals.
type contentPayment struct{ portion, amount string }

// loadOrderContent reads the contents of a snapshot's order.
func loadOrderContent(ctx context.Context, s *session.Session, w session.WriteSettings, snapshot Snapshot) (orderContent, error) {
	order := snapshot.Order
	breakdown, err := records.LoadPriceBreakdown(ctx, s, order.ID)
	if err != nil {
		return orderContent{}, err
	}
	bookings, err := bookingsOfItems(ctx, s, snapshot)
	if err != nil {
		return orderContent{}, err
	}
	paid, itemsTotal := records.LedgerOf(order.Payments).Net(), decimal.Zero
	content := orderContent{texts: w.Texts, breakdown: breakdown, credits: w.Currency.FormatExactly(paid), balanceDue: w.Currency.FormatExactly(order.Total.Sub(paid))}
	if paid.IsPositive() {
		content.credits = "-" + content.credits
	}
	for _, p := range order.Payments {
		content.payments = append(content.payments, contentPayment{p.PaymentPortion, w.Currency.Format(p.Amount)})
	}
	for _, item := range order.Items {
		itemsTotal = itemsTotal.Add(item.Total)
		price := w.Currency.FormatExactly(item.Total)
		b, exists := bookings[item.ID]
		if item.Variant == records.BundleItem || !exists { // one whose booking is gone has only its price, like a bundle that is gone
			bundle := order.bundles[itemBundle(item)]
			content.items = append(content.items, contentItem{"Bundle", bundle.name, price, bundle.services})
			continue
		}
		when := readableDay(w, b) + ", " + timeOfDay(b.StartTime, w.Clock24)
		content.items = append(content.items, contentItem{"Service", serviceName(b), price, []string{when, b.Agent.FullName}})
	}
	content.itemsTotal = w.Currency.FormatExactly(itemsTotal)
	return content, nil
}

// bookingsOfItems returns the bookings of a snapshot's order, by order item. It reads nothing if the
// snapshot's booking is the only one.
func bookingsOfItems(ctx context.Context, s *session.Session, snapshot Snapshot) (map[int64]records.Booking, error) {
	found := map[int64]records.Booking{}
	if snapshot.Booking != nil && len(snapshot.Order.Items) == 1 {
		found[snapshot.Booking.OrderItemID] = snapshot.Booking.Booking
		return found, nil
	}
	ids, err := OrderBookings(ctx, s, snapshot.Order.CustomerID, snapshot.Order.Items)
	if err != nil {
		return nil, err
	}
	bookings, err := records.LoadBookings(ctx, s, ids)
	for _, b := range bookings {
		found[b.OrderItemID] = b
	}
	return found, err
}
