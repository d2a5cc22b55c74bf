package adapter

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/catalog"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// newService returns the row of a service for which only the name was sent.
func newService(name string, other map[string]any) fixtures.Change {
	values := map[string]any{
		"id": "<id:service:1>", "name": name, "short_description": nil, "is_price_variable": nil,
		"price_min": "0.0000", "price_max": "0.0000", "charge_amount": "0.0000", "deposit_amount": "0.0000", "is_deposit_required": nil,
		"duration_name": "", "override_default_booking_status": "", "duration": "60", "buffer_before": "0", "buffer_after": "0",
		"category_id": "0", "order_number": nil, "selection_image_id": nil, "description_image_id": nil, "bg_color": "#3d52ea",
		"earliest_possible_booking": nil, "latest_possible_booking": nil, "timeblock_interval": nil, "capacity_min": "1", "capacity_max": "1",
		"status": "active", "visibility": "visible",
	}
	maps.Copy(values, other)
	return insertedRow("latepoint_services", values)
}

// serviceMeta returns a new meta row of the new service.
func serviceMeta(place, key, value string) fixtures.Change {
	return insertedRow("latepoint_service_meta", map[string]any{
		"id": "<id:service_meta:" + place + ">", "object_id": "<id:service:1>", "meta_key": key, "meta_value": value,
	})
}

func TestCreateService(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	create := creates(catalog.CreateService, func(s catalog.Service) int64 { return s.ID }, func(ctx context.Context, site *session.Session, id int64) (catalog.Service, error) {
		return catalog.LoadService(ctx, site, id, catalog.ServiceIncludes{Agents: true})
	})
	history := activityEntry("service_created", "service_id", "<id:service:1>", nil)
	s.try("a name is enough", nil, create(catalog.NewService{ServicePatch: catalog.ServicePatch{Name: new(" Bath\n<b>")}}),
		newService("Bath", nil), serviceMeta("1", "durations", "[]"), history)
	s.try("everything", nil, create(catalog.NewService{ServicePatch: catalog.ServicePatch{
		Name: new("Bath"), ShortDescription: new(`<em>Warm</em><script>x</script>`), Description: new("Very\r\nwarm"), Duration: new(int64(90)),
		PriceMin: euros("1"), PriceMax: euros("2.5"), ChargeAmount: euros("2.0001"), DepositAmount: euros("0.5"), CapacityMin: new(int64(2)),
		CapacityMax: new(int64(5)), OrderNumber: new(int64(7)), SelectionImageID: new(int64(11)), Status: new("disabled"), Visibility: new("hidden"),
		CategoryID: new(int64(1)), CustomerLimit: new("3"),
	}}), newService("Bath", map[string]any{
		"short_description": "<em>Warm</em>", "duration": "90", "price_min": "1.0000", "price_max": "2.5000", "charge_amount": "2.0001",
		"deposit_amount": "0.5000", "capacity_min": "2", "capacity_max": "5", "order_number": "7", "selection_image_id": "11",
		"status": "disabled", "visibility": "hidden", "category_id": "1",
	}), serviceMeta("1", "customer_limit", "3"), serviceMeta("2", "description", "Very\nwarm"), serviceMeta("3", "durations", "[]"), history)
	s.try("the first colour that is free", []string{"UPDATE wp_latepoint_services SET bg_color = LOWER(bg_color) WHERE id <> 3", "UPDATE wp_latepoint_services SET bg_color = NULL WHERE id = 3"},
		create(catalog.NewService{ServicePatch: catalog.ServicePatch{Name: new("Bath")}}),
		newService("Bath", map[string]any{"bg_color": "#26B7DD"}), serviceMeta("1", "durations", "[]"), history)
}

func TestUpdateService(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	update := func(id int64, patch catalog.ServicePatch) func(*testing.T, *session.Session) {
		return func(t *testing.T, site *session.Session) {
			_, err := txUpdate(t.Context(), site, catalog.UpdateService, id, patch)
			expect.NoError(t, err)
		}
	}
	history := activityEntry("service_updated", "service_id", "4", nil)
	s.try("nothing sent", nil, update(4, catalog.ServicePatch{}))
	s.try("nothing new", nil, update(4, catalog.ServicePatch{
		Name: new("Physiotherapy"), Duration: new(int64(60)), ChargeAmount: euros("85"), Status: new("active"), CategoryID: new(int64(2)),
		Description: new(""), CustomerLimit: new(""), OrderNumber: new(int64(4)), SelectionImageID: new(int64(0)),
	}))
	// Service 4 has working hours and connections of its own.
	s.try("hours, connections and durations stay", nil, update(4, catalog.ServicePatch{Name: new("Physio"), ChargeAmount: euros("90.5"), CategoryID: new(int64(0))}),
		updatedRow("latepoint_services", 4, "name", "Physiotherapy", "Physio", "charge_amount", "85.0000", "90.5000", "category_id", "2", "0"), history)
	s.try("fields without a column", []string{"INSERT INTO wp_latepoint_service_meta (id, object_id, meta_key, meta_value) VALUES (70, 4, 'description', 'old'), (71, 4, 'customer_limit', '5')"},
		update(4, catalog.ServicePatch{Description: new("new"), CustomerLimit: new("")}),
		updatedRow("latepoint_services", 4), history,
		fixtures.Change{Table: "latepoint_service_meta", Op: fixtures.Update, Key: "70", Changed: map[string][2]any{"meta_value": {"old", "new"}, "updated_at": {nil, "<now_utc>"}}},
		fixtures.Change{Table: "latepoint_service_meta", Op: fixtures.Delete, Key: "71"})
}

func TestInvalidServiceNamesEveryField(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.SiteA().WithFewBookings())
	long := strings.Repeat("ü", 256)
	s.try("missing", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, catalog.CreateService, catalog.NewService{})
		wantFields(t, err, domain.CodeInvalidRequest, map[string]string{"name": "Required"})
	})
	s.try("unknown", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, catalog.CreateService, catalog.NewService{ServicePatch: catalog.ServicePatch{Name: new("x"), CategoryID: new(int64(99)), Status: new("open")}})
		wantFields(t, err, domain.CodeInvalidRequest, map[string]string{"category_id": "Category not found", "status": "Unknown status"})
	})
	wrong := catalog.ServicePatch{
		Name: new("<i>"), ShortDescription: new(strings.Repeat("x", 1<<16)), Description: new(strings.Repeat("ü", 1<<15)), Duration: new(int64(0)),
		PriceMin: euros("-1"), PriceMax: euros("10000000000000000"), ChargeAmount: euros("0.00001"), DepositAmount: euros("-0.0001"),
		CapacityMin: new(int64(-1)), CapacityMax: new(int64(-1)), OrderNumber: new(int64(-1)), SelectionImageID: new(int64(-1)),
		Status: new("Active"), Visibility: new(""), CustomerLimit: new("1"),
	}
	wrong.Reject("customer_limit", "Seen before")
	want := map[string]string{
		"name": "May not be empty", "short_description": "Too long", "description": "Too long", "duration": "Must be at least 1 minute",
		"price_min": session.NotNegative, "price_max": "Too large", "charge_amount": "May have at most 4 decimals", "deposit_amount": session.NotNegative,
		"capacity_min": session.NotNegative, "capacity_max": session.NotNegative, "order_number": session.NotNegative, "selection_image_id": session.NotNegative,
		"status": "Unknown status", "visibility": "Unknown visibility", "customer_limit": "Seen before",
	}
	s.try("refused", nil, func(t *testing.T, site *session.Session) {
		_, err := txCreate(t.Context(), site, catalog.CreateService, catalog.NewService{ServicePatch: wrong})
		wantFields(t, err, domain.CodeValidationFailed, want)
		_, err = txUpdate(t.Context(), site, catalog.UpdateService, 4, wrong)
		wantFields(t, err, domain.CodeValidationFailed, want)
		_, err = txUpdate(t.Context(), site, catalog.UpdateService, 4, catalog.ServicePatch{Name: &long})
		wantFields(t, err, domain.CodeValidationFailed, map[string]string{"name": "Too long"})
	})
}

// TestServicesOfEarlierVersions: columns that were added later are left out.
func TestServicesOfEarlierVersions(t *testing.T) {
	t.Parallel()
	s := newShop(t, fixtures.Legacy())
	s.try("made and changed", nil, func(t *testing.T, site *session.Session) {
		created, err := txCreate(t.Context(), site, catalog.CreateService, catalog.NewService{ServicePatch: catalog.ServicePatch{Name: new("Bath"), Description: new("Warm")}})
		expect.NoError(t, err)
		if created, err = txUpdate(t.Context(), site, catalog.UpdateService, created.ID, catalog.ServicePatch{Duration: new(int64(45)), Description: new("")}); err != nil {
			t.Fatal(err)
		}
		if created.Duration != 45 || created.Description != nil {
			t.Errorf("duration %d, description %v", created.Duration, created.Description)
		}
		// The rest of the test does not need what was created so far.
		s.database.Execute(t, "DELETE FROM wp_latepoint_services WHERE name = 'Bath'", "DELETE FROM wp_latepoint_service_meta", "DELETE FROM wp_latepoint_activities", "DELETE FROM wp_bookside_change_inbox")
	})
}

func TestSanitizeHTMLKeepsHarmlessTags(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"plain":              {"Women's hair & \"more\" > less", "Women's hair & \"more\" > less"},
		"entities":           {"5 &lt; 6 &amp; 7", "5 &lt; 6 &amp; 7"},
		"harmless":           {"<p>One</p>\n<ul><li><strong>a</strong></li></ul>", "<p>One</p>\n<ul><li><strong>a</strong></li></ul>"},
		"quotes beside tags": {`<b>Women's</b> "best"`, `<b>Women's</b> "best"`},
		"quotes in tags":     {`<a href="https://x.test/?a='b'">'x'</a>`, `<a href="https://x.test/?a=&#39;b&#39;" rel="nofollow">'x'</a>`},
		"script":             {"a<script>alert(1)</script>b", "ab"},
		"handler":            {`<img src="x.png" onerror="alert(1)">`, `<img src="x.png">`},
		"javascript link":    {`<a href="javascript:alert(1)">x</a>`, "x"},
		"style":              {`<p style="position:fixed">x</p>`, "<p>x</p>"},
		"comment":            {"a<!-- b -->c", "ac"},
		"unfinished":         {"a<script", "a"},
		"less than":          {"a < b", "a &lt; b"},
		"line breaks":        {" one\r\ntwo\x00\t ", "one\ntwo"},
		"no UTF-8":           {"a\xffb", "a\uFFFDb"},
	} {
		expect.Equal(t, c.want, catalog.SanitizeHTML(c.text), name)
	}
}

func FuzzCleanHTML(f *testing.F) {
	for _, seed := range []string{"", "<b>x</b>", "a<script>b", `<a title='"'>`, "&#34;<i>&#39;", "<<b>script>", `<p title="&lt;x&gt;">y</p>`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := catalog.SanitizeHTML(text)
		expect.NoTexts(t, strings.ToLower(clean), "<script")
		expect.Equal(t, clean, catalog.SanitizeHTML(clean), text)
	})
}
