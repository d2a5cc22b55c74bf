package handlers

import (
	"errors"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// countRejection counts requests and bookings rejected because of a limit or a conflict.
func (a *api) countRejection(c echo.Context, err error) {
	var refusal string
	var limited *ratelimit.Error
	switch {
	case domain.CodeOf(err) == domain.CodeSlotUnavailable:
		a.metrics.Conflicts.Inc()
		return
	case errors.Is(err, middleware.ErrOverloaded):
		refusal = monitor.RejectedByConcurrency
	case errors.Is(err, wpdb.ErrBusy):
		refusal = monitor.RejectedByPool
	case errors.As(err, &limited):
		refusal = monitor.RejectedByLimit
		if _, known := principalOf(c); !known {
			refusal = monitor.RejectedByThrottle
		}
	default:
		return
	}
	a.metrics.Refusals.WithLabelValues(refusal).Inc()
}

// otherRoute is the label for requests that match no route of the table.
const otherRoute = "none"

// count counts and times a request by the path of its route below the base path.
func (a *api) count(c echo.Context, start time.Time) {
	path, method := otherRoute, c.Request().Method
	if r, known := routeOf(c); known {
		path = r.path
	} else {
		method = middleware.KnownMethod(method)
	}
	principal, _ := principalOf(c)
	a.metrics.Requests.WithLabelValues(path, method, strconv.Itoa(c.Response().Status), a.metrics.KeyLabel(principal.ID)).Inc()
	a.metrics.Durations.WithLabelValues(path, method).Observe(a.now().Sub(start).Seconds())
}
