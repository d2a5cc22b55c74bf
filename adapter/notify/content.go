package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// templateNeeds says what the templates of automations show that takes further statements to read.
type templateNeeds struct {
	order bool // the contents of orders
	logo  bool
}

func needsOf(processes []Process) (needs templateNeeds) {
	for _, p := range processes {
		needs.order = needs.order || strings.Contains(p.ActionsJSON, "{{order_summary_breakdown}}") ||
			strings.Contains(p.ActionsJSON, "{{order_items}}") || strings.Contains(p.ActionsJSON, "{{order_transactions_breakdown}}")
		needs.logo = needs.logo || strings.Contains(p.ActionsJSON, "{{business_logo_")
	}
	return needs
}

// orderContent reads the contents of a snapshot's order.
func orderContent(ctx context.Context, s *session.Session, w session.WriteSettings, snapshot Snapshot) (*OrderContent, error) {
	paid, itemsTotal := records.LedgerOf(snapshot.Order.Payments).Net(), decimal.Zero
	content := &OrderContent{Credits: w.Currency.FormatExactly(paid), BalanceDue: w.Currency.FormatExactly(snapshot.Order.Total.Sub(paid))}
	if paid.IsPositive() {
		content.Credits = "-" + content.Credits
	}
	var err error
	if content.Breakdown, err = records.LoadPriceBreakdown(ctx, s, snapshot.Order.ID); err != nil {
		return nil, err
	}
	for _, p := range snapshot.Order.Payments {
		content.Transactions = append(content.Transactions, OrderPayment{Portion: p.PaymentPortion, Amount: w.Currency.Format(p.Amount)})
	}
	bookings, err := bookingsOfItems(ctx, s, snapshot)
	if err != nil {
		return nil, err
	}
	for _, item := range snapshot.Order.Items {
		itemsTotal = itemsTotal.Add(item.Total)
		shown := OrderItem{Heading: "Service", Price: w.Currency.FormatExactly(item.Total)}
		if b, ok := bookings[item.ID]; ok && item.Variant != records.BundleItem {
			variables := bookingVariables(w, &BookingSnapshot{Booking: b}, "")
			shown.Name, shown.Details = variables.Service, []string{variables.When(), b.Agent.FullName}
		} else {
			bundle := snapshot.Order.bundles[itemBundle(item)]
			shown.Heading, shown.Name, shown.Details = "Bundle", bundle.name, bundle.services
		}
		content.Items = append(content.Items, shown)
	}
	content.ItemsTotal = w.Currency.FormatExactly(itemsTotal)
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
	bookings, err := records.LoadBookings(ctx, s, ids, false)
	for _, b := range bookings {
		found[b.OrderItemID] = b
	}
	return found, err
}

// bundle is what a customer bought with an item of several bookings.
type bundle struct {
	name     string
	services []string // each with its number if more than one
}

// itemBundle returns the id of an order item's bundle, or 0 for none.
func itemBundle(item records.OrderItem) int64 {
	var data struct {
		BundleID json.Number `json:"bundle_id"`
	}
	if item.Variant != records.BundleItem || json.Unmarshal([]byte(item.ItemData), &data) != nil {
		return 0
	}
	id, err := data.BundleID.Int64()
	if err != nil {
		return 0
	}
	return id
}

// bundles reads the bundles of order items, by id.
func bundles(ctx context.Context, s *session.Session, items []records.OrderItem) (map[int64]bundle, error) {
	var ids []int64
	for _, item := range items {
		if id := itemBundle(item); id > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || !s.Schema.Has(wpdb.Bundles) || !s.Schema.Has(wpdb.BundlesServices) {
		return nil, nil
	}
	type member struct {
		id            int64
		name, service string
		quantity      int64
	}
	stmt := sq.Select("b.id", "b.name", "s.name", "bs.quantity").From(s.DB.As(wpdb.Bundles, "b")).
		LeftJoin(s.DB.As(wpdb.BundlesServices, "bs")+" ON bs.bundle_id = b.id").
		LeftJoin(s.DB.As(wpdb.Services, "s")+" ON s.id = bs.service_id").
		Where(sq.Eq{"b.id": ids}).OrderBy("b.id", "bs.id")
	members, err := wpdb.All(ctx, s.DB, "read bundles", stmt, func(row wpdb.Scanner) (m member, err error) {
		err = row.Scan(&m.id, wpdb.OrZero(&m.name), wpdb.OrZero(&m.service), wpdb.OrZero(&m.quantity))
		return m, err
	})
	found := map[int64]bundle{}
	for _, m := range members {
		if m.quantity > 1 {
			m.service = fmt.Sprintf("%s (%d)", m.service, m.quantity)
		}
		found[m.id] = bundle{m.name, append(found[m.id].services, m.service)}
	}
	return found, err
}

// logoURL returns the address of the business's logo, or of the plugin's own if there is none
// (OsSettingsHelper::get_business_logo_url, LatePoint 5.6.5, and WordPress's image_downsize): the thumbnail
// if the image has one.
func logoURL(ctx context.Context, s *session.Session, w session.WriteSettings) (string, error) {
	fallback := strings.TrimRight(w.SiteURL, "/") + "/wp-content/plugins/latepoint/public/images/logo.png"
	id, err := strconv.ParseInt(w.Settings[session.SettingBusinessLogo], 10, 64)
	if err != nil || id <= 0 {
		return fallback, nil //nolint:nilerr // no image
	}
	const file, details = "_wp_attached_file", "_wp_attachment_metadata"
	stmt := sq.Select("meta_key", "meta_value").From(s.DB.Name(wpdb.Postmeta)).Where(sq.Eq{"post_id": id, "meta_key": []string{file, details}})
	meta, err := wpdb.Map[string, string](ctx, s.DB, "read logo", stmt)
	switch {
	case errors.Is(err, wpdb.ErrAccessDenied), errors.Is(err, wpdb.ErrSchema):
		return fallback, nil // a database user of an earlier version, who may not read the table
	case err != nil:
		return "", err
	case meta[file] == "":
		return fallback, nil
	}
	return w.UploadURL + "/" + thumbnail(meta[file], meta[details]), nil
}

// thumbnail returns the file of an image's thumbnail, which is beside the image, or otherwise the image.
// details is serialised.
func thumbnail(file, details string) string {
	value, err := wpdb.UnserializePHP(details)
	for _, key := range []string{"sizes", "thumbnail", "file"} {
		array, ok := value.(map[any]any)
		if err != nil || !ok {
			return file
		}
		value = array[key]
	}
	if name, ok := value.(string); ok && name != "" {
		return path.Join(path.Dir(file), name)
	}
	return file
}
