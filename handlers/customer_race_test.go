package handlers_test

import (
	"net/http"
	"testing"
)

// TestCustomersWhileTheSiteWrites: a request that conflicts with a transaction
// of the site waits for it and acts on its result.
func TestCustomersWhileTheSiteWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		site               []string // not committed when the request arrives
		method, path, body string
		status             int
		table, where       string // the rows to count at the end
		rows               int
	}{
		"payment of a customer who is being deleted": {
			[]string{"DELETE FROM wp_latepoint_customers WHERE id = 8003"},
			http.MethodPost, "/payments", `{"order_id":1030,"customer_id":8003,"amount":5}`, http.StatusBadRequest,
			"latepoint_transactions", "customer_id = 8003", 0,
		},
		"deletion of a customer who gets an order": {
			[]string{"SELECT id FROM wp_latepoint_customers WHERE id = 8004 FOR UPDATE", "INSERT INTO wp_latepoint_orders (id, customer_id, status) VALUES (9001, 8004, 'open')"},
			http.MethodDelete, "/customers/8004", "", http.StatusOK,
			"bookside_locks", "kind = 8 AND id = 9001 MOD 1024 AND n > 0", 1,
		},
		"user who is being connected": {
			[]string{"SELECT ID FROM wp_users WHERE ID = 801 FOR UPDATE", "UPDATE wp_latepoint_customers SET wordpress_user_id = 801 WHERE id = 8004"},
			http.MethodPost, "/bookings", friday("customer_id", "null", "customer", `{"first_name":"Rita","last_name":"Neu","email":"rita@example.test"}`), http.StatusCreated,
			"latepoint_customers", "wordpress_user_id = 801", 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := usersSite(t)
			arrangeCustomers(t, s.database)
			s.database.Execute(t, fillLocks, "DELETE FROM wp_bookside_locks WHERE kind = 8 AND id = 9001 MOD 1024",
				`INSERT INTO wp_latepoint_customers (id, uuid, first_name, last_name, email, phone, status) VALUES (8004, 'u8004', 'Ida', 'Neu', 'ida@example.test', '', 'active')`)
			site, err := s.database.SQL.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer site.Rollback()
			for _, statement := range c.site {
				if _, err := site.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			answers := make(chan answer, 1)
			go func() { answers <- s.write(c.method, c.path, c.body) }()
			s.waitForLock(t)
			if err := site.Commit(); err != nil {
				t.Fatal(err)
			}
			(<-answers).want(c.status)
			if n := s.count(c.table, c.where); n != c.rows {
				t.Errorf("%d rows of %s, want %d", n, c.table, c.rows)
			}
		})
	}
}
