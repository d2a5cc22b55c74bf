package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

// watchedTables are LatePoint's tables whose changes are entered, by resource.
var watchedTables = map[string]string{
	"bookings": "bookings", "customers": "customers", "orders": "orders", "payments": "transactions", "invoices": "order_invoices",
	"services": "services", "agents": "agents", "locations": "locations",
}

// addTriggers adds triggers that record what changes in the watched tables.
func (b *bookingSite) addTriggers() {
	b.t.Helper()
	b.execute(b.db.SQL, "CREATE TABLE seen (resource VARCHAR(20), id BIGINT, kind VARCHAR(10), at TIMESTAMP(6) DEFAULT CURRENT_TIMESTAMP(6))")
	for resource, table := range watchedTables {
		var columns string
		query := "SELECT GROUP_CONCAT('OLD.', column_name, ' <=> NEW.', column_name SEPARATOR ' AND ') FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?"
		expect.NoError(b.t, b.db.SQL.QueryRowContext(b.t.Context(), query, b.db.Prefix+"latepoint_"+table).Scan(&columns))
		for event, body := range map[string]string{
			"INSERT": "INSERT INTO seen (resource, id, kind) VALUES ('%s', NEW.id, 'created')",
			"UPDATE": "IF NOT (" + strings.ReplaceAll(columns, "%", "%%") + ") THEN INSERT INTO seen (resource, id, kind) VALUES ('%s', NEW.id, 'updated'); END IF",
			"DELETE": "INSERT INTO seen (resource, id, kind) VALUES ('%s', OLD.id, 'deleted')",
		} {
			b.execute(b.db.SQL, fmt.Sprintf("CREATE TRIGGER seen_%s_%s AFTER %s ON {p}%s FOR EACH ROW ", table, event, event, table)+fmt.Sprintf(body, resource))
		}
	}
}

// list returns the rows of a query, each as one text.
func (b *bookingSite) list(query string) (texts []string) {
	b.t.Helper()
	rows, err := b.db.SQL.QueryContext(b.t.Context(), b.expand(query))
	if err != nil {
		b.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		expect.NoError(b.t, rows.Scan(&text))
		texts = append(texts, text)
	}
	expect.NoError(b.t, rows.Err())
	return texts
}

// TestCompanionEntersChanges: whatever WordPress changes is in the journal's inbox, and nothing else.
// Triggers record what really changed.
func TestCompanionEntersChanges(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		b.s.cancel() // so that nothing empties the inbox
		for range b.s.ended {
		}
		b.addTriggers()
		slot := b.slot(600, "")
		for _, c := range []struct {
			name, code string
			want       []string // further texts about entries: resource, kind, status and user
		}{
			{"checkout", "test_checkout(" + slot + ");", []string{"bookings created approved NULL"}},
			{"staff", "wp_set_current_user(1); test_staff(" + b.slot(615, "") + ");", []string{"bookings created approved 1"}},
			{"ability", "test_ability(" + b.slot(630, "") + ");", nil},
			{"refused ability", "test_ability(" + b.slot(630, "") + ");", nil},
			{"status alone", "test_status($last(), 'cancelled');", []string{"bookings updated cancelled NULL"}},
			{"saved without a change of status", "$b = new OsBookingModel($last()); $b->customer_id = 3; $b->save();", []string{"bookings updated NULL NULL"}},
			{"saved without any change", "$b = new OsBookingModel($last()); $wpdb->update($p . 'bookings', ['status' => $b->status], ['id' => $b->id]);", nil},
			{"deleted model", "(new OsBookingModel($last()))->delete();", []string{"bookings deleted NULL NULL"}},
			{"created and deleted at once", "$wpdb->insert($p . 'agents', ['first_name' => 'A', 'status' => 'active']); $wpdb->delete($p . 'agents', ['id' => $wpdb->insert_id]);", nil},
			{"several rows updated", `$wpdb->query("UPDATE {$p}customers SET notes = 'it\'s WHERE id = 1 \" or\\n' WHERE id IN (3, 4, 5) AND last_name <> 'x'");`, nil},
			{"several rows deleted", `$wpdb->query("DELETE FROM {$p}order_invoices WHERE order_id < 5");`, nil},
			{"limited", `$wpdb->query("UPDATE {$p}orders SET fulfillment_status = 'fulfilled' WHERE fulfillment_status <> 'fulfilled' ORDER BY id DESC LIMIT 2");`, nil},
			{"several rows inserted", `$wpdb->query("INSERT INTO {$p}locations (name, status) VALUES ('A (WHERE)', 'active'), ('B', 'active'), ('C', 'active')");`, nil},
			{"lower case, no quotes, lines", `$wpdb->query("  update\n{$p}services\nset name = concat(name, 'ü')\nwhere id\n= 3");`, nil},
			{"all rows", `$wpdb->query("UPDATE {$p}agents SET title = CONCAT(COALESCE(title, ''), '.')");`, nil},
			{"nothing matches", `$wpdb->query("UPDATE {$p}agents SET title = 'x' WHERE id = 999999"); $wpdb->query("DELETE FROM {$p}agents WHERE id = 999999");`, nil},
			{"failing", `$wpdb->suppress_errors(); $wpdb->query("UPDATE {$p}agents SET nonsense = 1 WHERE id = 1"); $wpdb->query("INSERT INTO {$p}agents (id, first_name, status) VALUES (1, 'A', 'active')");`, nil},
			{"rolled back", `$wpdb->query('START TRANSACTION'); $wpdb->update($p . 'agents', ['title' => 'y'], ['id' => 1]); $wpdb->query('ROLLBACK');`, nil},
			{"committed", `$wpdb->query('START TRANSACTION'); $wpdb->update($p . 'agents', ['title' => 'z'], ['id' => 1]); $wpdb->query('COMMIT');`, nil},
			{"rolled back, as people write it", `$wpdb->query('START TRANSACTION READ WRITE;'); $wpdb->update($p . 'agents', ['title' => 'q'], ['id' => 1]); $wpdb->query('ROLLBACK WORK;');`, nil},
			{"another site of the network later", `$wpdb->update($p . 'agents', ['title' => 'r'], ['id' => 1]); $wpdb->prefix = 'another_'; $wpdb->get_var('SELECT 1');`, nil},
			{"comment of a later filter", `add_filter('query', function ($query) { return $query . ' /* by a plugin */'; }, PHP_INT_MAX); $wpdb->update($p . 'agents', ['title' => 's'], ['id' => 1]);`, nil},
			{"unwatched table", `$wpdb->insert($p . 'agent_meta', ['object_id' => 1, 'meta_key' => 'k', 'meta_value' => 'v']); update_option('x', 1);`, nil},
			{"several hundred", `$wpdb->query("UPDATE {$p}customers SET notes = CONCAT(COALESCE(notes, ''), '!')");`, nil},
			{"compared with an empty text", `$wpdb->query("UPDATE {$p}agents SET title = CONCAT(COALESCE(title, ''), '-') WHERE status <> '' AND id <= 2 ORDER BY id LIMIT 1;");`, nil},
			{"a text that ends elsewhere without backslashes", `$wpdb->query("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')");
				$wpdb->query("UPDATE {$p}agents SET title = '\\'' WHERE id IN (2, 3) -- ' WHERE id IN (1)");`, []string{"agents updated NULL NULL"}},
			{"payment", `$wpdb->insert($p . 'transactions', ['order_id' => 1, 'amount' => 5, 'status' => 'succeeded', 'kind' => 'capture']); $wpdb->update($p . 'transactions', ['notes' => 'n'], ['id' => $wpdb->insert_id]);`, nil},
		} {
			t.Run(c.name, func(t *testing.T) {
				part := *b
				part.t = t
				part.execute(b.db.SQL, "DELETE FROM seen")
				part.execute(b.db.SQL, "DELETE FROM {own}change_inbox")
				returns[any](&part, `global $wpdb; $p = $wpdb->prefix . 'latepoint_';
					$last = function () use ($wpdb, $p) { return (int) $wpdb->get_var("SELECT MAX(id) FROM {$p}bookings"); }; `+c.code)
				// Several changes of one record in one request are a single entry, about the first.
				seen := part.list(`SELECT CONCAT(resource, ' ', id, ' ', MIN(kind)) FROM seen WHERE kind <> 'deleted' GROUP BY resource, id
					UNION SELECT CONCAT(resource, ' ', id, ' ', kind) FROM seen WHERE kind = 'deleted' ORDER BY 1`)
				entered := part.list("SELECT CONCAT(resource, ' ', resource_id, ' ', kind) FROM {own}change_inbox WHERE origin = 'site' ORDER BY 1")
				expect.Equal(t, seen, entered, "changed (-) and entered (+)")
				told := part.list("SELECT CONCAT(resource, ' ', kind, ' ', COALESCE(status, 'NULL'), ' ', COALESCE(actor_id, 'NULL')) FROM {own}change_inbox")
				for _, want := range c.want {
					if !strings.Contains("\n"+strings.Join(told, "\n")+"\n", "\n"+want+"\n") {
						t.Errorf("no %q in %q", want, told)
					}
				}
			})
		}
		t.Run("to what bookings belong", func(t *testing.T) {
			part := *b
			part.t = t
			for _, c := range []struct{ code, want string }{
				{"$wpdb->insert($p . 'bookings', ['agent_id' => 1, 'service_id' => 2, 'location_id' => 3, 'customer_id' => 4, 'status' => 'approved', 'start_date' => '2026-01-05']);", "1 2 3 4 - - - -"},
				{"$wpdb->update($p . 'bookings', ['status' => 'cancelled'], ['id' => $last]);", "- - - - - - - -"},
				{"foreach ([7, 8] as $agent) { $wpdb->update($p . 'bookings', ['agent_id' => $agent, 'customer_id' => 5], ['id' => $last]); }", "8 2 3 5 1 2 3 4"},
				{"$wpdb->delete($p . 'bookings', ['id' => $last]);", "- - - - 8 2 3 5"},
			} {
				part.execute(b.db.SQL, "DELETE FROM {own}change_inbox")
				returns[any](&part, `global $wpdb; $p = $wpdb->prefix . 'latepoint_'; $last = (int) $wpdb->get_var("SELECT MAX(id) FROM {$p}bookings"); `+c.code)
				got := part.list(`SELECT CONCAT_WS(' ', COALESCE(agent_id, '-'), COALESCE(service_id, '-'), COALESCE(location_id, '-'), COALESCE(customer_id, '-'),
					COALESCE(old_agent_id, '-'), COALESCE(old_service_id, '-'), COALESCE(old_location_id, '-'), COALESCE(old_customer_id, '-')) FROM {own}change_inbox`)
				expect.Equal(t, []string{c.want}, got, c.code)
			}
		})
		for _, c := range []struct {
			name, tables string
			failures     int
		}{
			{"no server yet", "{own}change_positions TO {own}unborn, {own}change_inbox TO {own}away", 0},
			{"no inbox", "{own}change_inbox TO {own}away", 1},
		} {
			t.Run(c.name, func(t *testing.T) {
				part := *b
				part.t = t
				part.execute(b.db.SQL, "RENAME TABLE "+c.tables)
				if got := returns[int](&part, `global $wpdb; return $wpdb->update($wpdb->prefix . 'latepoint_agents', ['title' => '`+c.name+`'], ['id' => 1]);`); got != 1 {
					t.Errorf("%d rows updated", got)
				}
				part.execute(b.db.SQL, "RENAME TABLE {own}away TO {own}change_inbox")
				if c.failures == 0 {
					part.execute(b.db.SQL, "RENAME TABLE {own}unborn TO {own}change_positions")
				}
				if got := returns[int](&part, "return bookside_companion_failures()['journal']['count'] ?? 0;"); got != c.failures {
					t.Errorf("%d failures counted", got)
				}
			})
		}
		expect.NoTexts(t, b.Faults(t), "mu-plugins")
	})
}

// TestCompanionRunsJobs: once the switch is on, the site's cron runs LatePoint's jobs, and the server
// knows.
func TestCompanionRunsJobs(t *testing.T) {
	t.Parallel()
	eachBookingSite(t, func(t *testing.T, b *bookingSite) {
		const scheduled = "return [BooksideJobs::next() > time(), has_action('latepoint_process_scheduled_jobs') !== false];"
		told := func() bool {
			return !strings.Contains(run(t, settingsFor(b.db), "", "check", "--json").stdout, `"jobs_unscheduled"`)
		}
		if got := returns[[]bool](b, scheduled); got[0] || got[1] || told() {
			t.Errorf("before: %v, told %t", got, told())
		}
		returns[any](b, "update_option('bookside_companion', ['jobs' => true]);")
		if got := returns[[]bool](b, scheduled); !got[0] || !got[1] || !told() {
			t.Errorf("switched on: %v, told %t", got, told())
		}
		// As in wp-cron.php, the event is removed and then run.
		cron := `global $wpdb; add_filter('pre_option_doing_cron', '__return_false'); add_filter('wp_doing_cron', '__return_true');
			$at = BooksideJobs::next(); $args = array_values(_get_cron_array()[$at]['latepoint_process_scheduled_jobs'])[0]['args'];
			$gap = false;
			add_filter('query', function ($query) use (&$gap) {
				if (strpos($query, "option_name = 'cron'") && strpos($query, 'latepoint_process_scheduled_jobs') === false) { $gap = true; }
				return $query;
			});
			wp_unschedule_event($at, 'latepoint_process_scheduled_jobs', $args);
			ob_start();
			do_action_ref_array('latepoint_process_scheduled_jobs', $args);
			return [ob_get_clean(), $gap, BooksideJobs::next() > time()];`
		b.execute(b.db.SQL, `INSERT INTO {p}process_jobs (process_id, object_id, object_model_type, status, to_run_after_utc, settings, created_at)
			VALUES (1, 1, 'booking', 'scheduled', UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '{}', UTC_TIMESTAMP())`)
		waiting := "SELECT COUNT(*) FROM {p}process_jobs WHERE status = 'scheduled'"
		b.execute(b.db.SQL, "INSERT INTO "+b.db.Prefix+"options (option_name, option_value) VALUES ('bookside_companion_jobs_until', UNIX_TIMESTAMP() + 60)")
		if got := returns[[]any](b, cron); got[0] != "" || got[1] != false || got[2] != true || b.number(waiting) != 1 {
			t.Errorf("while another process runs them: %v, %d jobs wait", got, b.number(waiting))
		}
		b.execute(b.db.SQL, "UPDATE "+b.db.Prefix+"options SET option_value = UNIX_TIMESTAMP() - 1 WHERE option_name = 'bookside_companion_jobs_until'")
		if got := returns[[]any](b, cron); got[0] != "" || got[1] != false || got[2] != true || b.number(waiting) != 0 {
			t.Errorf("run: %v, %d jobs wait", got, b.number(waiting))
		}
		// What a plugin leaves open meanwhile takes no mark with it.
		b.execute(b.db.SQL, `INSERT INTO {p}process_jobs (process_id, object_id, object_model_type, status, to_run_after_utc, settings, created_at)
			VALUES (1, 2, 'booking', 'scheduled', UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '{}', UTC_TIMESTAMP())`)
		opens := `add_filter('query', function ($query) {
				static $open = false;
				if (!$open && strpos($query, 'UPDATE') === 0 && strpos($query, 'process_jobs')) { $open = true; $GLOBALS['wpdb']->query('START TRANSACTION'); }
				return $query;
			});` + cron
		if got := returns[[]any](b, opens); got[0] != "" || b.number(waiting) != 0 || b.number("SELECT option_value FROM "+b.db.Prefix+"options WHERE option_name = 'bookside_companion_jobs_until'") != 0 {
			t.Errorf("run with a plugin that leaves a transaction open: %v, %d jobs wait", got, b.number(waiting))
		}
		expect.Texts(t, b.Run(t, "echo bookside_companion_failures()['jobs']['message'];"), "A plugin left a transaction open while jobs ran.")
		// A mail of the API gets its process once it was sent, so that LatePoint's list does not show that
		// as deleted.
		b.execute(b.db.SQL, `INSERT INTO {p}processes (id, name, event_type, actions_json, status) VALUES (871, 'It''s new', 'booking_created', '[]', 'active'), (872, 'Other', 'booking_updated', '[]', 'active')`)
		b.execute(b.db.SQL, `INSERT INTO {p}process_jobs (process_id, object_id, object_model_type, status, to_run_after_utc, settings, process_info, created_at) VALUES
			(0, 7101, 'n/a', 'scheduled', UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '{}', '{"name":"It''s new","event_type":"booking_created"}', UTC_TIMESTAMP()),
			(0, 7102, 'n/a', 'scheduled', UTC_TIMESTAMP() - INTERVAL 1 MINUTE, '{}', '{"name":"Gone","event_type":"booking_created"}', UTC_TIMESTAMP()),
			(0, 7103, 'n/a', 'scheduled', UTC_TIMESTAMP() + INTERVAL 1 DAY, '{}', '{"name":"Other","event_type":"booking_updated"}', UTC_TIMESTAMP())`)
		returns[[]any](b, cron)
		named := "SELECT GROUP_CONCAT(process_id ORDER BY object_id) FROM {p}process_jobs WHERE object_id BETWEEN 7101 AND 7103"
		expect.Equal(t, "871,0,0", queryText(t, b.db, b.expand(named)), "processes of jobs")
		// Two concurrent requests may each have scheduled a run.
		twice := `wp_schedule_single_event(time() + 300, 'latepoint_process_scheduled_jobs', ['another']);` + cron
		if got := returns[[]any](b, twice); got[1] != false || b.number("SELECT option_value LIKE '%another%' FROM "+b.db.Prefix+"options WHERE option_name = 'cron'") != 1 {
			t.Errorf("scheduled twice: %v", got)
		}
		if got := returns[int](b, `return array_sum(array_map(fn($hooks) => count($hooks['latepoint_process_scheduled_jobs'] ?? []), _get_cron_array()));`); got != 1 {
			t.Errorf("%d runs are scheduled", got)
		}
		// The recurring event of an add-on must not be removed.
		returns[any](b, `add_filter('cron_schedules', fn() => ['addon' => ['interval' => 300, 'display' => 'x']]); wp_schedule_event(time() + 300, 'addon', 'latepoint_process_scheduled_jobs', ['addon']);
			update_option('bookside_companion', ['jobs' => false]);`)
		if got := returns[int](b, `$left = array_sum(array_map(fn($hooks) => count($hooks['latepoint_process_scheduled_jobs'] ?? []), _get_cron_array()));
			wp_unschedule_hook('latepoint_process_scheduled_jobs'); return $left;`); got != 1 {
			t.Errorf("%d events are left beside the add-on's", got-1)
		}
		if got := returns[[]bool](b, scheduled); got[0] || got[1] || told() {
			t.Errorf("switched off: %v, told %t", got, told())
		}
	})
}
