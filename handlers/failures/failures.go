// Package failures says how errors of any layer become responses: their status, code, message and shape. It
// imports adapter/domain and adapter/session for their errors, compat for the shapes, handlers/middleware and
// handlers/ratelimit.
package failures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/middleware"
	"github.com/bookside/bookside/handlers/ratelimit"
	"github.com/bookside/bookside/wpdb"
)

// Form is how an operation fails. The zero value applies to most.
type Form struct {
	List    bool              // a list: an invalid key gets a WordPressError
	Shape   compat.ErrorShape // of everything without its own shape
	Unknown compat.ErrorShape // for a missing record, if different
	Failure string            // message of an internal error; "" for "Internal server error"
	Code    string            // of an internal error; "" for server_error
	Invalid string            // code of invalid fields, as a WordPressError; "" for an ObjectError
	Others  []int             // statuses of errors that few operations have, for the document
	Bulk    bool              // status 400 says success: false, as when none of several records was created
}

// Error is an error without details, in the shape of WordPress's own.
type Error struct {
	Status        int
	Code, Message string
}

func (e *Error) Error() string { return e.Message }

func (e *Error) failure() (compat.Failure, compat.ErrorShape) {
	return compat.Failure{Status: e.Status, Code: e.Code, Message: e.Message}, compat.WordPressError
}

// ErrNoRoute is the error of a path that no route serves.
var ErrNoRoute = &Error{http.StatusNotFound, "rest_no_route", "No route was found matching the URL and request method."}

var errTooLarge = &Error{http.StatusBadRequest, "rest_record_too_large", "What is asked for is too large for a response; ask for less"}

// foreign are the errors of others that have no details either.
var foreign = []struct {
	err error
	as  *Error
}{
	{echo.ErrNotFound, ErrNoRoute},
	{echo.ErrMethodNotAllowed, ErrNoRoute},
	{middleware.ErrURLTooLong, &Error{http.StatusRequestURITooLong, "rest_uri_too_long", "The request address is longer than 8 KiB"}},
	{middleware.ErrBodyTooLarge, &Error{http.StatusRequestEntityTooLarge, "rest_content_too_large", "The request body is larger than 1 MiB"}},
	{middleware.ErrBodyEncoded, &Error{http.StatusUnsupportedMediaType, "rest_unsupported_media_type", "The request body is compressed; send it without Content-Encoding"}},
	{middleware.ErrBodyTimeout, &Error{http.StatusRequestTimeout, "rest_request_timeout", "The request body did not arrive in time"}},
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
	domain.CodeTimeOffExists:       {status: http.StatusConflict},
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

// Of returns the content and the shape of the response to an error.
func Of(form Form, requestID string, err error) (compat.Failure, compat.ErrorShape) {
	failure, shape := of(form, requestID, err)
	if form.Bulk && failure.Status == http.StatusBadRequest && shape == compat.ObjectError {
		shape = compat.FailedObject
	}
	return failure, shape
}

func of(form Form, requestID string, err error) (compat.Failure, compat.ErrorShape) {
	for _, f := range foreign {
		if errors.Is(err, f.err) {
			return f.as.failure()
		}
	}
	var plain *Error
	var known *domain.Error
	var limited *ratelimit.Error
	var unreadable *compat.BodyError
	switch {
	case errors.As(err, &plain):
		return plain.failure()
	case errors.As(err, &limited):
		return compat.Failure{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", Message: limited.Message}, compat.ObjectError
	case errors.As(err, &unreadable):
		return compat.Failure{Status: http.StatusBadRequest, Code: "rest_invalid_json", Message: unreadable.Message}, compat.WordPressError
	case errors.As(err, &known) && known.Code != domain.CodeUnavailable:
		return domainFailure(form, known)
	case TooLarge(err):
		return errTooLarge.failure()
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
func internalFailure(form Form, id string) (compat.Failure, compat.ErrorShape) {
	shape := form.Shape
	if shape == compat.ObjectError {
		shape = compat.WordPressError
	}
	code := cmp.Or(form.Code, "server_error")
	return compat.Failure{Status: http.StatusInternalServerError, Code: code, Message: cmp.Or(form.Failure, "Internal server error"), RequestID: id}, shape
}

func domainFailure(form Form, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	as := domainFailures[e.Code]
	failure := compat.Failure{Status: cmp.Or(as.status, http.StatusBadRequest), Code: string(e.Code), Message: e.Message, Details: details(e)}
	switch e.Code {
	case domain.CodeUnauthorized:
		if form.List {
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
func invalidRequest(form Form, e *domain.Error, failure compat.Failure) (compat.Failure, compat.ErrorShape) {
	switch {
	case form.Shape == compat.TextError:
		message := e.Message
		if len(e.Fields) > 0 {
			message = compat.PaymentFault(e.Fields)
		}
		return compat.Failure{Status: http.StatusBadRequest, Code: failure.Code, Message: message}, compat.TextError
	case form.Invalid != "":
		return compat.Failure{Status: http.StatusBadRequest, Code: form.Invalid, Message: form.Failure + ": " + fieldMessages(e.Fields), Details: e.Fields}, compat.WordPressError
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
	case e.Existing != 0:
		return compat.TimeOffDetails{ID: e.Existing}
	case e.Present != nil:
		return compat.Present(*e.Present)
	case len(e.Fields) > 0:
		return e.Fields
	default:
		return nil
	}
}

func notFound(form Form, e *domain.Error) (compat.Failure, compat.ErrorShape) {
	noun := domain.Capitalize(string(e.Resource))
	failure := compat.Failure{Status: http.StatusNotFound, Code: strings.ReplaceAll(string(e.Resource), " ", "_") + "_not_found"}
	switch {
	case form.Shape != compat.ObjectError:
		failure.Message = noun + " not found"
	case e.Resource == domain.CouponResource:
		failure.Message = fmt.Sprintf("%s with code %s was not found", noun, e.Key)
	default:
		failure.Message = fmt.Sprintf("%s with ID %s was not found", noun, e.Key)
	}
	return failure, cmp.Or(form.Unknown, form.Shape)
}

// TooLarge reports whether a request needs more memory than one may have.
func TooLarge(err error) bool {
	return errors.Is(err, wpdb.ErrTooMuch) || errors.Is(err, wpdb.ErrTooManyRows)
}

// ErrPartlyWritten is the error of a request that failed after part of it was written.
var ErrPartlyWritten = errors.New("a part of the request was written")

// Written returns what a write that is answered with 503 has left behind. Each write is one transaction, which leaves nothing
// unless its COMMIT was sent; only a bulk request has several, see ErrPartlyWritten.
func Written(method string, status int, err error) compat.WriteOutcome {
	writes := method == http.MethodPost || method == http.MethodPut || method == http.MethodDelete
	switch {
	case !writes || status != http.StatusServiceUnavailable:
		return compat.WriteNotReported
	case errors.Is(err, wpdb.ErrOutcomeUnknown), errors.Is(err, ErrPartlyWritten):
		return compat.WriteUnknown
	default:
		return compat.NothingWritten
	}
}
