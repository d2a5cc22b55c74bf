package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer is a completely read response.
type answer struct {
	status int
	header http.Header
	json   value
	body   string
	isJSON bool
}

// Side is one of the two servers.
type Side struct {
	base   *url.URL
	key    string
	client *http.Client
}

// maxBody limits the size of a response.
const maxBody = 64 << 20

// requestTimeout limits a request.
const requestTimeout = time.Minute

// NewSide returns the server at a URL: that of a site, of an API below any path, or with rest_route for a
// site without permalinks.
func NewSide(address, key string) (*Side, error) {
	base, err := url.Parse(strings.TrimSpace(address))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https":
		return nil, errors.New("it must be a URL such as https://example.com")
	case base.User != nil || base.Fragment != "":
		return nil, errors.New("it must be a URL without a user and without #")
	case base.RawQuery != "" && (base.Query().Get("rest_route") == "" || len(base.Query()) > 1):
		return nil, errors.New("the only query it can have is ?rest_route=/latepoint-api/v1")
	case key == "":
		return nil, errors.New("the key is empty")
	}
	base.Path = strings.TrimRight(base.Path, "/")
	if base.RawQuery == "" && !strings.HasSuffix(base.Path, "/v1") {
		base.Path += apiPath
	}
	client := &http.Client{
		Timeout: requestTimeout,
		// A redirect could send the key elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &Side{base: base, key: key, client: client}, nil
}

func (s *Side) url(path string, query url.Values) string {
	u := *s.base
	values := maps.Clone(query)
	if route := s.base.Query().Get("rest_route"); route != "" {
		unescaped, err := url.PathUnescape(path)
		if err != nil {
			unescaped = path
		}
		u.Path += "/"
		values.Set("rest_route", strings.TrimRight(route, "/")+unescaped)
	} else {
		full := u.EscapedPath() + path
		u.RawPath = full
		if unescaped, err := url.PathUnescape(full); err == nil {
			u.Path = unescaped
		}
	}
	u.RawQuery = values.Encode()
	return u.String()
}

// maxWaits is how often a request is sent again after a 429.
const maxWaits = 10

// get sends a GET, and sends it again after a 429 when the response says so.
func (s *Side) get(ctx context.Context, r Request) (answer, error) {
	for range maxWaits {
		a, err := s.once(ctx, s.url(r.path, r.query))
		if err != nil || a.status != http.StatusTooManyRequests {
			return a, err
		}
		if err := sleep(ctx, retryAfter(a.header)); err != nil {
			return answer{}, err
		}
	}
	return answer{}, fmt.Errorf("%s answers 429 again and again", s.base.Host)
}

// retryAfter returns how long to wait after a 429.
func retryAfter(header http.Header) time.Duration {
	const most = time.Hour
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return time.Minute
	}
	return min(most, time.Duration(seconds)*time.Second+time.Second/10)
}

func (s *Side) once(ctx context.Context, address string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, errors.New("the request cannot be built") // the error quotes the URL
	}
	request.Header.Set("X-API-Key", s.key)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "bookside-compare")
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, s.unreachable(err)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxBody+1))
	err = errors.Join(err, response.Body.Close())
	switch {
	case err != nil:
		return answer{}, s.unreachable(err)
	case len(content) > maxBody:
		return answer{}, fmt.Errorf("%s: the answer has more than %d MiB", s.base.Host, maxBody>>20)
	}
	parsed, err := parseJSON(content)
	return answer{response.StatusCode, response.Header, parsed, string(content), err == nil}, nil
}

// unreachable returns an error without the URL, which may contain personal data.
func (s *Side) unreachable(err error) error {
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("%s does not answer: %w", s.base.Host, err)
}

// sleep waits, unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
