package handlers

import (
	"context"
	"net/http"

	"github.com/bookside/bookside/adapter/keys"
)

// userEntry is the context key of the rights of whoever a request is made for without a key.
type userEntry struct{}

// userOf returns the rights of the WordPress user or the administrator for whom a request is made, and whether there is one.
func userOf(ctx context.Context) (keys.Key, bool) {
	user, ok := ctx.Value(userEntry{}).(keys.Key)
	return user, ok
}

// AskFor sends a request to the API within the process, for a WordPress user or an administrator of the console and without
// a key: its rights are those of user, whose kind is keys.User or keys.Admin. It returns the response, which may be a refusal.
func AskFor(api http.Handler, user keys.Key, r *http.Request) (status int, header http.Header, body []byte) {
	r = r.WithContext(context.WithValue(r.Context(), userEntry{}, user))
	r.RequestURI = r.URL.RequestURI()
	response := bufferedAnswer{header: http.Header{}, status: http.StatusOK}
	api.ServeHTTP(&response, r)
	return response.status, response.header, response.body.Bytes()
}
