package adapter

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

	"bookside/adapter/process"
	"bookside/wpdb"
)

// templateNeeds is what the templates of automations show that costs further statements
// to read.
type templateNeeds struct {
	order bool // what orders consist of
	logo  bool
}

func needsOf(processes []process.Process) (needs templateNeeds) {
	for _, p := range processes {
		needs.order = needs.order || strings.Contains(p.ActionsJSON, "{{order_summary_breakdown}}") ||
			strings.Contains(p.ActionsJSON, "{{order_items}}") || strings.Contains(p.ActionsJSON, "{{order_transactions_breakdown}}")
		needs.logo = needs.logo || strings.Contains(p.ActionsJSON, "{{business_logo_")
	}
	return needs
}

// orderContent reads what the order of a snapshot consists of.
func (s *Site) orderContent(ctx context.Context, w writeSettings, of snapshot) (*process.OrderContent, error) {
	content := &process.OrderContent{FormatAmount: func(text string) string { return w.formatAmount(text) }, Paid: ledgerOf(of.order.payments).net().IsPositive()}
	var err error
	if content.Breakdown, err = s.priceBreakdown(ctx, of.order.ID); err != nil {
		return nil, err
	}
	for _, p := range of.order.payments {
		content.Payments = append(content.Payments, process.OrderPayment{Portion: p.PaymentPortion, Amount: w.currency.Format(p.Amount)})
	}
	bookings, err := s.bookingsOfItems(ctx, of)
	if err != nil {
		return nil, err
	}
	bundles, err := s.bundles(ctx, of.order.items)
	if err != nil {
		return nil, err
	}
	for _, item := range of.order.items {
		shown := process.OrderItem{Price: w.currency.Format(item.Total)}
		if b, ok := bookings[item.ID]; ok && item.Variant != bundleItem {
			variables := bookingVariables(w, &bookingSnapshot{Booking: b}, "")
			shown.Name, shown.Details = variables.Service, []string{variables.When(), b.Agent.FullName}
		} else {
			bundle := bundles[itemBundle(item)]
			shown.Name, shown.Details = bundle.name, bundle.services
		}
		content.Items = append(content.Items, shown)
	}
	return content, nil
}

// maxAmountText is longer than any amount that a column holds.
const maxAmountText = 24

// formatAmount formats a plain number, as the plugin's order form stores it, as a price;
// other texts are prices already.
func (w writeSettings) formatAmount(text string) string {
	if len(text) > maxAmountText || strings.Trim(text, "-.0123456789") != "" {
		return text
	}
	amount, err := decimal.NewFromString(text)
	if err != nil {
		return text
	}
	return w.currency.Format(amount)
}

// bookingsOfItems returns the bookings of a snapshot's order, by their order item. Nothing
// is read where the snapshot's booking is the only one.
func (s *Site) bookingsOfItems(ctx context.Context, of snapshot) (map[int64]Booking, error) {
	found := map[int64]Booking{}
	if of.booking != nil && len(of.order.items) == 1 {
		found[of.booking.OrderItemID] = of.booking.Booking
		return found, nil
	}
	ids, err := s.orderBookings(ctx, of.order.CustomerID, of.order.items)
	if err != nil {
		return nil, err
	}
	bookings, err := s.bookingsByID(ctx, ids, false)
	for _, b := range bookings {
		found[b.OrderItemID] = b
	}
	return found, err
}

// bundle is what a customer bought with an item of several bookings.
type bundle struct {
	name     string
	services []string // with their number where it is more than one
}

// itemBundle returns the id of the bundle that an order item is for; 0 for none.
func itemBundle(item OrderItem) int64 {
	var data struct {
		BundleID json.Number `json:"bundle_id"`
	}
	if item.Variant != bundleItem || json.Unmarshal([]byte(item.ItemData), &data) != nil {
		return 0
	}
	id, err := data.BundleID.Int64()
	if err != nil {
		return 0
	}
	return id
}

// bundles reads the bundles of order items, by id.
func (s *Site) bundles(ctx context.Context, items []OrderItem) (map[int64]bundle, error) {
	var ids []int64
	for _, item := range items {
		if id := itemBundle(item); id > 0 {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 || !s.schema.Has(wpdb.Bundles) || !s.schema.Has(wpdb.BundlesServices) {
		return nil, nil
	}
	type member struct {
		id            int64
		name, service string
		quantity      int64
	}
	stmt := sq.Select("b.id", "b.name", "s.name", "bs.quantity").From(s.db.As(wpdb.Bundles, "b")).
		LeftJoin(s.db.As(wpdb.BundlesServices, "bs")+" ON bs.bundle_id = b.id").
		LeftJoin(s.db.As(wpdb.Services, "s")+" ON s.id = bs.service_id").
		Where(sq.Eq{"b.id": ids}).OrderBy("b.id", "bs.id")
	members, err := wpdb.All(ctx, s.db, "read bundles", stmt, func(row wpdb.Scanner) (m member, err error) {
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

// logoURL returns the address of the business's logo, or of the plugin's own where there
// is none (OsSettingsHelper::get_business_logo_url, LatePoint 5.6.5, and WordPress's
// image_downsize): the thumbnail if the image has one.
func (s *Site) logoURL(ctx context.Context, w writeSettings) (string, error) {
	fallback := strings.TrimRight(w.siteURL, "/") + "/wp-content/plugins/latepoint/public/images/logo.png"
	id, err := strconv.ParseInt(w.settings[settingBusinessLogo], 10, 64)
	if err != nil || id <= 0 {
		return fallback, nil //nolint:nilerr // no image
	}
	const file, details = "_wp_attached_file", "_wp_attachment_metadata"
	stmt := sq.Select("meta_key", "meta_value").From(s.db.Name(wpdb.Postmeta)).Where(sq.Eq{"post_id": id, "meta_key": []string{file, details}})
	meta, err := wpdb.Map[string, string](ctx, s.db, "read logo", stmt)
	switch {
	case errors.Is(err, wpdb.ErrAccessDenied), errors.Is(err, wpdb.ErrSchema):
		return fallback, nil // a database user of before, who may not see the table
	case err != nil:
		return "", err
	case meta[file] == "":
		return fallback, nil
	}
	return w.uploadURL + "/" + thumbnail(meta[file], meta[details]), nil
}

// thumbnail returns the file of an image's thumbnail, beside the image, or else the
// image. details is serialised.
func thumbnail(file, details string) string {
	value, err := wpdb.UnserializePHP(details)
	for _, key := range []string{"sizes", "thumbnail", "file"} {
		array, ok := value.(*wpdb.PHPArray)
		if err != nil || !ok {
			return file
		}
		value, _ = array.Get(key)
	}
	if name, ok := value.(string); ok && name != "" {
		return path.Join(path.Dir(file), name)
	}
	return file
}

// uploadURL returns the address of the folder of the site's media, without a slash at
// its end (WordPress's wp_upload_dir).
func (s *Site) uploadURL(options map[string]string) string {
	if address := wpdb.PlainText(options["upload_url_path"]); address != "" {
		return strings.TrimRight(address, "/")
	}
	folder := strings.Trim(wpdb.PlainText(options["upload_path"]), "/")
	if folder == "" || path.IsAbs(wpdb.PlainText(options["upload_path"])) {
		folder = "wp-content/uploads"
	}
	address := strings.TrimRight(wpdb.PlainText(options["siteurl"]), "/") + "/" + folder
	network := strings.TrimSuffix(s.db.FullName(wpdb.Users), string(wpdb.Users))
	number := strings.TrimSuffix(strings.TrimPrefix(s.db.Prefix(), network), "_")
	if _, err := strconv.Atoi(number); err == nil && number != "1" {
		address += "/sites/" + number
	}
	return address
}
