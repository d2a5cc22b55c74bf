package slots

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/wpdb"
)

// Extras are the extras requested for a booking. A site without the add-on Pro Features ignores them.
type Extras struct {
	Chosen     []ChosenExtra
	Unreadable bool // they are not a list of extras
}

// ChosenExtra is an extra and its quantity.
type ChosenExtra struct{ ID, Quantity int64 }

// ParseExtras parses extras as the add-on stores them with an order: 4:2,7:1.
func ParseExtras(stored string) (chosen []ChosenExtra) {
	for text := range strings.SplitSeq(stored, ",") {
		id, quantity, _ := strings.Cut(text, ":")
		e := ChosenExtra{Quantity: 1}
		var err error
		if e.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
			continue
		}
		if n, err := strconv.ParseInt(quantity, 10, 64); err == nil {
			e.Quantity = n
		}
		chosen = append(chosen, e)
	}
	return chosen
}

// ExtrasText returns extras in the form that ParseExtras reads.
func ExtrasText(chosen []ChosenExtra) string {
	texts := make([]string, len(chosen))
	for i, e := range chosen {
		texts[i] = fmt.Sprintf("%d:%d", e.ID, e.Quantity)
	}
	return strings.Join(texts, ",")
}

// ChosenOf returns ids and quantities of extras.
func ChosenOf(extras []records.PricedExtra) []ChosenExtra {
	list := make([]ChosenExtra, len(extras))
	for i, e := range extras {
		list[i] = ChosenExtra{ID: e.ID, Quantity: e.Quantity}
	}
	return list
}

// ExtrasOf returns the extras that a booking has.
func ExtrasOf(b records.Booking) []ChosenExtra {
	list := make([]ChosenExtra, len(b.Extras))
	for i, e := range b.Extras {
		list[i] = ChosenExtra{ID: e.ID, Quantity: e.Quantity}
	}
	return list
}

// With reports whether an extension is active.
func (v Service) With(s *session.Session, extension string) bool {
	return s.Extension(extension, v.settings)
}

// extrasField is the field with the extras of a booking.
const extrasField = "extras"

// LoadExtras reads the extras requested for a booking of a service, in the order of the request, or none on
// a site without the add-on. It rejects extras that the site's form does not offer.
func LoadExtras(ctx context.Context, s *session.Session, p *domain.Validation, service Service, asked *Extras) ([]records.PricedExtra, error) {
	if asked == nil || p.Has("service_id") || !service.With(s, extensions.ProFeatures) {
		return nil, nil
	}
	if asked.Unreadable {
		p.Invalid(extrasField, "Must be a list of objects with id and quantity, each extra once")
		return nil, nil
	}
	if len(asked.Chosen) == 0 {
		return nil, nil
	}
	exists, err := session.HasTable(ctx, s, wpdb.ServiceExtras)
	if err != nil {
		return nil, err
	}
	offered := map[int64]offeredExtra{}
	if exists {
		if offered, err = offeredExtras(ctx, s, service.ID, asked.Chosen); err != nil {
			return nil, err
		}
	}
	extras := make([]records.PricedExtra, len(asked.Chosen))
	for i, chosen := range asked.Chosen {
		e, known := offered[chosen.ID]
		extras[i] = e.PricedExtra
		extras[i].Quantity = chosen.Quantity
		switch {
		case !known:
			p.Reject(extrasField, fmt.Sprintf("There is no extra %d", chosen.ID))
		case !e.active:
			p.Reject(extrasField, fmt.Sprintf("Extra %d is not active", chosen.ID))
		case !e.ofService:
			p.Reject(extrasField, fmt.Sprintf("The service has no extra %d", chosen.ID))
		case chosen.Quantity > e.Most:
			p.Reject(extrasField, fmt.Sprintf("Extra %d can be booked at most %d times", chosen.ID, e.Most))
		}
	}
	return extras, nil
}

// OfferedExtra is an extra that can be booked.
type OfferedExtra struct {
	records.PricedExtra
	Most int64 // maximum quantity in a booking
}

// offeredExtra is an extra of the site.
type offeredExtra struct {
	OfferedExtra
	active, ofService bool
}

func offeredExtras(ctx context.Context, s *session.Session, service int64, chosen []ChosenExtra) (map[int64]offeredExtra, error) {
	ids := make([]int64, len(chosen))
	for i, e := range chosen {
		ids[i] = e.ID
	}
	connected := sq.Expr("EXISTS (SELECT 1 FROM "+s.DB.As(wpdb.ServicesServiceExtras, "x")+" WHERE x.service_extra_id = e.id AND x.service_id = ?)", service)
	stmt := extraColumns(s).Column("e.status = 'active'").Column(connected).Where(sq.Eq{"e.id": ids})
	return wpdb.MapBy(ctx, s.DB, "read extras", stmt, func(row wpdb.Scanner) (id int64, e offeredExtra, err error) {
		e.OfferedExtra, err = scanExtra(row, &e.active, &e.ofService)
		return e.ID, e, err
	})
}

// extraColumns selects what scanExtra reads of extras, e.
func extraColumns(s *session.Session) sq.SelectBuilder {
	return sq.Select("e.id", "e.name", "e.charge_amount", "e.duration", "e.maximum_quantity", "e.multiplied_by_attendees = 'on'").From(s.DB.As(wpdb.ServiceExtras, "e"))
}

func scanExtra(row wpdb.Scanner, rest ...any) (e OfferedExtra, err error) {
	err = row.Scan(append([]any{&e.ID, &e.Name, wpdb.OrZero(&e.Amount), &e.Duration, wpdb.OrZero(&e.Most), wpdb.OrZero(&e.PerAttendee)}, rest...)...)
	e.Most = cmp.Or(e.Most, 1)
	return e, err
}

// ServiceExtras are the extras that a service offers, and how many different ones a booking must and may have; 0 for no limit.
type ServiceExtras struct {
	Offered     []OfferedExtra
	Least, Most int
}

// ExtrasOfServices returns the active extras of services by their ids; nil on a site without extras.
func ExtrasOfServices(ctx context.Context, s *session.Session, services []int64) (map[int64]ServiceExtras, error) {
	if !s.Schema.Has(wpdb.ServicesServiceExtras) || !records.HasExtraTables(s) {
		return nil, nil
	}
	if active, err := session.FindExtension(ctx, s, extensions.ProFeatures); err != nil || !active {
		return nil, err
	}
	stmt := extraColumns(s).Distinct().Column("x.service_id").Join(s.DB.As(wpdb.ServicesServiceExtras, "x") + " ON x.service_extra_id = e.id").
		Where(sq.Eq{"x.service_id": services, "e.status": "active"}).OrderBy("e.id")
	offered, err := session.Grouped(ctx, s, "read extras of services", stmt, func(row wpdb.Scanner, service *int64) (OfferedExtra, error) { return scanExtra(row, service) })
	if err != nil {
		return nil, err
	}
	metas, err := session.LoadMetas(ctx, s, wpdb.ServiceMeta, services, sq.Eq{"meta_key": NumberOfExtrasKeys})
	found := map[int64]ServiceExtras{}
	for _, id := range services {
		e := ServiceExtras{Offered: append([]OfferedExtra{}, offered[id]...)}
		if e.Least, e.Most = NumberOfExtras(metas[id]); len(e.Offered) == 0 { // the form does not ask
			e.Least = 0
		}
		found[id] = e
	}
	return found, err
}

// NumberOfExtrasKeys are the keys of service meta in which Pro Features limits the number of extras: whether, and to what.
var NumberOfExtrasKeys = []string{"minimum_service_extras_required", "minimum_service_extras_value", "maximum_service_extras_required", "maximum_service_extras_value"}

// NumberOfExtras returns how many different extras a booking must and may have, given the service's meta; 0 for no limit.
func NumberOfExtras(meta map[string]string) (least, most int) {
	limit := func(switched, number string) int {
		if meta[switched] != session.On {
			return 0
		}
		return session.LeadingInt(meta[number])
	}
	return limit(NumberOfExtrasKeys[0], NumberOfExtrasKeys[1]), limit(NumberOfExtrasKeys[2], NumberOfExtrasKeys[3])
}

// ExtraMinutes returns how long extras take.
func ExtraMinutes(extras []records.PricedExtra) (minutes int64) {
	for _, e := range extras {
		minutes += e.Duration * e.Quantity
	}
	return minutes
}

// OffersExtras reports whether a service has any active extra.
func OffersExtras(ctx context.Context, s *session.Session, service int64) (bool, error) {
	exists, err := session.HasTable(ctx, s, wpdb.ServiceExtras)
	if err != nil || !exists {
		return false, err
	}
	stmt := sq.Select("1").From(s.DB.As(wpdb.ServicesServiceExtras, "x")).Join(s.DB.As(wpdb.ServiceExtras, "e") + " ON e.id = x.service_extra_id").
		Where(sq.Eq{"x.service_id": service, "e.status": "active"}).Limit(1)
	_, found, err := wpdb.One(ctx, s.DB, "look for extras", stmt, wpdb.Value[int64])
	return found, err
}

// SameExtras reports whether two lists have the same extras, in any order.
func SameExtras(a, b []ChosenExtra) bool {
	byID := func(chosen []ChosenExtra) []ChosenExtra {
		return slices.SortedFunc(slices.Values(chosen), func(a, b ChosenExtra) int { return cmp.Compare(a.ID, b.ID) })
	}
	return slices.Equal(byID(a), byID(b))
}
