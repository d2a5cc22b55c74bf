package catalog

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	sq "github.com/Masterminds/squirrel"
	"github.com/microcosm-cc/bluemonday"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/notify"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/text"
	"github.com/bookside/bookside/wpdb"
)

// ServicePatch changes a service. A nil field stays as it is. Validation holds the problems found so far;
// its fields are not checked again.
type ServicePatch struct {
	Name, ShortDescription, Description             *string
	Duration                                        *int64 // minutes
	PriceMin, PriceMax, ChargeAmount, DepositAmount *decimal.Decimal
	CapacityMin, CapacityMax                        *int64
	OrderNumber, SelectionImageID                   *int64
	Status                                          *string // active or disabled
	Visibility                                      *string // visible or hidden
	CategoryID                                      *int64  // 0 for none
	CustomerLimit                                   *string // "" for none
	domain.Validation
}

// NewService is a service to create. The name is required; any other nil field gets the
// default of the plugin's form.
type NewService struct{ ServicePatch }

// CreateService creates a service as the plugin's form does (OsServicesController::create, LatePoint
// 5.6.5). It appears on the site at once, but cannot be booked until it is connected to agents there.
//
// If anything is wrong with the service, it returns a CodeInvalidRequest or CodeValidationFailed that names
// every field.
func CreateService(ctx context.Context, tx *session.Tx, n NewService) (Service, error) {
	sent := n.ServicePatch
	p := sent.Problems()
	p.Require("name", sent.Name != nil)
	patch, err := sanitizeService(ctx, tx.Session, sent, Service{}, &p)
	if err != nil {
		return Service{}, err
	}
	if err := p.Err(); err != nil {
		return Service{}, err
	}
	color, err := nextColor(ctx, tx.Session)
	if err != nil {
		return Service{}, err
	}
	id, err := tx.Insert(ctx, wpdb.Services, append(session.Row{
		{Name: "name", Value: patch.Name}, {Name: "short_description", Value: patch.ShortDescription}, {Name: "is_price_variable", Value: nil},
		{Name: "price_min", Value: session.OrAmount(patch.PriceMin)}, {Name: "price_max", Value: session.OrAmount(patch.PriceMax)},
		{Name: "charge_amount", Value: session.OrAmount(patch.ChargeAmount)}, {Name: "deposit_amount", Value: session.OrAmount(patch.DepositAmount)}, {Name: "is_deposit_required", Value: nil},
		{Name: "duration_name", Value: ""}, {Name: "override_default_booking_status", Value: ""}, {Name: "duration", Value: domain.ValueOr(patch.Duration, serviceDuration)},
		{Name: "buffer_before", Value: 0}, {Name: "buffer_after", Value: 0}, {Name: "category_id", Value: domain.ValueOr(patch.CategoryID, 0)}, {Name: "order_number", Value: patch.OrderNumber},
		{Name: "selection_image_id", Value: wpdb.NullIfZero(domain.ValueOr(patch.SelectionImageID, 0))}, {Name: "description_image_id", Value: nil}, {Name: "bg_color", Value: color},
		{Name: "earliest_possible_booking", Value: nil}, {Name: "latest_possible_booking", Value: nil}, {Name: "timeblock_interval", Value: nil},
		{Name: "capacity_min", Value: domain.ValueOr(patch.CapacityMin, 1)}, {Name: "capacity_max", Value: domain.ValueOr(patch.CapacityMax, 1)},
		{Name: "status", Value: domain.ValueOr(patch.Status, "active")}, {Name: "visibility", Value: domain.ValueOr(patch.Visibility, "visible")},
	}, tx.NewTimestamps()...))
	if err != nil {
		return Service{}, err
	}
	metas := patch.metas(Service{})
	metas["durations"] = "[]" // only the service's own
	if err := session.SaveMeta(ctx, tx, wpdb.ServiceMeta, id, metas); err != nil {
		return Service{}, err
	}
	if err := notify.LogActivities(ctx, tx, notify.Activity{Code: "service_created", ServiceID: &id}); err != nil {
		return Service{}, err
	}
	return LoadService(ctx, tx.Session, id, ServiceIncludes{})
}

// serviceDuration is the default of the plugin's form, in minutes.
const serviceDuration = 60

// UpdateService changes a service. Its connections, working hours and other durations stay; the plugin's
// form rewrites all of them, and deletes working hours that are not sent. It returns the errors of
// CreateService, and a CodeNotFound if the service does not exist.
func UpdateService(ctx context.Context, tx *session.Tx, id int64, sent ServicePatch) (Service, error) {
	if err := tx.LockRows(ctx, wpdb.Services, []int64{id}); err != nil {
		return Service{}, err
	}
	before, err := LoadService(ctx, tx.Session, id, ServiceIncludes{})
	if err != nil {
		return Service{}, err
	}
	if err := tx.CheckPrecondition(); err != nil {
		return Service{}, err
	}
	p := sent.Problems()
	patch, err := sanitizeService(ctx, tx.Session, sent, before, &p)
	if err != nil {
		return Service{}, err
	}
	if err := p.Err(); err != nil {
		return Service{}, err
	}
	columns, metas := patch.changeset(before), patch.metas(before)
	if len(columns)+len(metas) == 0 {
		return before, nil
	}
	if err := tx.Update(ctx, wpdb.Services, id, append(session.Row(columns), tx.UpdateTimestamp())); err != nil {
		return Service{}, err
	}
	if err := session.SaveMeta(ctx, tx, wpdb.ServiceMeta, id, metas); err != nil {
		return Service{}, err
	}
	if err := notify.LogActivities(ctx, tx, notify.Activity{Code: "service_updated", ServiceID: &id}); err != nil {
		return Service{}, err
	}
	return LoadService(ctx, tx.Session, id, ServiceIncludes{})
}

// sanitizeService validates a patch and sanitizes its texts.
func sanitizeService(ctx context.Context, s *session.Session, patch ServicePatch, before Service, p *domain.Validation) (ServicePatch, error) {
	session.SanitizeField(s, p, "name", &patch.Name, text.Field, wpdb.Services, "name")
	session.SanitizeField(s, p, "short_description", &patch.ShortDescription, SanitizeHTML, wpdb.Services, "short_description")
	session.SanitizeField(s, p, "description", &patch.Description, SanitizeHTML, wpdb.ServiceMeta, "meta_value")
	session.SanitizeField(s, p, "customer_limit", &patch.CustomerLimit, text.Field, wpdb.ServiceMeta, "meta_value")
	if patch.Name != nil && *patch.Name == "" {
		p.Reject("name", "May not be empty")
	}
	session.CheckNumber(p, "duration", patch.Duration, 1, "Must be at least 1 minute")
	if sent := patch.Duration; sent != nil && *sent > maxDuration {
		p.Reject("duration", fmt.Sprintf("Must be at most %d minutes, as that of a booking", maxDuration))
	}
	session.CheckAmount(p, "price_min", patch.PriceMin)
	session.CheckAmount(p, "price_max", patch.PriceMax)
	session.CheckAmount(p, "charge_amount", patch.ChargeAmount)
	session.CheckAmount(p, "deposit_amount", patch.DepositAmount)
	session.CheckNumber(p, "capacity_min", patch.CapacityMin, 0, session.NotNegative)
	session.CheckNumber(p, "capacity_max", patch.CapacityMax, 0, session.NotNegative)
	checkCapacity(p, patch, before)
	session.CheckNumber(p, "order_number", patch.OrderNumber, 0, session.NotNegative)
	session.CheckNumber(p, "selection_image_id", patch.SelectionImageID, 0, session.NotNegative)
	session.CheckWord(p, "status", patch.Status, "active", "disabled")
	session.CheckWord(p, "visibility", patch.Visibility, "visible", "hidden")
	return patch, checkCategory(ctx, s, patch.CategoryID, p)
}

// maxDuration is the longest duration of a booking, in minutes.
const maxDuration = 24 * 60

// checkCapacity rejects a minimum capacity above the maximum.
func checkCapacity(p *domain.Validation, patch ServicePatch, before Service) {
	storedLeast, storedMost := before.CapacityMin, before.CapacityMax
	if before.ID == 0 {
		storedLeast, storedMost = 1, 1 // for a new service
	}
	least, most := domain.ValueOr(patch.CapacityMin, storedLeast), domain.ValueOr(patch.CapacityMax, storedMost)
	if least <= most || patch.CapacityMin == nil && patch.CapacityMax == nil {
		return
	}
	field := "capacity_max"
	if patch.CapacityMax == nil {
		field = "capacity_min"
	}
	p.Reject(field, "capacity_min may not be larger than capacity_max")
}

// checkCategory rejects a category that does not exist.
func checkCategory(ctx context.Context, s *session.Session, sent *int64, p *domain.Validation) error {
	if sent == nil || *sent == 0 || p.Has("category_id") {
		return nil
	}
	stmt := sq.Select("1").From(s.DB.Name(wpdb.ServiceCategories)).Where(sq.Eq{"id": *sent})
	_, found, err := wpdb.One(ctx, s.DB, "find category", stmt, wpdb.Value[int64])
	if err == nil && !found {
		p.Invalid("category_id", "Category not found")
	}
	return err
}

// changeset returns the changed columns.
func (patch ServicePatch) changeset(v Service) session.Changeset {
	var e session.Changeset
	e.Text("name", patch.Name, v.Name)
	e.Text("short_description", patch.ShortDescription, v.ShortDescription)
	e.Number("duration", patch.Duration, v.Duration)
	e.Amount("price_min", patch.PriceMin, v.PriceMin)
	e.Amount("price_max", patch.PriceMax, v.PriceMax)
	e.Amount("charge_amount", patch.ChargeAmount, v.ChargeAmount)
	e.Amount("deposit_amount", patch.DepositAmount, v.DepositAmount)
	e.Number("capacity_min", patch.CapacityMin, v.CapacityMin)
	e.Number("capacity_max", patch.CapacityMax, v.CapacityMax)
	e.Number("order_number", patch.OrderNumber, v.OrderNumber)
	e.Number("selection_image_id", patch.SelectionImageID, v.SelectionImageID)
	e.Text("status", patch.Status, v.Status)
	e.Text("visibility", patch.Visibility, v.Visibility)
	e.Number("category_id", patch.CategoryID, domain.ValueOr(v.CategoryID, 0))
	return e
}

// metas returns the changed fields that have no column.
func (patch ServicePatch) metas(v Service) map[string]string {
	metas := map[string]string{}
	if patch.Description != nil && *patch.Description != domain.ValueOr(v.Description, "") {
		metas["description"] = *patch.Description
	}
	if patch.CustomerLimit != nil && *patch.CustomerLimit != v.CustomerLimit {
		metas["customer_limit"] = *patch.CustomerLimit
	}
	return metas
}

// serviceColors are the colours that the plugin gives to new services in turn; the
// services after them all get lastColor.
var serviceColors = []string{"#2752E4", "#C066F1", "#26B7DD", "#E8C634", "#19CED6", "#2FEAA3", "#252a3e", "#8d87a5", "#b9b784"}

const lastColor = "#3d52ea"

// nextColor returns the first colour that no service has.
func nextColor(ctx context.Context, s *session.Session) (string, error) {
	stmt := sq.Select("bg_color").Distinct().From(s.DB.Name(wpdb.Services)).Where(sq.NotEq{"bg_color": nil})
	used, err := wpdb.All(ctx, s.DB, "read colours of services", stmt, wpdb.Value[string])
	if err != nil {
		return "", err
	}
	for _, color := range serviceColors {
		if !slices.ContainsFunc(used, func(u string) bool { return strings.EqualFold(u, color) }) {
			return color, nil
		}
	}
	return lastColor, nil
}

// contentPolicy allows about the same tags as WordPress does in posts (wp_kses_post).
var contentPolicy = bluemonday.UGCPolicy()

// SanitizeHTML removes all harmful tags from a text.
func SanitizeHTML(text string) string {
	text = strings.TrimSpace(stripControls(strings.ToValidUTF8(text, "\uFFFD")))
	if !strings.Contains(text, "<") {
		return text // without tags, the policy would only encode quotes
	}
	clean := contentPolicy.Sanitize(text)
	var b strings.Builder
	at := 0
	for _, tag := range htmlTags.FindAllStringIndex(clean, -1) {
		b.WriteString(plainQuotes.Replace(clean[at:tag[0]]))
		b.WriteString(clean[tag[0]:tag[1]])
		at = tag[1]
	}
	b.WriteString(plainQuotes.Replace(clean[at:]))
	return strings.TrimSpace(stripControls(b.String())) // entities may have hidden some
}

var (
	// htmlTags matches the tags of sanitized HTML, which has no other < or >.
	htmlTags    = regexp.MustCompile(`<[^>]*>`)
	plainQuotes = strings.NewReplacer("&#34;", `"`, "&#39;", "'")
)

// newlines replaces the line ends of other systems.
var newlines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// stripControls removes control characters other than tabs and line ends.
func stripControls(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, newlines.Replace(text))
}
