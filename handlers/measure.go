package handlers

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/daystats"
	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/monitor"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// countRejection counts requests and bookings rejected because of a limit or a conflict. It returns the
// reason if it is a limit, and otherwise "".
func (a *api) countRejection(c echo.Context, err error) (refusal string) {
	var limited *ratelimit.Error
	switch {
	case domain.CodeOf(err) == domain.CodeSlotUnavailable:
		a.metrics.Conflicts.Inc()
		return ""
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
		return ""
	}
	a.metrics.Refusals.WithLabelValues(refusal).Inc()
	return refusal
}

// refusalEntry is the entry of a request's context that says why it was refused.
const refusalEntry = "bookside.refusal"

// refusals are the outcomes of refused requests.
var refusals = map[string]daystats.Outcome{
	monitor.RejectedByLimit: daystats.Limited, monitor.RejectedByThrottle: daystats.Throttled, monitor.RejectedByConcurrency: daystats.Overloaded, monitor.RejectedByPool: daystats.Disconnected,
}

// outcomeOf returns how a request ended.
func outcomeOf(c echo.Context) daystats.Outcome {
	reason, _ := c.Get(refusalEntry).(string)
	outcome, refused := refusals[reason]
	switch status := c.Response().Status; {
	case refused:
		return outcome
	case status >= http.StatusInternalServerError:
		return daystats.Failed
	case status >= http.StatusBadRequest:
		return daystats.Rejected
	default:
		return daystats.Succeeded
	}
}

// otherRoute is the label for requests that match no route of the table.
const otherRoute = "none"

// measure counts and times a request by the path of its route below the base path.
// It wraps the middleware that turns errors into responses.
func (a *api) measure(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		start := a.now()
		a.metrics.Running.Inc()
		defer a.metrics.Running.Dec()
		err := next(c)
		path, method := otherRoute, c.Request().Method
		waited := false
		if r, known := routeOf(c); known {
			path, waited = r.path, r.operation.wrap != nil
		} else {
			method = middleware.KnownMethod(method)
		}
		principal, _ := principalOf(c)
		a.metrics.Requests.WithLabelValues(path, method, strconv.Itoa(c.Response().Status), a.metrics.KeyLabel(principal.ID)).Inc()
		took := a.now().Sub(start)
		a.metrics.Durations.WithLabelValues(path, method).Observe(took.Seconds())
		a.options.Figures.Add(daystats.Request{Outcome: outcomeOf(c), Took: took, Waited: waited, KeyID: principal.ID})
		return err
	}
}
