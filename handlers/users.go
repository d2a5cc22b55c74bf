package handlers

import (
	"bytes"
	"context"
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/bookside/bookside/adapter/keys"
)

// userEntry is the context key of the rights of the WordPress user for whom a request is made.
type userEntry struct{}

// userOf returns the rights of the WordPress user for whom a request is made, and whether there is one.
func userOf(ctx context.Context) (keys.Key, bool) {
	user, ok := ctx.Value(userEntry{}).(keys.Key)
	return user, ok
}

// AskFor sends a request to the API within the process, for a WordPress user and without a key: its rights are those
// of user, whose kind is keys.User. The target is a path with a query. It returns the response, which may be a refusal.
func AskFor(ctx context.Context, api http.Handler, user keys.Key, method, target string, body []byte) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(context.WithValue(ctx, userEntry{}, user), method, target, bytes.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("ask for a user: %w", err)
	}
	request.RequestURI = target
	if len(body) > 0 {
		request.Header.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	}
	response := bufferedAnswer{header: http.Header{}, status: http.StatusOK}
	api.ServeHTTP(&response, request)
	return response.status, response.body.Bytes(), nil
}
