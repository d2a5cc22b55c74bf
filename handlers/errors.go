package handlers

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/ratelimit"
)

// retryAfter is how many seconds a client is asked to wait for an unavailable platform, or for its own
// earlier request.
const retryAfter = 5

// fail responds to an error from any layer.
func (a *api) fail(c echo.Context, err error) {
	if c.Response().Committed {
		a.log.WarnContext(c.Request().Context(), "response aborted", "request_id", middleware.RequestID(c), "error", err)
		a.metrics.Aborted.Inc()
		c.Set(codeEntry, "aborted")
		middleware.MarkAborted(c)
		return
	}
	a.countRejection(c, err)
	failure, shape := a.describe(c, err)
	c.Set(codeEntry, failure.Code)
	c.Set(errorEntry, err)
	a.logFailure(c, failure, err)
	if sendErr := middleware.SendJSON(c, failure.Status, failure.Body(shape)); sendErr != nil {
		a.log.ErrorContext(c.Request().Context(), "error response not sent", "request_id", middleware.RequestID(c), "error", sendErr)
	}
}

// logFailure logs errors that are not the client's fault. Temporary ones, such as overload, are warnings.
func (a *api) logFailure(c echo.Context, failure compat.Failure, err error) {
	level := slog.LevelError
	switch {
	case failure.Status < http.StatusInternalServerError:
		return
	case failure.Status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	}
	a.log.LogAttrs(c.Request().Context(), level, "request failed",
		slog.String("request_id", middleware.RequestID(c)), slog.String("route", c.Path()), slog.Int("status", failure.Status), slog.Any("error", err))
}

// describe returns the content and the shape of the response to an error, and sets
// its headers.
func (a *api) describe(c echo.Context, err error) (compat.Failure, compat.ErrorShape) {
	var form failures.Form
	if r, known := routeOf(c); known {
		form = r.operation.errors
	}
	var limited *ratelimit.Error
	header := c.Response().Header()
	failure, shape := failures.Of(form, middleware.RequestID(c), err)
	failure.Written = failures.Written(c.Request().Method, failure.Status, err)
	switch {
	case failure.Status == http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, keyChallenge)
	case failure.Code == failures.ErrNoRoute.Code:
		header.Del(echo.HeaderAllow) // echo's; WordPress sends none with this error
	case errors.As(err, &limited):
		header.Set(retryAfterHeader, strconv.FormatInt(limited.RetryAfter, 10))
	case domain.CodeOf(err) == domain.CodeTooManyHolds:
		var known *domain.Error
		errors.As(err, &known)
		header.Set(retryAfterHeader, strconv.FormatInt(known.RetryAfter, 10))
	case failure.Status == http.StatusServiceUnavailable, domain.CodeOf(err) == domain.CodeInProgress:
		header.Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	return failure, shape
}

// keyChallenge says how to send a key. Browsers prompt for neither scheme.
const keyChallenge = `Bearer realm="bookside", ApiKey realm="bookside", header="X-API-Key"`

const retryAfterHeader = "Retry-After"
