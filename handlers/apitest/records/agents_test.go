package records_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers/apitest"
)

var agentList = listing{path: "/agents", from: "{agents} a", order: "a.first_name, a.id"}

// connectionCondition returns the SQL condition for agents or services that have a row in
// agents_services satisfying condition.
func connectionCondition(column, condition string) string {
	return fmt.Sprintf("EXISTS (SELECT * FROM {agents_services} x WHERE x.%s AND %s)", column, condition)
}

func TestAgents(t *testing.T) {
	s := apitest.Shared(t, fixtures.SiteA())
	apitest.Golden(t, "agent", s.Get("/agents/4").Want(http.StatusOK).Body)
	apitest.Golden(t, "agent_list", s.Get("/agents?status=disabled").Want(http.StatusOK).Body)
	agentList.pages(t, s)
	agentList.finds(t, s, []find{
		{query: ""},
		{query: "status=active", where: "a.id <= 7"},
		{query: "status=DISABLED", where: "a.id = 8"},
		{query: "search=anna", where: "a.id = 1"},
		{query: "search=jurgen", where: "a.id = 2"},
		{query: "search=fatma+yıl", where: "a.id = 3"},
		{query: "search=e", where: "CONCAT(a.first_name, ' ', a.last_name) LIKE '%e%' OR a.email LIKE '%e%'", all: true},
		{query: "search=er", where: "CONCAT(a.first_name, ' ', a.last_name) LIKE '%er%'"},
		{query: "email=Agent5@Example.test", where: "a.id = 5"},
		{query: "phone=40007", where: "a.id = 7"},
		{query: "location_id=3", where: connectionCondition("agent_id = a.id", "x.location_id = 3")},
		{query: "service_id=7", where: connectionCondition("agent_id = a.id", "x.service_id = 7"), all: true},
		{query: "location_id=2&service_id=9", where: connectionCondition("agent_id = a.id", "x.location_id = 2 AND x.service_id = 9")},
		{query: "status=active&location_id=3&search=er", where: "a.id = 4"},
		{query: "include=services,locations", all: true},
		{query: "order_by=id&order=desc", order: "a.id DESC"},
		{query: "order=desc", order: "a.first_name DESC, a.id DESC"},
		{query: "order_by=last_name&order=DESC", order: "a.last_name DESC, a.id DESC"},
		{query: "order_by=Email&order=desc", order: "a.email DESC, a.id DESC"},
		{query: "order_by=created_at&order=desc", order: "a.created_at DESC, a.id DESC"},
		{query: "order_by=updated_at", order: "a.updated_at, a.id"},
		{query: "order_by=status&order=desc", order: "a.status DESC, a.id DESC"},
	})
}

// TestFiltersIgnoreCaseButNotAccents filters by texts that differ only in
// letter case, which is ignored, or in accents, which are not.
func TestFiltersIgnoreCaseButNotAccents(t *testing.T) {
	t.Parallel()
	filters := []struct {
		list          listing
		table, column string
	}{
		{agentList, "agents", "email"},
		{serviceList, "services", "name"},
		{paymentList, "transactions", "processor"},
		{paymentList, "transactions", "payment_method"},
		{orderList, "orders", "coupon_code"},
	}
	database := fixtures.New(t, fixtures.Edge())
	for _, f := range filters {
		database.Execute(t, fmt.Sprintf("UPDATE wp_latepoint_%s SET %s = "+
			"CASE id WHEN 1 THEN 'José' WHEN 2 THEN 'Jose' WHEN 3 THEN 'JOSE' WHEN 4 THEN 'Жозе 🎁' ELSE 'Josefa' END", f.table, f.column))
	}
	s := apitest.NewServer(t, database)
	for _, f := range filters {
		id := f.list.alias() + ".id"
		f.list.finds(t, s, []find{
			{query: f.column + "=josé", where: id + " = 1"},
			{query: f.column + "=JOSÉ", where: id + " = 1"},
			{query: f.column + "=jose", where: id + " IN (2, 3)"},
			{query: f.column + "=ЖОЗЕ 🎁", where: id + " = 4"},
			{query: f.column + "=ЖОЗЕ 🎉", none: true},
			{query: f.column + "=jos", none: true},
			{query: f.column + "=jos_", none: true},
		})
	}
}

// TestAgentsByDate gives the agents different dates and some of them the same first name, because all rows
// of the small site were created at the same time.
func TestAgentsByDate(t *testing.T) {
	s := apitest.Own(t, fixtures.Small(apitest.Now))
	s.Database.Execute(t,
		"UPDATE wp_latepoint_agents SET created_at = CONCAT('2026-03-0', id, ' 23:59:59'), updated_at = CONCAT('2026-04-0', 5 - id, ' 00:00:00')",
		"UPDATE wp_latepoint_agents SET first_name = 'Sam' WHERE id IN (1, 3)",
		"UPDATE wp_latepoint_agents SET created_at = NULL WHERE id = 4")
	agentList.pages(t, s)
	agentList.finds(t, s, []find{
		{query: "created_after=2026-03-02", where: "a.id IN (2, 3)"},
		{query: "created_before=2026-03-02", where: "a.id IN (1, 2)"},
		{query: "created_before=9999-12-31", where: "a.id <= 3"},
		{query: "order_by=created_at", order: "a.created_at, a.id"},
		{query: "order_by=created_at&order=desc", order: "a.created_at DESC, a.id DESC"},
		{query: "order_by=updated_at&order=desc", order: "a.updated_at DESC, a.id DESC"},
		{query: "status=active&order_by=updated_at&created_before=2026-03-02", where: "a.id <= 2", order: "a.updated_at, a.id"},
	})
}

// TestAgentsOfTheEdgeSite: names are shown exactly as stored.
func TestAgentsOfTheEdgeSite(t *testing.T) {
	s := apitest.Shared(t, fixtures.Edge())
	agentList.finds(t, s, []find{
		{query: "search=100%25_", where: "a.id = 5"},
		{query: "search=<b>", where: "a.id = 2"},
		{query: "search=🌸", where: "a.id = 4"},
		{query: "search=שירה", where: "a.id = 4"},
		{query: "status=disabled", where: "a.id = 6"},
		{query: "order_by=status", order: "a.status, a.id"},
		{query: "order_by=status&order=desc", order: "a.status DESC, a.id DESC"},
		{query: "service_id=6", where: "a.id = 1"},
		{query: "location_id=4&service_id=4", where: "a.id = 4"},
		{query: "location_id=2&service_id=2", none: true}, // connected to both, but not in one row
	})
}
