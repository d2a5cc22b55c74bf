package masks_test

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/compat/masks"
)

func TestQueriesAreMasked(t *testing.T) {
	t.Parallel()
	plain := func(name string) bool { return name == "page" || name == "date_from" || name == "status" }
	for raw, want := range map[string]string{
		"":                                  "",
		"page=2&status=approved":            "page=2&status=approved",
		"date_from=2026-12-01":              "date_from=2026-12-01",
		"status=approved%2Cpending":         "status=approved,pending",
		"search=rita%40example.test&page=1": "search=***&page=1",
		"search=&page":                      "search=&page",
		"page=rita@example.test":            "page=***",
		"date_from=%3Cb%3E":                 "date_from=***",
		"api_key=lp_live_secret":            "api_key=***",
		"rita@example.test":                 "***",
		"+49301234=1":                       "***=***",
		"customer[email]=a":                 "customer[email]=***",
		"page=%zz":                          "page=***",
		"page=" + strings.Repeat("1", 100):  "page=***",
	} {
		if got := masks.Query(raw, plain); got != want {
			t.Errorf("%q: %q, want %q", raw, got, want)
		}
	}
	if long := masks.Query(strings.Repeat("a=rita@example.test&", 5000), plain); len(long) > 4<<10 || strings.Contains(long, "rita") || !strings.HasSuffix(long, "&…") {
		t.Errorf("%d bytes: %s", len(long), long)
	}
}

func TestMessagesAreMasked(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		"Must be a number from 1":                     "Must be a number from 1",
		`There is no agent "Rita Neumann"; write ids`: `There is no agent ***; write ids`,
		"rita@example.test is already in use":         "*** is already in use",
	} {
		if got := masks.Message(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
