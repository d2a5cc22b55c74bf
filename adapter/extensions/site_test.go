package extensions_test

import (
	"testing"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestActive: the extensions of a site and their kinds, worst first.
func TestActive(t *testing.T) {
	t.Parallel()
	const plugin = "latepoint/latepoint.php"
	zoom := extensions.Site{Plugins: []string{plugin, "latepoint-zoom/latepoint-zoom.php"}, Settings: map[string]string{"enable_zoom": "on"}}
	off := extensions.Site{Plugins: zoom.Plugins, Settings: map[string]string{"enable_zoom": "off"}}
	report := func(plugin, title string, hooks ...string) extensions.Report {
		r := extensions.Report{Plugin: plugin, Title: title}
		for _, hook := range hooks {
			r.Listeners = append(r.Listeners, extensions.Listener{Hook: hook})
		}
		return r
	}
	for name, c := range map[string]struct {
		site extensions.Site
		want []string // id, title and the kinds of its parts
	}{
		"a plain site":                  {extensions.Site{Plugins: []string{plugin, "akismet/akismet.php", "hello.php"}}, nil},
		"our own plugin":                {extensions.Site{Plugins: []string{plugin, "bookside/bookside.php"}}, nil},
		"known":                         {zoom, []string{"latepoint-zoom Zoom: not_honoured not_honoured"}},
		"switched off":                  {off, []string{"latepoint-zoom Zoom: takes_no_part"}},
		"in another folder":             {extensions.Site{Plugins: []string{"pro-1/latepoint-zoom.php"}, Settings: zoom.Settings}, []string{"latepoint-zoom Zoom: not_honoured not_honoured"}},
		"in LatePoint's list":           {extensions.Site{AddOns: []string{"latepoint-zoom"}, Settings: zoom.Settings}, []string{"latepoint-zoom Zoom: not_honoured not_honoured"}},
		"in both":                       {extensions.Site{Plugins: zoom.Plugins, AddOns: []string{"latepoint-zoom"}, Settings: zoom.Settings}, []string{"latepoint-zoom Zoom: not_honoured not_honoured"}},
		"one of a family":               {extensions.Site{Plugins: []string{"latepoint-payments-x/latepoint-payments-x.php"}}, []string{"latepoint-payments-x Payments: understood takes_no_part"}},
		"an unknown add-on":             {extensions.Site{Plugins: []string{"latepoint-x/main.php"}}, []string{"latepoint-x latepoint-x: not_honoured"}},
		"an unknown one of the list":    {extensions.Site{AddOns: []string{"latepoint-x"}}, []string{"latepoint-x latepoint-x: not_honoured"}},
		"the worst first, then by name": {extensions.Site{Plugins: append([]string{"latepoint-qr-code/latepoint-qr-code.php", "latepoint-x/x.php"}, zoom.Plugins...), Settings: zoom.Settings}, []string{"latepoint-zoom Zoom: not_honoured not_honoured", "latepoint-x latepoint-x: not_honoured", "latepoint-qr-code QR Code: takes_no_part"}},

		"seen, and without a listener": {
			extensions.Site{Plugins: []string{"latepoint-x/main.php"}, Reports: []extensions.Report{report("latepoint-x", "X")}},
			[]string{"latepoint-x X: takes_no_part"},
		},
		"listens to what is not fired": {
			extensions.Site{Plugins: []string{"a/a.php", "latepoint-x/main.php"}, Reports: []extensions.Report{report("a", "A", "latepoint_booking_created_frontend"), report("latepoint-x", "X", "latepoint_full_amount")}},
			[]string{"latepoint-x X: takes_no_part"},
		},
		"listens": {
			extensions.Site{Plugins: []string{"a/a.php", "b/b.php"}, Reports: []extensions.Report{
				report("a", "A", "latepoint_booking_created", "latepoint_blocked_periods_for_range", "latepoint_booking_updated"), report("b", "B"),
			}},
			[]string{"a A: not_honoured not_honoured"},
		},
		"told": {
			extensions.Site{Plugins: append([]string{"a/a.php"}, zoom.Plugins...), Settings: zoom.Settings, Events: []string{"booking_created", "booking_updated"}, Reports: []extensions.Report{
				report("a", "A", "latepoint_booking_created", "latepoint_booking_change_status"),
			}},
			[]string{"latepoint-zoom Zoom: not_honoured run_afterwards", "a A: run_afterwards"},
		},
		"messages are the plugin's": {
			extensions.Site{Plugins: append([]string{"a/a.php"}, zoom.Plugins...), Settings: zoom.Settings, Events: []string{"booking_created", "messages"}, Reports: []extensions.Report{
				report("a", "A", "latepoint_replace_booking_vars"),
			}},
			[]string{"a A: run_afterwards", "latepoint-zoom Zoom: run_afterwards run_afterwards"},
		},
		"messages are ours": {
			extensions.Site{Plugins: []string{"a/a.php"}, Events: []string{"booking_created"}, Reports: []extensions.Report{report("a", "A", "latepoint_replace_booking_vars")}},
			[]string{"a A: not_honoured"},
		},
		"told, and more": {
			extensions.Site{Plugins: []string{"a/a.php"}, Events: []string{"booking_created"}, Reports: []extensions.Report{
				report("a", "A", "latepoint_booking_created", "latepoint_invoice_created", "latepoint_full_amount_for_service"),
			}},
			[]string{"a A: not_honoured not_honoured run_afterwards"},
		},
		"no longer active": {extensions.Site{Plugins: []string{plugin}, Reports: []extensions.Report{report("a", "A", "latepoint_booking_created")}}, nil},
		"not a plugin": {
			extensions.Site{Plugins: []string{plugin}, Reports: []extensions.Report{report("theme/child", "Child", "latepoint_full_amount_for_service"), report("mu-plugins/x.php", "X", "latepoint_model_save"), report("elsewhere", "elsewhere", "latepoint_model_validate")}},
			[]string{"theme/child Child: not_honoured", "mu-plugins/x.php X: not_honoured", "elsewhere elsewhere: not_honoured"},
		},
		"known, and listens": {
			extensions.Site{Plugins: zoom.Plugins, Settings: zoom.Settings, Reports: []extensions.Report{report("latepoint-zoom", "LatePoint Zoom", "latepoint_model_save")}},
			[]string{"latepoint-zoom Zoom: not_honoured not_honoured"},
		},
		"asked": {
			extensions.Site{Plugins: []string{"a/a.php", "latepoint-coupons/latepoint-coupons.php", "latepoint-x/x.php"}, AddOns: []string{"latepoint-custom-fields"}, AsksWordPress: true, Reports: []extensions.Report{
				report("a", "A", "latepoint_model_validate", "latepoint_get_booked_periods", "latepoint_cart_get_total"),
				report("latepoint-coupons", "C", "latepoint_cart_calculate_prices"), report("latepoint-custom-fields", "F", "latepoint_model_validate"),
			}},
			[]string{"latepoint-custom-fields Custom Fields: not_honoured", "latepoint-x latepoint-x: not_honoured", "a A: asked asked asked", "latepoint-coupons Coupons: asked"},
		},
		"asked, but of something else": {
			extensions.Site{Plugins: []string{"a/a.php"}, AsksWordPress: true, Reports: []extensions.Report{
				report("a", "A", "latepoint_process_step", "latepoint_full_amount_for_bundle", "latepoint_full_amount_for_service", "latepoint_model_save"),
			}},
			[]string{"a A: not_honoured not_honoured not_honoured asked"},
		},
		"never asked": {
			extensions.Site{Plugins: []string{"a/a.php"}, Reports: []extensions.Report{report("a", "A", "latepoint_model_validate", "latepoint_get_booked_periods")}},
			[]string{"a A: not_honoured not_honoured"},
		},
		"a single file": {
			extensions.Site{Plugins: []string{"snippet.php"}, Reports: []extensions.Report{report("snippet.php", "Snippet", "latepoint_model_validate")}},
			[]string{"snippet.php Snippet: not_honoured"},
		},
	} {
		var got []string
		for _, a := range c.site.Active() {
			line := a.ID + " " + a.Title + ":"
			for _, part := range a.Parts {
				line += " " + string(part.Kind)
			}
			got = append(got, line)
		}
		expect.Equal(t, c.want, got, name)
	}
}

// TestCalendars: events block if their tables can be read, by the rules of the newest version unless the
// version is known.
func TestCalendars(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		versions map[string]string
		unread   []string
		want     string
	}{
		"known":   {map[string]string{extensions.GoogleCalendar: "1.0.1"}, nil, "understood Appointments in an agent's Google calendar block the agent."},
		"unknown": {nil, nil, "understood Appointments in an agent's Google calendar block the agent. Its version is not known: the rules of the newest one apply."},
		"unread":  {nil, []string{extensions.GoogleCalendar}, "not_honoured Appointments in agents' own calendars do not block times: the add-on has no tables that the database user may read; see bookside check --grants."},
		"another": {map[string]string{extensions.GoogleCalendar: "1.0.2"}, []string{extensions.OutlookCalendar}, "understood Appointments in an agent's Google calendar block the agent."},
	} {
		site := extensions.Site{AddOns: []string{extensions.GoogleCalendar}, Versions: c.versions, Unread: c.unread}
		var times []string
		for _, part := range site.Active()[0].Parts {
			if part.Subject == extensions.Times {
				times = append(times, string(part.Kind)+" "+part.Means)
			}
		}
		expect.Equal(t, []string{c.want}, times, name)
	}
}

// TestAskedOf: which extensions are asked about which subjects.
func TestAskedOf(t *testing.T) {
	t.Parallel()
	site := extensions.Site{Plugins: []string{"a/a.php", "b/b.php"}, AsksWordPress: true, Reports: []extensions.Report{
		{Plugin: "a", Title: "A", Listeners: []extensions.Listener{{Hook: "latepoint_get_booked_periods"}, {Hook: "latepoint_model_save"}}},
		{Plugin: "b", Title: "B", Listeners: []extensions.Listener{{Hook: "latepoint_cart_get_total"}, {Hook: "latepoint_get_booked_periods"}}},
	}}
	want := extensions.Asked{extensions.Times: {"A", "B"}, extensions.Prices: {"B"}}
	expect.Equal(t, want, extensions.AskedOf(site.Active()))
}

// TestAssets: they are understood where they are switched on and their tables can be read.
func TestAssets(t *testing.T) {
	t.Parallel()
	const setting = "enable_assets_functionality"
	for name, c := range map[string]struct {
		value  string
		unread []string
		want   []extensions.Kind
	}{
		"on":                 {"on", nil, []extensions.Kind{extensions.Understood}},
		"off":                {"off", nil, nil},
		"unread":             {"on", []string{setting}, []extensions.Kind{extensions.NotHonoured}},
		"calendars unread":   {"on", []string{extensions.GoogleCalendar}, []extensions.Kind{extensions.Understood}},
		"unread and not set": {"", []string{setting}, nil},
	} {
		site := extensions.Site{AddOns: []string{extensions.ProFeatures}, Settings: map[string]string{setting: c.value}, Unread: c.unread}
		var kinds []extensions.Kind
		for _, part := range site.Active()[0].Parts {
			if part.Setting == setting && part.Subject == extensions.Times {
				kinds = append(kinds, part.Kind)
			}
		}
		expect.Equal(t, c.want, kinds, name)
	}
}

// TestDecides: a plugin that only reacts does not affect requests.
func TestDecides(t *testing.T) {
	t.Parallel()
	site := extensions.Site{
		Plugins:  []string{"latepoint-pro-features/latepoint-pro-features.php", "latepoint-zoom/latepoint-zoom.php", "latepoint-x/x.php"},
		Settings: map[string]string{"enable_zoom": "on"}, Versions: map[string]string{extensions.Zoom: "1.0.1"},
	}
	got := map[string]bool{}
	for _, a := range site.Active() {
		got[a.ID] = a.Decides()
		if a.ID == extensions.Zoom && a.Version != "1.0.1" {
			t.Errorf("version %q", a.Version)
		}
	}
	expect.Equal(t, map[string]bool{"latepoint-x": true, extensions.ProFeatures: false, extensions.Zoom: false}, got)
}
