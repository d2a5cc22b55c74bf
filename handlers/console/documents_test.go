package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

func TestDocumentsAreRead(t *testing.T) {
	t.Parallel()
	k := serve(t, fixtures.New(t, fixtures.Small(now)))
	k.visitor().open("/console/documents").leadsTo("/console/login")
	v := k.login()
	v.open("/console/documents").says(http.StatusOK, `href="/console/documents/install"`, "Using the API")
	v.open("/console/documents?q=Idempotency-Key").says(http.StatusOK, `href="/console/documents/api#`, "Idempotency-Key")
	if page := v.open("/console/documents?q=%3Cscript%3Ealert").says(http.StatusOK, "No document has all of these words."); strings.Contains(string(page.body), "<script>alert") {
		t.Errorf("the query is markup: %s", page.body)
	}
	v.open("/console/documents/install").says(http.StatusOK, "Install Bookside", "bookside setup")
	for _, path := range []string{"none", "install/x", "API.md"} {
		v.open("/console/documents/"+path).says(http.StatusNotFound, "There is no such page")
	}
}
