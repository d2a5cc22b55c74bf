package handlers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"bookside/adapter"
	"bookside/adapter/domain"
	"bookside/compat"
	"bookside/handlers/ratelimit"
	"bookside/wpdb"
)

// retryAfter is how long a client is asked to wait for a platform that is not
// available, or for its own request that still runs, in seconds.
const retryAfter = 5

// fail turns an error of any layer into the response.
func (a *api) fail(c echo.Context, err error) {
	if c.Response().Committed {
		a.log.WarnContext(c.Request().Context(), "response broke off", "request_id", requestID(c), "error", err)
		return
	}
	a.metrics.countRejection(c, err)
	failure, shape := a.describe(c, err)
	a.logFailure(c, failure, err)
	if sendErr := send(c, response{failure.Status, failure.Body(shape)}); sendErr != nil {
		a.log.ErrorContext(c.Request().Context(), "error response not sent", "request_id", requestID(c), "error", sendErr)
	}
}

// logFailure logs an error that is ours, or the platform's. What will be over in
// a while, such as too much load, is a warning.
func (a *api) logFailure(c echo.Context, failure compat.Failure, err error) {
	level := slog.LevelError
	switch {
	case failure.Status < http.StatusInternalServerError:
		return
	case failure.Status == http.StatusServiceUnavailable:
		level = slog.LevelWarn
	}
	a.log.LogAttrs(c.Request().Context(), level, "request failed",
		slog.String("request_id", requestID(c)), slog.String("route", c.Path()), slog.Int("status", failure.Status), slog.Any("error", err))
}

// describe finds status, code, message and shape of an error, and sets the
// headers that go with it.
func (a *api) describe(c echo.Context, err error) (compat.Failure, compat.ErrorShape) {
	var form errorForm
	if r, known := routeOf(c); known {
		form = r.operation.errors
	}
	var limited *ratelimit.Error
	header := c.Response().Header()
	failure, shape := failureOf(form, requestID(c), err)
	failure.Written = writeOutcome(c.Request().Method, failure.Status, err)
	switch {
	case failure.Code == noRouteCode:
		header.Del(echo.HeaderAllow) // echo's; WordPress sends none with this error
	case errors.As(err, &limited):
		header.Set(retryAfterHeader, strconv.FormatInt(limited.RetryAfter, 10))
	case failure.Status == http.StatusServiceUnavailable, domain.CodeOf(err) == domain.CodeInProgress:
		header.Set(retryAfterHeader, strconv.Itoa(retryAfter))
	}
	return failure, shape
}

// errPartlyWritten is a request that has written, and then failed.
var errPartlyWritten = errors.New("a part of the request was written")

// writeOutcome is what a write that is answered with 503 has left behind. Each write
// is one transaction, of which nothing is left unless its COMMIT was sent.
func writeOutcome(method string, status int, err error) compat.WriteOutcome {
	writes := method == http.MethodPost || method == http.MethodPut || method == http.MethodDelete
	switch {
	case !writes || status != http.StatusServiceUnavailable:
		return compat.WriteNotReported
	case errors.Is(err, wpdb.ErrOutcomeUnknown), errors.Is(err, errPartlyWritten):
		return compat.WriteUnknown
	default:
		return compat.NothingWritten
	}
}

const (
	noRouteCode      = "rest_no_route"
	retryAfterHeader = "Retry-After"
)

// failureOf is an error as it is told to a client.
func failureOf(form errorForm, requestID string, err error) (compat.Failure, compat.ErrorShape) {
	var known *domain.Error
	var limited *ratelimit.Error
	var unreadable *compat.BodyError
	switch {
	case errors.Is(err, errNoRoute), errors.Is(err, echo.ErrNotFound), errors.Is(err, echo.ErrMethodNotAllowed):
		return compat.Failure{Status: http.StatusNotFound, Code: noRouteCode, Message: "No route was found matching the URL and request method."}, compat.WordPressError
	case errors.As(err, &limited):
		return compat.Failure{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", Message: limited.Message}, compat.ObjectError
	case errors.Is(err, errBodyTooLarge):
		return compat.Failure{Status: http.StatusRequestEntityTooLarge, Code: "rest_content_too_large", Message: "The request body is larger than 1 MiB"}, compat.WordPressError
	case errors.Is(err, errURLTooLong):
		return compat.Failure{Status: http.StatusRequestURITooLong, Code: "rest_uri_too_long", Message: "The request address is longer than 8 KiB"}, compat.WordPressError
	case errors.Is(err, errSlowBody):
		return compat.Failure{Status: http.StatusRequestTimeout, Code: "rest_request_timeout", Message: "The request body did not arrive in time"}, compat.WordPressError
	case errors.As(err, &unreadable):
		return compat.Failure{Status: http.StatusBadRequest, Code: "rest_invalid_json", Message: unreadable.Message}, compat.WordPressError
	case errors.As(err, &known) && known.Code != domain.CodeUnavailable:
		return describeKnown(form, known)
	case errors.Is(err, errOverloaded), adapter.IsUnavailable(err):
		return compat.Failure{Status: http.StatusServiceUnavailable, Code: string(domain.CodeUnavailable), Message: unavailableMessage(known)}, compat.WordPressError
	case errors.Is(err, context.Canceled):
		return compat.Failure{Status: statusClientGone, Code: "client_closed_request", Message: "The client went away"}, compat.WordPressError
	default:
		return ourFailure(form, requestID)
	}
}

// statusClientGone is nginx's number for a client that did not wait; nobody
// reads the response, but the log line shows it.
const statusClientGone = 499

// unavailableMessage says what a person who runs the site can act on, and
// nothing of the database.
func unavailableMessage(known *domain.Error) string {
	if known != nil && known.Message != "" {
		return known.Message
	}
	return "The booking platform is not available"
}

// ourFailure tells a request id and no detail.
func ourFailure(form errorForm, id string) (compat.Failure, compat.ErrorShape) {
	shape := form.shape
	if shape == compat.ObjectError {
		shape = compat.WordPressError
	}
	code := cmp.Or(form.code, "server_error")
	return compat.Failure{Status: http.StatusInternalServerError, Code: code, Message: cmp.Or(form.failure, "Internal server error"), RequestID: id}, shape
}

func describeKnown(form errorForm, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	failure := compat.Failure{Status: statusOf(e.Code), Code: string(e.Code), Message: e.Message, Details: details(e), Bookings: e.Count}
	switch e.Code {
	case domain.CodeUnauthorized:
		if form.list {
			return compat.ListUnauthorized, compat.WordPressError
		}
	case domain.CodeNotFound:
		return notFound(form, e)
	case domain.CodeInvalidRequest, domain.CodeValidationFailed, domain.CodePaymentCompleted:
		return faulty(form, e, failure)
	case domain.CodeCustomerHasBookings, domain.CodeForceRequired:
		return failure, compat.WordPressError
	}
	return failure, compat.ObjectError
}

// faulty is a request that is wrong in itself, in the form of its route.
func faulty(form errorForm, e *domain.Error, failure compat.Failure) (compat.Failure, compat.ErrorShape) {
	switch {
	case form.shape == compat.TextError:
		message := e.Message
		if len(e.Fields) > 0 {
			message = compat.PaymentFault(e.Fields)
		}
		return compat.Failure{Status: http.StatusBadRequest, Message: message}, compat.TextError
	case form.invalid != "":
		return compat.Failure{Status: http.StatusBadRequest, Code: form.invalid, Message: form.failure + ": " + sentence(e.Fields), Details: e.Fields}, compat.WordPressError
	default:
		return failure, compat.ObjectError
	}
}

// sentence tells what is wrong with fields, for people.
func sentence(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+": "+fields[name])
	}
	return strings.Join(parts, "; ")
}

// statusOf is the status of what is wrong with a request.
func statusOf(code domain.Code) int {
	switch code {
	case domain.CodeUnauthorized:
		return http.StatusUnauthorized
	case domain.CodeForbidden:
		return http.StatusForbidden
	case domain.CodeSlotUnavailable, domain.CodeInProgress:
		return http.StatusConflict
	case domain.CodeValidationFailed, domain.CodeKeyReused:
		return http.StatusUnprocessableEntity
	default:
		return http.StatusBadRequest
	}
}

func details(e *domain.Error) any {
	switch {
	case e.Code == domain.CodeForbidden:
		return compat.PermissionDetails{Required: e.Required, Current: e.Granted}
	case e.Conflict != nil:
		return compat.Conflict(*e.Conflict)
	case len(e.Fields) > 0:
		return e.Fields
	default:
		return nil
	}
}

func notFound(form errorForm, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	noun := domain.Capitalize(string(e.Resource))
	failure := compat.Failure{Status: http.StatusNotFound, Code: string(e.Resource) + "_not_found"}
	switch {
	case form.shape != compat.ObjectError:
		failure.Message = noun + " not found"
	case e.Resource == domain.CouponResource:
		failure.Message = fmt.Sprintf("%s with code %s was not found", noun, e.Key)
	default:
		failure.Message = fmt.Sprintf("%s with ID %s was not found", noun, e.Key)
	}
	return failure, form.shape
}
