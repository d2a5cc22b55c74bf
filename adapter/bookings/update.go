package bookings

import (
	"context"
	"fmt"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/availability"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// Patch changes a booking. A nil field stays as it is. Validation holds the problems found so far; its
// fields are not checked again.
type Patch struct {
	ServiceID, CustomerID *int64
	AgentID, LocationID   *int64 // 0 for any
	StartDate             *availability.Day
	StartTime             *session.Minutes
	Duration              *int64 // minutes
	Attendees             *int64
	Extras                *slots.Extras // all extras that the booking is to have
	Fields                *SentFields   // custom fields; the others stay
	Status                *string
	Declines              bool // only a pending booking changes its status, which is how wp-admin rejects one: LatePoint has no status for that
	Customer              records.CustomerFields
	Price                 *decimal.Decimal
	Notes                 *string
	Reasons               map[string]*string // why, by the keys of booking meta or MoveReason; nil for what is no text
	Notify                bool               // send the messages of the site's automations; reminders are always sent
	domain.Validation
}

// Update changes a booking and keeps its order item in step. Columns that do not change are not written. It
// returns the errors of Create, a CodeNotFound if the booking does not exist, and a CodeForbidden if the
// caller's key does not permit the change. A dry run sends no messages.
func Update(ctx context.Context, tx *session.Tx, id int64, patch Patch) (records.BookingDetail, error) {
	if err := tx.Lock(ctx, session.LockOf(session.BookingLock, id)); err != nil {
		return records.BookingDetail{}, err
	}
	stored, err := notify.LoadBookingSnapshot(ctx, tx.Session, id)
	if err != nil {
		return records.BookingDetail{}, err
	}
	w, err := tx.WriteSettings(ctx)
	if err != nil {
		return records.BookingDetail{}, err
	}
	u, err := validateUpdate(ctx, tx, w, stored, patch)
	if err != nil {
		return records.BookingDetail{}, err
	}
	resource, err := u.assign(ctx, tx)
	if err != nil {
		return records.BookingDetail{}, err
	}
	changed, err := writeUpdate(ctx, tx, w, u, resource)
	if err != nil {
		return records.BookingDetail{}, err
	}
	if changed == (updatedRecords{}) {
		return shownBooking(ctx, tx, u.before)
	}
	if tx.DryRun {
		detail, err := records.LoadBookingDetail(ctx, tx.AsCaller(), id)
		if changed.booking && u.reason != nil && detail.Reasons != nil {
			detail.Reasons[u.reason.key] = u.reason.text
		}
		return detail, err
	}
	if changed.booking {
		if err := saveReason(ctx, tx, u); err != nil {
			return records.BookingDetail{}, err
		}
		if err := countNoShow(ctx, tx, w, u); err != nil {
			return records.BookingDetail{}, err
		}
	}
	// The activity log shows the keys, and the plugin creates missing ones when it
	// writes an entry.
	if u.before.Booking.Keys, err = records.InsertManageKeys(ctx, tx, wpdb.BookingMeta, id, u.before.Booking.Keys); err != nil {
		return records.BookingDetail{}, err
	}
	after, err := notify.LoadBookingSnapshot(ctx, tx.Session, id)
	if err != nil {
		return records.BookingDetail{}, err
	}
	if changed.booking {
		var assets map[int64][]records.Asset
		if u.slot != nil {
			assets = map[int64][]records.Asset{u.slot.service.ID: u.slot.service.Assets}
		}
		if err := records.RewriteAssets(ctx, tx, w, assets, after.Booking.Booking); err != nil {
			return records.BookingDetail{}, err
		}
	}
	events := changed.events(u.before, after)
	if err := notify.LogEvents(ctx, tx, w, events); err != nil {
		return records.BookingDetail{}, err
	}
	if _, err = notify.Notify(ctx, tx, w, events, notify.Messages(patch.Notify)); err != nil {
		return records.BookingDetail{}, err
	}
	return shownBooking(ctx, tx, after)
}

// shownBooking returns a booking as the caller sees it; its order may be hidden. A booking that has left
// the caller's scope is a CodeOutsideScope.
func shownBooking(ctx context.Context, tx *session.Tx, s notify.Snapshot) (records.BookingDetail, error) {
	if tx.Scope().Unlimited() {
		return s.BookingDetail(), nil
	}
	detail, err := records.LoadBookingDetail(ctx, tx.AsCaller(), s.Booking.ID)
	if domain.CodeOf(err) == domain.CodeNotFound {
		err = domain.OutsideScope()
	}
	return detail, err
}

// bookingUpdate is a valid change to a booking, before it has its slot.
type bookingUpdate struct {
	before  notify.Snapshot // has a booking
	who     updatedCustomer
	changes slotChanges
	slot    *appointment // nil if no slot is needed
	fields  customFields
	status  string
	reason  *givenReason // nil for none
	notes   *string      // nil to keep them
	price   *newPrice    // nil to keep it
}

// validateUpdate validates a change, reporting all problems at once, and takes its locks.
func validateUpdate(ctx context.Context, tx *session.Tx, w session.WriteSettings, before notify.Snapshot, patch Patch) (bookingUpdate, error) {
	p := patch.Problems()
	patch = patch.sanitize(tx.Session, w, before, &p)
	b := before.Booking.Booking
	status := domain.ValueOr(patch.Status, b.Status)
	if patch.Declines && b.Status != records.StatusPending && b.Status != status {
		p.Reject("status", "Only a pending booking can be declined; this one has the status "+b.Status)
	}
	checkTransition(&p, b.Status, status, records.OwnStatuses(w.Settings[session.SettingOwnStatuses]))
	reason := reasonOf(tx, b, status, patch.Reasons, &p)
	changes := patch.slotChanges(b)
	slot, err := slotOfUpdate(ctx, tx.Session, b, patch, changes, status, &p)
	if err != nil {
		return bookingUpdate{}, err
	}
	if slot != nil || patch.Price != nil { // extensions may decide about it
		if err := tx.CheckExtensions(ctx); err != nil {
			return bookingUpdate{}, err
		}
	}
	if p.Err() == nil {
		if before, err = lockUpdate(ctx, tx, w, before, patch, status, slot); err != nil {
			return bookingUpdate{}, err
		}
	}
	if err := tx.CheckPrecondition(); err != nil {
		return bookingUpdate{}, err
	}
	price := priceOf(before, patch.Price, &p)
	who, err := customerOfUpdate(ctx, tx, w, before, patch, &p)
	if err != nil {
		return bookingUpdate{}, err
	}
	itemData := "{}"
	if item := before.BookingItem(); item != nil {
		itemData = item.ItemData
	}
	fields, err := readCustomFields(tx.Session, w, patch.Fields, before.Booking.Meta, itemData, &p)
	if err != nil {
		return bookingUpdate{}, err
	}
	u := bookingUpdate{before: before, who: who, changes: changes, slot: slot, fields: fields, status: status, reason: reason, notes: patch.Notes, price: price}
	if u.saves() && slot != nil {
		fields.require(&p, slot.resources...)
	} else if u.saves() {
		fields.require(&p, presentResource(b))
	}
	if u.slot, err = decideUpdate(ctx, tx, u, &p); err != nil {
		return bookingUpdate{}, err
	}
	if err := p.Err(); err != nil {
		return bookingUpdate{}, err
	}
	changesOrder := price != nil || u.notes != nil && *u.notes != domain.ValueOr(before.Order.CustomerComment, "")
	if !tx.Scope().Unlimited() && changesOrder && !onlyItemOfOrder(before) { // others' bookings are in it
		return bookingUpdate{}, domain.OutsideScope()
	}
	if records.ReopensCompleted(b.Status, status) {
		if err := tx.RequirePermission("delete_bookings"); err != nil {
			return bookingUpdate{}, err
		}
	}
	if who.replaces {
		err = tx.RequirePermission("write_customers")
	}
	return u, err
}

// sanitize returns the patch as it is stored, without what changes nothing, and checks price and notes, which
// are stored with order item and order.
func (patch Patch) sanitize(s *session.Session, w session.WriteSettings, before notify.Snapshot, p *domain.Validation) Patch {
	if !s.Extension(extensions.ProFeatures, w.Settings) { // without it, the field is unknown
		patch.Extras = nil
	}
	switch item := before.BookingItem(); {
	case patch.Price == nil:
	case item == nil:
		p.Reject("price", "This booking has no order item")
	case patch.Price.Equal(item.Total):
		patch.Price = nil // it recalculates nothing
	}
	if patch.Notes == nil {
		return patch
	}
	patch.Notes = new(text.TextareaField(*patch.Notes))
	s.CheckText(p, "notes", wpdb.Orders, "customer_comment", *patch.Notes)
	if before.Order == nil {
		p.Reject("notes", "This booking has no order")
	}
	return patch
}

// checkTransition rejects a status that may not follow the present one, on a site with custom statuses.
func checkTransition(p *domain.Validation, from, to string, custom []string) {
	switch {
	case from == to, p.Has("status"), records.TransitionAllowed(from, to, custom):
	case records.BookingTransitions[from] == nil && !slices.Contains(custom, from):
		p.Reject("status", fmt.Sprintf("Bookings with the status %s cannot change to another status", from))
	default:
		p.Reject("status", fmt.Sprintf("Cannot change from %s to %s", from, to))
	}
}

// saves reports whether the plugin would save the booking, and so validate its custom fields: it does not
// for a mere change of status (OsBookingModel::update_status), and price and notes belong to the order.
func (u bookingUpdate) saves() bool {
	return u.changes.any || u.who.ID != u.before.Customer.ID || len(u.fields.changes) > 0
}

// presentResource returns the resource that a booking has.
func presentResource(b records.Booking) availability.Resource {
	return availability.Resource{Agent: b.Agent.ID, Service: b.ServiceID(), Location: b.LocationID()}
}

// assign gives the booking its slot, if it needs one, and returns its resource.
func (u bookingUpdate) assign(ctx context.Context, tx *session.Tx) (availability.Resource, error) {
	if u.slot == nil {
		return presentResource(u.before.Booking.Booking), nil
	}
	assigned, err := u.slot.assign(ctx, tx)
	if err != nil {
		return availability.Resource{}, err
	}
	if u.saves() {
		err = u.fields.check(assigned.Resource)
	}
	return assigned.Resource, err
}

// newPrice is the price of a booking, and the sums of its order that follow from it.
type newPrice struct{ amount, subtotal, total decimal.Decimal }

// priceOf recalculates the order of a booking with another price, nil for none: its items, less discounts, plus
// tax. This replaces a total entered by hand.
func priceOf(before notify.Snapshot, amount *decimal.Decimal, p *domain.Validation) *newPrice {
	item := before.BookingItem()
	if amount == nil || item == nil || p.Has("price") {
		return nil
	}
	price := newPrice{amount: *amount}
	for _, i := range before.Order.Items {
		switch {
		case i.ID == item.ID:
			price.subtotal = price.subtotal.Add(*amount)
		case i.Subtotal.IsZero():
			price.subtotal = price.subtotal.Add(i.Total)
		default:
			price.subtotal = price.subtotal.Add(i.Subtotal)
		}
	}
	price.total = price.subtotal.Add(surcharge(before.Order.Order))
	switch {
	case price.total.IsNegative():
		p.Reject("price", "The order's discounts exceed its price")
	case price.subtotal.GreaterThan(domain.MaxAmount), price.total.GreaterThan(domain.MaxAmount):
		p.Reject("price", "Too large")
	}
	return &price
}

// surcharge returns what an order's total has beyond its subtotal: tax less discounts, which is usually
// negative. The plugin's checkout stores a coupon's discount as positive. Its staff form, with the coupon
// add-on, stores the computed total less the subtotal instead: negative, with the tax inside it, while
// tax_total stays as it was. The order's total shows which of the two stored it, unless staff also entered
// a total by hand; then tax_total is taken to be all of the tax.
func surcharge(o records.Order) decimal.Decimal {
	stored := o.Total.Sub(o.Subtotal)
	usual := o.TaxTotal.Sub(o.CouponDiscount.Abs()).Sub(o.DiscountTotal)
	form := o.CouponDiscount.Sub(o.DiscountTotal)
	if !o.CouponDiscount.IsZero() && !stored.Equal(usual) && (stored.Equal(o.CouponDiscount) || stored.Equal(form)) {
		return form
	}
	return usual
}

// onlyItemOfOrder reports whether the booking is the only one of its order. A bundle has several.
func onlyItemOfOrder(before notify.Snapshot) bool {
	order := before.Order
	return order != nil && len(order.Items) == 1 && order.Items[0].Variant != records.BundleItem
}
