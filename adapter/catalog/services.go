package catalog

import (
	"context"
	"time"

	sq "github.com/Masterminds/squirrel"
	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/adapter/slots"
	"github.com/bookside/bookside/wpdb"
)

// Service is a service with the associations that ServiceIncludes selects.
type Service struct {
	ID                                              int64
	Name, ShortDescription                          string
	Description                                     *string // stored in service_meta
	Duration                                        int64   // minutes
	PriceMin, PriceMax, ChargeAmount, DepositAmount decimal.Decimal
	CapacityMin, CapacityMax                        int64
	OrderNumber                                     int64
	SelectionImageID                                int64
	Status, Visibility                              string
	CategoryID                                      *int64 // as stored: nil or 0 for none
	CustomerLimit                                   string // stored in service_meta
	CreatedAt, UpdatedAt                            domain.Timestamp
	Category                                        *ServiceCategoryName
	Agents                                          []slots.AgentName
	Locations                                       []slots.LocationName
	Extras                                          *slots.ServiceExtras // nil on a site without extras
}

// ServiceCategoryName is the part of a category that services show.
type ServiceCategoryName struct {
	ID                     int64
	Name, ShortDescription string
}

// ServiceIncludes selects the associations to read with services.
type ServiceIncludes struct {
	Category, Agents, Locations, Extras bool
}

// ServiceSort is a sort order of services.
type ServiceSort int

// The sort orders of services. Ties are broken by id, in the same direction.
const (
	ServicesByID ServiceSort = iota
	ServicesByName
	ServicesByChargeAmount
	ServicesByDuration
	ServicesByCreation
	ServicesByUpdate
)

var serviceOrder = map[ServiceSort][]string{
	ServicesByID:           {"s.id"},
	ServicesByName:         {"s.name", "s.id"},
	ServicesByChargeAmount: {"s.charge_amount", "s.id"},
	ServicesByDuration:     {"s.duration", "s.id"},
	ServicesByCreation:     {"s.created_at", "s.id"},
	ServicesByUpdate:       {"s.updated_at", "s.id"},
}

// ServiceFilter filters and sorts a list of services. A nil field does not filter.
type ServiceFilter struct {
	session.Paging
	Search                     *string // name or descriptions
	Name                       *string
	Status, Visibility         *string
	CategoryID                 *int64           // 0 for services without a category
	LocationID, AgentID        *int64           // together: the agent at that location
	PriceMin, PriceMax         *decimal.Decimal // of the charge amount
	DurationMin, DurationMax   *int64           // minutes
	CreatedFrom, CreatedBefore *time.Time
	UpdatedFrom, UpdatedBefore *time.Time
	Sort                       ServiceSort
	Descending                 bool
	Include                    ServiceIncludes
}

// ListServices returns one page of the services that match the filter.
func ListServices(ctx context.Context, s *session.Session, f ServiceFilter) (records.Page[Service], error) {
	q := sq.Select().From(s.DB.As(wpdb.Services, "s"))
	q = records.FilterText(q, "s.name", f.Name)
	q = records.FilterEqual(q, "s.status", f.Status)
	q = records.FilterEqual(q, "s.visibility", f.Visibility)
	q = records.FilterReference(q, "s.category_id", f.CategoryID)
	q = records.FilterRange(q, "s.charge_amount", f.PriceMin, f.PriceMax)
	q = records.FilterRange(q, "s.duration", f.DurationMin, f.DurationMax)
	q = records.FilterInstant(q, "s.created_at", f.CreatedFrom, f.CreatedBefore)
	q = records.FilterInstant(q, "s.updated_at", f.UpdatedFrom, f.UpdatedBefore)
	if f.Search != nil {
		described := sq.Expr("EXISTS (SELECT 1 FROM "+s.DB.As(wpdb.ServiceMeta, "m")+
			" WHERE m.object_id = s.id AND m.meta_key = 'description' AND m.meta_value LIKE ?)", wpdb.Contains(*f.Search))
		pattern := wpdb.Contains(*f.Search)
		q = q.Where(sq.Or{sq.Like{"s.name": pattern}, sq.Like{"s.short_description": pattern}, described})
	}
	q = slots.WhereConnected(s, q, "service_id", "s.id", slots.Connection{Column: "location_id", ID: f.LocationID}, slots.Connection{Column: "agent_id", ID: f.AgentID})
	l := records.List{Op: "list services", Filter: q}
	page, err := records.ReadSmallPage(ctx, s, l, f.Paging, serviceColumns(s, q), records.SortOrder{Columns: serviceOrder[f.Sort], Descending: f.Descending}, scanService)
	if err != nil {
		return page, err
	}
	return page, addConnections(ctx, s, page.Records, f.Include)
}

// LoadService returns one service, or a CodeNotFound.
func LoadService(ctx context.Context, s *session.Session, id int64, include ServiceIncludes) (Service, error) {
	found, err := LoadServices(ctx, s, []int64{id}, include)
	return records.Only(found, err, domain.ServiceResource, id)
}

// LoadServices returns services by their ids, as lists show them.
func LoadServices(ctx context.Context, s *session.Session, ids []int64, include ServiceIncludes) ([]Service, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	stmt := serviceColumns(s, sq.Select().From(s.DB.As(wpdb.Services, "s")).Where(sq.Eq{"s.id": ids}))
	found, err := wpdb.All(ctx, s.DB, "read services", stmt, scanService)
	if err != nil {
		return nil, err
	}
	found = records.InOrder(ids, records.ByID(found, Service.serviceID))
	return found, addConnections(ctx, s, found, include)
}

func (v Service) serviceID() int64 { return v.ID }

// addConnections reads the agents, locations and extras of services, if they are to be included.
func addConnections(ctx context.Context, s *session.Session, found []Service, include ServiceIncludes) (err error) {
	ids := records.IDsOf(found, Service.serviceID)
	if len(ids) == 0 {
		return nil
	}
	var agents []session.Member[slots.AgentName]
	var locations []session.Member[slots.LocationName]
	var queries []wpdb.Query
	if include.Agents {
		queries = append(queries, slots.QueryAgents(s, &agents, ids))
	}
	if include.Locations {
		queries = append(queries, slots.QueryLocations(s, &locations, "service_id", ids))
	}
	if err := wpdb.Together(ctx, s.DB, queries...); err != nil {
		return err
	}
	var extras map[int64]slots.ServiceExtras
	if include.Extras {
		if extras, err = slots.ExtrasOfServices(ctx, s, ids); err != nil {
			return err
		}
	}
	agentsOf := slots.ByOwner(agents, func(v slots.AgentName) int64 { return v.ID })
	locationsOf := slots.ByOwner(locations, func(v slots.LocationName) int64 { return v.ID })
	for i := range found {
		found[i].Agents, found[i].Locations = agentsOf[found[i].ID], locationsOf[found[i].ID]
		if e, has := extras[found[i].ID]; has {
			found[i].Extras = &e
		}
	}
	return nil
}

// serviceColumnList is a single text, which costs less to build than a list.
const serviceColumnList = "s.id, s.name, s.short_description, s.duration, s.price_min, s.price_max, s.charge_amount, s.deposit_amount, " +
	"s.capacity_min, s.capacity_max, s.order_number, s.selection_image_id, s.status, s.visibility, s.category_id, " +
	"s.created_at, s.updated_at, sc.id, sc.name, sc.short_description"

// serviceColumns selects what scanService reads of services, s.
func serviceColumns(s *session.Session, stmt sq.SelectBuilder) sq.SelectBuilder {
	return stmt.Column(serviceColumnList).Column(session.LoadMeta(s, wpdb.ServiceMeta, "s.id", "description")).Column(session.LoadMeta(s, wpdb.ServiceMeta, "s.id", "customer_limit")).
		LeftJoin(s.DB.As(wpdb.ServiceCategories, "sc") + " ON sc.id = s.category_id")
}

func scanService(row wpdb.Scanner) (Service, error) {
	var v Service
	var capacityMin, capacityMax *int64
	var category ServiceCategoryName
	err := row.Scan(&v.ID, &v.Name, wpdb.OrZero(&v.ShortDescription), &v.Duration, wpdb.OrZero(&v.PriceMin), wpdb.OrZero(&v.PriceMax), wpdb.OrZero(&v.ChargeAmount), wpdb.OrZero(&v.DepositAmount),
		&capacityMin, &capacityMax, wpdb.OrZero(&v.OrderNumber), wpdb.OrZero(&v.SelectionImageID), &v.Status, &v.Visibility, &v.CategoryID,
		wpdb.OrZero((*string)(&v.CreatedAt)), wpdb.OrZero((*string)(&v.UpdatedAt)), wpdb.OrZero(&category.ID), wpdb.OrZero(&category.Name), wpdb.OrZero(&category.ShortDescription),
		&v.Description, wpdb.OrZero(&v.CustomerLimit))
	v.CapacityMin, v.CapacityMax = domain.ValueOr(capacityMin, 1), domain.ValueOr(capacityMax, 1) // NULL counts as one seat
	if category.ID != 0 {
		v.Category = &category
	}
	return v, err
}
