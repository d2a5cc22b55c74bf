package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/keys"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/compat"
	"github.com/bookside/bookside/handlers/failures"
	"github.com/bookside/bookside/handlers/mcp"
	"github.com/bookside/bookside/handlers/middleware"
)

// Tools for AI agents at /mcp. A tool calls operations of the API within the process: with the request's
// key, through the same checks and the same code as a request to their routes, see endpoint.

// mcpRoute is how requests to the tools appear in the log and in metrics.
var mcpRoute = route{tag: "mcp", method: http.MethodPost, path: "/mcp", operation: operation{id: "mcp"}}

// maxMessage is the limit of a message in bytes.
const maxMessage = 32 << 10

var (
	// errMessageTooLarge is the error for a message larger than maxMessage.
	errMessageTooLarge = &failures.Error{Status: http.StatusRequestEntityTooLarge, Code: "rest_content_too_large", Message: "The message is larger than 32 KiB"}
	// errManyMessages is the error for a batch, which old versions of the protocol allow.
	errManyMessages = &failures.Error{Status: http.StatusBadRequest, Code: "rest_invalid_json", Message: "Send one message per request"}
	// errForeignOrigin is the error for a page of an origin that is not allowed.
	errForeignOrigin = &failures.Error{Status: http.StatusForbidden, Code: "origin_not_allowed", Message: "Pages of this origin may not call the API; server.cors_origins lists those that may"}
)

// protocolHeaders are the headers that clients of the protocol send.
var protocolHeaders = []string{"Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name", "Last-Event-ID"}

// addMCP serves the tools at the root.
func (a *api) addMCP(e *echo.Echo) {
	protocol := sync.OnceValue(func() http.Handler { return mcp.New(a.options.Version) })
	e.POST(mcpRoute.path, func(c echo.Context) error { return a.serveMCP(c, protocol()) },
		mcpRoute.set, a.checkOrigin, a.authenticate, a.permit(""))
	// The protocol requires 405 from a server that neither streams nor has sessions.
	e.Match([]string{http.MethodGet, http.MethodHead, http.MethodDelete}, mcpRoute.path, func(c echo.Context) error {
		c.Response().Header().Set(echo.HeaderAllow, http.MethodPost)
		return c.NoContent(http.StatusMethodNotAllowed)
	}, mcpRoute.set)
}

// checkOrigin rejects pages of origins other than those that may call the API. The page's own host proves
// nothing: its name may have been pointed here (DNS rebinding).
func (a *api) checkOrigin(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		origin, allowed := c.Request().Header.Get(echo.HeaderOrigin), a.options.AllowedOrigins
		if origin != "" && !slices.Contains(allowed, origin) && !slices.Contains(allowed, "*") {
			return errForeignOrigin
		}
		return next(c)
	}
}

// serveMCP passes a message to the protocol, and sends its response.
func (a *api) serveMCP(c echo.Context, protocol http.Handler) error {
	if c.Request().ContentLength > maxMessage {
		return errMessageTooLarge
	}
	message, err := middleware.ReadAll(c, maxMessage)
	if errors.Is(err, middleware.ErrBodyTooLarge) {
		return errMessageTooLarge
	}
	if err != nil {
		return err
	}
	if bytes.HasPrefix(bytes.TrimSpace(message), []byte("[")) {
		return errManyMessages
	}
	principal, _ := principalOf(c)
	caller := &toolCaller{api: a, echo: c, principal: principal}
	// The protocol must not respond before the operations have ended, because they use c. Their own context
	// ends with the request.
	request := c.Request().Clone(mcp.WithCaller(context.WithoutCancel(c.Request().Context()), caller))
	request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	answer := bufferedAnswer{header: http.Header{}, status: http.StatusOK}
	protocol.ServeHTTP(&answer, request)
	if answer.body.Len() == 0 {
		return c.NoContent(answer.status)
	}
	return c.Blob(answer.status, answer.header.Get(echo.HeaderContentType), answer.body.Bytes())
}

// bufferedAnswer is a response within the process.
type bufferedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (b *bufferedAnswer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *bufferedAnswer) WriteHeader(status int) { b.status = status }

// Write implements http.ResponseWriter.
func (b *bufferedAnswer) Write(text []byte) (int, error) { return b.body.Write(text) }

// toolCaller calls operations on behalf of a request's key.
type toolCaller struct {
	api       *api
	echo      echo.Context // of the request
	principal keys.Principal
	spent     int64 // what its calls cost, in requests
	wrote     bool
}

// Lacks implements mcp.Caller.
func (t *toolCaller) Lacks(operation string) string {
	if permission := t.api.endpoints[operation].route.permission; !t.principal.Holds(permission) {
		return permission
	}
	return ""
}

// Call implements mcp.Caller.
func (t *toolCaller) Call(call mcp.Call) (mcp.Answer, error) {
	p, known := t.api.endpoints[call.Operation]
	if !known {
		return mcp.Answer{}, t.failure(t.echo, fmt.Errorf("no operation %q", call.Operation))
	}
	body := &bufferedAnswer{header: http.Header{}}
	inner, err := t.request(p.route, call, body)
	if err != nil {
		return mcp.Answer{}, t.failure(t.echo, err)
	}
	query := compat.ParseQuery(inner.Request().URL.RawQuery)
	err = t.principal.Require(p.route.permission)
	if err == nil {
		err = t.charge(p.route.requests(query))
	}
	if err == nil {
		err = t.api.operate(p, inner, query)
	}
	if err != nil {
		return mcp.Answer{}, t.failure(inner, err)
	}
	t.wrote = t.wrote || p.route.method != http.MethodGet
	return mcp.Answer{Body: body.body.Bytes(), Replayed: body.header.Get(replayedHeader) != "", Warnings: warningsIn(body.header)}, nil
}

// warningsIn returns the texts of warnings.
func warningsIn(header http.Header) (texts []string) {
	for _, warning := range header.Values(warningHeader) {
		_, quoted, _ := strings.Cut(warning, "bookside ")
		if text, err := strconv.Unquote(quoted); err == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// charge counts a call, so that a tool costs what the requests to its routes would cost.
func (t *toolCaller) charge(cost int64) error {
	if err := t.api.limiter.Charge(t.echo, t.spent+cost); err != nil {
		return err
	}
	t.spent += cost
	return nil
}

// request returns a request for a call, with the same origin as the message.
func (t *toolCaller) request(r *route, call mcp.Call, w http.ResponseWriter) (echo.Context, error) {
	outer := t.echo.Request()
	var body []byte
	if call.Body != nil {
		var err error
		if body, err = encodeBody(call.Body); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(t.context(), r.method, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.URL.RawQuery, request.RemoteAddr = call.Query.Encode(), outer.RemoteAddr
	request.Header[echo.HeaderXForwardedFor] = outer.Header[echo.HeaderXForwardedFor]
	if call.Body != nil {
		request.Header.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	}
	if call.IdempotencyKey != "" {
		request.Header.Set(idempotencyKey, call.IdempotencyKey)
		if r.method != http.MethodPost {
			request.Header.Set(ifMatchHeader, "*") // otherwise the key would have no effect, see mayBeNamed
		}
	}
	c := t.echo.Echo().NewContext(request, w)
	c.SetPath(mcpRoute.path)
	c.Response().Header().Set(middleware.RequestIDHeader, middleware.RequestID(t.echo))
	c.Set(routeEntry, r)
	c.Set(principalEntry, t.principal)
	if call.ID != 0 {
		c.SetParamNames(r.operation.path[0].name)
		c.SetParamValues(strconv.FormatInt(call.ID, 10))
	}
	return c, nil
}

// failure logs and counts the error of a call like that of a request, and returns what the tool may know
// about it.
func (t *toolCaller) failure(c echo.Context, err error) error {
	t.api.countRejection(c, err)
	described, _ := t.api.describe(c, err)
	t.echo.Set(codeEntry, described.Code)
	t.api.logFailure(c, described, err)
	f := &mcp.CallError{
		Code: described.Code, Message: described.Message, RetryAfter: c.Response().Header().Get(retryAfterHeader),
		RequestID: described.RequestID, Unknown: described.Written == compat.WriteUnknown,
	}
	if described.Details != nil {
		if f.Details, err = json.Marshal(described.Details); err != nil {
			return t.failure(c, err)
		}
	}
	return f
}

// Clock implements mcp.Caller.
func (t *toolCaller) Clock() (zone string, now time.Time, err error) {
	err = t.api.platform.Serve(t.context(), t.principal, func(site *session.Session) error {
		zone, now = site.Zone.Name, site.Now.In(site.Zone.Location)
		return nil
	})
	if err != nil {
		return "", time.Time{}, t.failure(t.echo, err)
	}
	return zone, now, nil
}

// Report implements mcp.Caller.
func (t *toolCaller) Report(fault any) error {
	t.api.log.LogAttrs(t.context(), slog.LevelError, "fault in a tool",
		slog.String("request_id", middleware.RequestID(t.echo)), slog.Any("fault", fault), slog.String("stack", string(debug.Stack())))
	return t.failure(t.echo, fmt.Errorf("fault in a tool: %v", fault))
}

func (t *toolCaller) context() context.Context { return t.echo.Request().Context() }

// Called implements mcp.Caller.
func (t *toolCaller) Called(tool string, failed bool) {
	outcome := "ok"
	if failed {
		outcome = "error"
	}
	t.echo.Set(toolEntry, tool)
	t.api.metrics.Tools.WithLabelValues(tool, outcome).Inc()
}

// toolEntry is set in a request's context to the name of the tool that it called.
const toolEntry = "bookside.tool"
