package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/cmd/internal/server"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
	"github.com/bookside/bookside/wpdb"
)

// listeningPlugin hooks into LatePoint in every way that PHP offers; $extra adds more.
const listeningPlugin = `<?php
/* Plugin Name: Sample's Extension */
class SampleListens { static function of_class($x) { return $x; } function method($x) { return $x; } function __invoke($x) { return $x; } }
function sample_listens($x) { return $x; }
add_filter('latepoint_full_amount_for_service', 'sample_listens', 20);
add_filter('latepoint_blocked_periods_for_range', 'SampleListens::of_class');
add_action('init', function () {
	add_filter('latepoint_model_validate', [new SampleListens(), 'method'], PHP_INT_MAX);
	add_filter('latepoint_model_save', ['SampleListens', 'of_class'], 5);
});
add_action('latepoint_booking_created', function () {}, 11);
add_action('latepoint_booking_updated', new SampleListens());
add_action('latepoint_booking_deleted', 'sample_is_not_there');
add_filter('latepoint_cart_get_total', 'floatval');
if (is_admin()) { add_action('latepoint_order_created', 'sample_listens'); }
`

// TestCompanionReportsListeners: after plugins change, a visitor's request tells the server what is hooked
// into LatePoint, without LatePoint's own listeners and ours.
func TestCompanionReportsListeners(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		writeBelow(t, b.Content, map[string]string{
			"plugins/sample/main.php": listeningPlugin, "plugins/latepoint-silent/latepoint-silent.php": "<?php /* Plugin Name: Silent */",
			"plugins/latepoint-dead/dead.php": "<?php /* Plugin Name: Dead */ add_action('latepoint_booking_created_frontend', 'intval'); function dead_listens() {} add_action('latepoint_booking_completed', 'dead_listens');",
			"mu-plugins/own-code.php":         "<?php add_action('latepoint_customer_created', fn() => 1);",
		})
		site := b.Serve(t)
		visit := func() {
			t.Helper()
			if a, err := roundTrip(t.Context(), http.MethodGet, site+"/"); err != nil || a.status >= http.StatusInternalServerError {
				t.Fatalf("a visit: %+v, %v", a, err)
			}
		}
		list := func() (found map[string]extensions.Active) {
			t.Helper()
			site, err := server.NewPlatform(settings.Default(), wpdb.New(b.db.SQL, b.db.Prefix), time.Now).Session(t.Context())
			expect.NoError(t, err)
			active, err := site.Extensions(t.Context())
			expect.NoError(t, err)
			found = map[string]extensions.Active{}
			for _, a := range active {
				found[a.ID] = a
			}
			return found
		}
		visit()
		if got := list(); len(got) != 1 || got["mu-plugins/own-code.php"].Parts[0].Kind != extensions.RunAfterwards {
			t.Errorf("before: %+v", got)
		}
		b.Activate(t, "sample/main.php", "latepoint-silent/latepoint-silent.php", "latepoint-dead/dead.php")
		expect.Equal(t, extensions.NotHonoured, list()["latepoint-silent"].Parts[0].Kind, "not reported yet")
		visit()
		got := list()
		var subjects []string
		for _, part := range got["sample"].Parts {
			subjects = append(subjects, string(part.Subject))
		}
		slices.Sort(subjects)
		if diff := cmp.Diff([]string{"acceptance", "prices", "reactions", "records", "times"}, subjects); diff != "" || len(got) != 5 ||
			got["sample"].Title != "Sample's Extension" || got["latepoint-silent"].Parts[0].Kind != extensions.TakesNoPart || got["latepoint-dead"].Parts[0].Kind != extensions.TakesNoPart || got["elsewhere"].Parts[0].Kind != extensions.AskedFor {
			t.Errorf("%+v, subjects (-want +got):\n%s", got, diff)
		}
		var listeners strings.Builder
		for _, a := range got {
			for _, l := range a.Listeners {
				fmt.Fprintf(&listeners, "%s @%d %s of %s\n", l.Hook, l.Priority, l.Callback, a.ID)
			}
		}
		text := listeners.String()
		expect.Texts(t, text, "latepoint_full_amount_for_service @20 sample_listens of sample\n", "latepoint_blocked_periods_for_range @10 SampleListens::of_class of", "latepoint_model_validate @9223372036854775807 SampleListens::method of",
			"latepoint_model_save @5 SampleListens::of_class of", "latepoint_booking_created @11 closure of", "latepoint_booking_updated @10 SampleListens of", "latepoint_booking_completed @10 dead_listens of latepoint-dead\n",
			"latepoint_cart_get_total @10 floatval of elsewhere\n")
		for _, absent := range []string{"latepoint_order_created", "OsActivitiesHelper", "Bookside", "latepoint_booking_deleted"} {
			expect.NoTexts(t, text, absent)
		}
		told := queryText(t, b.db, "SELECT reported_at FROM "+b.db.Prefix+"bookside_extensions")
		b.execute(b.db.SQL, "UPDATE {own}extensions SET reported_at = '2001-01-01'")
		visit()
		if again := queryText(t, b.db, "SELECT reported_at FROM "+b.db.Prefix+"bookside_extensions"); !strings.HasPrefix(again, "2001-") {
			t.Errorf("reported at %s, and again at %s without a change", told, again)
		}
		b.execute(b.db.SQL, "RENAME TABLE {own}extensions TO {own}away")
		returns[any](b, "BooksideExtensions::forget();")
		visit()
		list()
		b.execute(b.db.SQL, "RENAME TABLE {own}away TO {own}extensions")
		expect.NoTexts(t, b.Faults(t), "extensions.php")
	})
}

// TestHooksAreFired: LatePoint fires each hook in the list.
func TestHooksAreFired(t *testing.T) {
	t.Parallel()
	source := fixtures.RequirePlatform(t)
	var code strings.Builder
	err := filepath.WalkDir(filepath.Join(source, "wp-content", "plugins", "latepoint"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".php") {
			code.Write(readFile(t, path))
		}
		return err
	})
	expect.NoError(t, err)
	hooks := extensions.Hooks()
	if len(hooks) < 50 {
		t.Errorf("%d hooks", len(hooks))
	}
	for _, hook := range hooks {
		if text := code.String(); !strings.Contains(text, "do_action( '"+hook+"'") && !strings.Contains(text, "apply_filters( '"+hook+"'") && !strings.Contains(text, "do_action('"+hook+"'") && !strings.Contains(text, "apply_filters('"+hook+"'") {
			t.Errorf("%s is not fired", hook)
		}
	}
}
