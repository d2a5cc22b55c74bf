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

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
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
	c.Set(refusalEntry, a.countRejection(c, err))
	failure, shape := a.describe(c, err)
	c.Set(codeEntry, failure.Code)
	c.Set(errorEntry, err)
	a.logFailure(c, failure, err)
	if sendErr := sendFailure(c, failure, shape); sendErr != nil {
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
	var form errorForm
	if r, known := routeOf(c); known {
		form = r.operation.errors
	}
	var limited *ratelimit.Error
	header := c.Response().Header()
	failure, shape := failureOf(form, middleware.RequestID(c), err)
	failure.Written = writeOutcome(c.Request().Method, failure.Status, err)
	switch {
	case failure.Status == http.StatusUnauthorized:
		header.Set(echo.HeaderWWWAuthenticate, keyChallenge)
	case failure.Code == noRouteCode:
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

// errPartlyWritten is the error of a request that failed after part of it was written.
var errPartlyWritten = errors.New("a part of the request was written")

// writeOutcome returns what a write that is answered with 503 has left behind. Each write is one
// transaction, which leaves nothing unless its COMMIT was sent.
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
	noRouteMessage   = "No route was found matching the URL and request method."
	retryAfterHeader = "Retry-After"
)

// failures are the responses to errors without details, in the shape of WordPress's own.
var failures = []struct {
	err           error
	status        int
	code, message string
}{
	{errNoRoute, http.StatusNotFound, noRouteCode, noRouteMessage},
	{echo.ErrNotFound, http.StatusNotFound, noRouteCode, noRouteMessage},
	{echo.ErrMethodNotAllowed, http.StatusNotFound, noRouteCode, noRouteMessage},
	{middleware.ErrURLTooLong, http.StatusRequestURITooLong, "rest_uri_too_long", "The request address is longer than 8 KiB"},
	{middleware.ErrBodyTooLarge, http.StatusRequestEntityTooLarge, "rest_content_too_large", "The request body is larger than 1 MiB"},
	{middleware.ErrBodyTimeout, http.StatusRequestTimeout, "rest_request_timeout", "The request body did not arrive in time"},
	{errMessageTooLarge, http.StatusRequestEntityTooLarge, "rest_content_too_large", "The message is larger than 32 KiB"},
	{errManyMessages, http.StatusBadRequest, "rest_invalid_json", "Send one message per request"},
	{errForeignOrigin, http.StatusForbidden, "origin_not_allowed", "Pages of this origin may not call the API; server.cors_origins lists those that may"},
	{errUnfit, http.StatusHTTPVersionNotSupported, "rest_export_needs_http_1_1", fmt.Sprintf("More than %d records are sent in parts, and over HTTP/1.0 or through WordPress you could not tell a broken download from a whole one. Ask Bookside directly over HTTP/1.1, or for less", exportChunk)},
}

// domainFailures are the status and the shape of the domain's errors; others have status 400 and the shape
// of an object.
var domainFailures = map[domain.Code]struct {
	status int
	shape  compat.ErrorShape
}{
	domain.CodeUnauthorized:        {status: http.StatusUnauthorized},
	domain.CodeForbidden:           {status: http.StatusForbidden},
	domain.CodeOutsideScope:        {status: http.StatusForbidden},
	domain.CodePersonalMasked:      {status: http.StatusForbidden},
	domain.CodeSlotUnavailable:     {status: http.StatusConflict},
	domain.CodeInProgress:          {status: http.StatusConflict},
	domain.CodeCursorExpired:       {status: http.StatusGone},
	domain.CodePreconditionFailed:  {status: http.StatusPreconditionFailed},
	domain.CodeValidationFailed:    {status: http.StatusUnprocessableEntity},
	domain.CodeKeyReused:           {status: http.StatusUnprocessableEntity},
	domain.CodeTooManyHolds:        {status: http.StatusTooManyRequests},
	domain.CodeRefundTooLarge:      {http.StatusUnprocessableEntity, compat.TextError},
	domain.CodePaymentRefused:      {http.StatusUnprocessableEntity, compat.TextError},
	domain.CodeCustomerHasBookings: {http.StatusBadRequest, compat.WordPressError},
	domain.CodeCustomerHasPayments: {http.StatusBadRequest, compat.WordPressError},
	domain.CodeForceRequired:       {http.StatusBadRequest, compat.WordPressError},
}

// failureOf returns the content and the shape of the response to an error.
func failureOf(form errorForm, requestID string, err error) (compat.Failure, compat.ErrorShape) {
	for _, f := range failures {
		if errors.Is(err, f.err) {
			return compat.Failure{Status: f.status, Code: f.code, Message: f.message}, compat.WordPressError
		}
	}
	var known *domain.Error
	var limited *ratelimit.Error
	var unreadable *compat.BodyError
	switch {
	case errors.As(err, &limited):
		return compat.Failure{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", Message: limited.Message}, compat.ObjectError
	case errors.As(err, &unreadable):
		return compat.Failure{Status: http.StatusBadRequest, Code: "rest_invalid_json", Message: unreadable.Message}, compat.WordPressError
	case errors.As(err, &known) && known.Code != domain.CodeUnavailable:
		return domainFailure(form, known)
	case exceedsMemory(err):
		return compat.Failure{Status: http.StatusBadRequest, Code: "rest_record_too_large", Message: "The record, with what belongs to it, is too large for a request"}, compat.WordPressError
	case errors.Is(err, middleware.ErrOverloaded), session.IsUnavailable(err):
		return compat.Failure{Status: http.StatusServiceUnavailable, Code: string(domain.CodeUnavailable), Message: unavailableMessage(known)}, compat.WordPressError
	case errors.Is(err, context.Canceled):
		return compat.Failure{Status: statusClientGone, Code: "client_closed_request", Message: "The client went away"}, compat.WordPressError
	default:
		return internalFailure(form, requestID)
	}
}

// statusClientGone is nginx's status for a client that went away. Nobody reads the response, but the status
// appears in the log.
const statusClientGone = 499

// unavailableMessage returns a message for the people who run the site, without details of the database.
func unavailableMessage(known *domain.Error) string {
	if known != nil && known.Message != "" {
		return known.Message
	}
	return "The booking platform is not available"
}

// internalFailure returns a response with a request id and no details.
func internalFailure(form errorForm, id string) (compat.Failure, compat.ErrorShape) {
	shape := form.shape
	if shape == compat.ObjectError {
		shape = compat.WordPressError
	}
	code := cmp.Or(form.code, "server_error")
	return compat.Failure{Status: http.StatusInternalServerError, Code: code, Message: cmp.Or(form.failure, "Internal server error"), RequestID: id}, shape
}

func domainFailure(form errorForm, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	as := domainFailures[e.Code]
	failure := compat.Failure{Status: cmp.Or(as.status, http.StatusBadRequest), Code: string(e.Code), Message: e.Message, Details: details(e)}
	switch e.Code {
	case domain.CodeUnauthorized:
		if form.list {
			return compat.ListUnauthorized, compat.WordPressError
		}
	case domain.CodeNotFound:
		return notFound(form, e)
	case domain.CodeInvalidRequest, domain.CodeValidationFailed, domain.CodePaymentCompleted:
		return invalidRequest(form, e, failure)
	case domain.CodeRefundTooLarge:
		failure = compat.Failure{Status: as.status, Code: failure.Code, Message: e.Message}
	case domain.CodePaymentRefused:
		failure = compat.Failure{Status: as.status, Code: failure.Code, Message: compat.PaymentFault(e.Fields) + ": " + e.Message}
	case domain.CodeCustomerHasBookings:
		failure.Bookings = e.Count
	case domain.CodeCustomerHasPayments:
		failure.Payments = e.Count
	}
	return failure, as.shape
}

// invalidRequest returns the response to an invalid request, in its route's form.
func invalidRequest(form errorForm, e *domain.Error, failure compat.Failure) (compat.Failure, compat.ErrorShape) {
	switch {
	case form.shape == compat.TextError:
		message := e.Message
		if len(e.Fields) > 0 {
			message = compat.PaymentFault(e.Fields)
		}
		return compat.Failure{Status: http.StatusBadRequest, Code: failure.Code, Message: message}, compat.TextError
	case form.invalid != "":
		return compat.Failure{Status: http.StatusBadRequest, Code: form.invalid, Message: form.failure + ": " + fieldMessages(e.Fields), Details: e.Fields}, compat.WordPressError
	default:
		return failure, compat.ObjectError
	}
}

// fieldMessages joins the messages of all fields for people.
func fieldMessages(fields map[string]string) string {
	parts := make([]string, 0, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+": "+fields[name])
	}
	return strings.Join(parts, "; ")
}

func details(e *domain.Error) any {
	switch {
	case e.Code == domain.CodeForbidden:
		return compat.PermissionDetails{Required: e.Required, Current: e.Granted}
	case e.Conflict != nil:
		return compat.Conflict(*e.Conflict)
	case e.Present != nil:
		return compat.Present(*e.Present)
	case len(e.Fields) > 0:
		return e.Fields
	default:
		return nil
	}
}

func notFound(form errorForm, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	noun := domain.Capitalize(string(e.Resource))
	failure := compat.Failure{Status: http.StatusNotFound, Code: strings.ReplaceAll(string(e.Resource), " ", "_") + "_not_found"}
	switch {
	case form.shape != compat.ObjectError:
		failure.Message = noun + " not found"
	case e.Resource == domain.CouponResource:
		failure.Message = fmt.Sprintf("%s with code %s was not found", noun, e.Key)
	default:
		failure.Message = fmt.Sprintf("%s with ID %s was not found", noun, e.Key)
	}
	return failure, cmp.Or(form.unknown, form.shape)
}
