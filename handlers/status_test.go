package handlers_test

import (
	"net/http"
	"testing"

	"github.com/bookside/bookside/handlers/apitest"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	apitest.Golden(t, "status", apitest.NewServer(t, small(t)).Get("/status").Want(http.StatusOK).Body)
}
