package compare

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Traffic holds the distinct requests of access logs or of a list.
type Traffic struct {
	Requests []Request
	Lines    int

	seen map[string]int // index in Requests
}

// maxRequests limits how many distinct requests are kept in memory.
const maxRequests = 500_000

func (t *Traffic) add(r Request) {
	key := r.String()
	if i, ok := t.seen[key]; ok {
		t.Requests[i].times++
	} else if len(t.Requests) < maxRequests {
		t.seen[key] = len(t.Requests)
		t.Requests = append(t.Requests, r)
	}
}

// ReadLogs reads access logs of nginx and Apache (combined, common and others with the request in quotes)
// and of Caddy (JSON), gzipped or not. Names may be patterns such as access.log*.
func ReadLogs(names []string) (*Traffic, error) {
	files, err := expand(names)
	if err != nil {
		return nil, err
	}
	t := &Traffic{seen: map[string]int{}}
	for _, name := range files {
		if err := t.readFile(name, t.readLine); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// expand returns the files that names and patterns match, each once.
func expand(names []string) ([]string, error) {
	var files []string
	for _, name := range names {
		found, err := filepath.Glob(name)
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("there is no log %s", name)
		}
		for _, f := range found {
			if !slices.Contains(files, f) {
				files = append(files, f)
			}
		}
	}
	return files, nil
}

// maxLine limits a line of a log.
const maxLine = 1 << 20

func (t *Traffic) readFile(name string, line func([]byte) error) (err error) {
	file, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("read log: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	reader, err := unzipped(bufio.NewReader(file))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	lines := bufio.NewScanner(reader)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		t.Lines++
		if err := line(bytes.TrimSpace(lines.Bytes())); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, t.Lines, err)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// unzipped unpacks input that begins like a gzip file, whatever its name.
func unzipped(r *bufio.Reader) (io.Reader, error) {
	if begin, _ := r.Peek(2); !bytes.Equal(begin, []byte{0x1f, 0x8b}) {
		return r, nil
	}
	return gzip.NewReader(r)
}

// quotedRequest finds the request in a line of nginx or Apache. Both escape a quote inside it.
var quotedRequest = regexp.MustCompile(`"([A-Z]+) ((?:[^"\\ ]|\\.)+) HTTP/[0-9.]+"`)

// readLine adds the request in a line of a log, if there is one.
func (t *Traffic) readLine(line []byte) error {
	var entry struct{ Request struct{ Method, URI string } }
	if bytes.HasPrefix(line, []byte("{")) {
		_ = json.Unmarshal(line, &entry) // a truncated one has no URI
	} else if m := quotedRequest.FindSubmatch(line); m != nil {
		entry.Request.Method, entry.Request.URI = string(m[1]), unescapeLog(string(m[2]))
	}
	if r, ok := parseURI(entry.Request.URI); ok && entry.Request.Method == http.MethodGet {
		t.add(r)
	}
	return nil
}

var logEscape = regexp.MustCompile(`\\x([0-9A-Fa-f]{2})|\\(.)`)

// unescapeLog decodes \\x22 and \\" as logs write them in a URI.
func unescapeLog(uri string) string {
	return logEscape.ReplaceAllStringFunc(uri, func(escape string) string {
		if len(escape) == 4 {
			return "%" + escape[2:]
		}
		return escape[1:]
	})
}

// ReadList reads a list of requests: on each line a path below the API, a path of the site or a URL, with
// or without GET in front. Lines that begin with # are comments.
func ReadList(name string) (*Traffic, error) {
	t := &Traffic{seen: map[string]int{}}
	err := t.readFile(name, func(line []byte) error {
		text := strings.TrimSpace(strings.TrimPrefix(string(line), "GET "))
		if text == "" || text[0] == '#' {
			return nil
		}
		r, ok := parseURI(text)
		if !ok && text[0] == '/' {
			r, ok = parseURI(apiPath + text)
		}
		if !ok {
			return errors.New("it is neither a path nor a GET of the API")
		}
		t.add(r)
		return nil
	})
	return t, err
}

// Pick returns at most most requests (0 for all), taking turns between all routes and combinations of
// parameters, frequent ones first, so that an interrupted run has seen each of them.
func (t *Traffic) Pick(routes []string, most int) []Request {
	groups := map[string][]Request{}
	var names []string
	for _, r := range t.Requests {
		key := shape(routes, r)
		if groups[key] == nil {
			names = append(names, key)
		}
		groups[key] = append(groups[key], r)
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b Request) int { return cmp.Compare(b.times, a.times) })
	}
	var picked []Request
	for round := 0; ; round++ {
		before := len(picked)
		for _, name := range names {
			if most > 0 && len(picked) == most {
				return picked
			}
			if g := groups[name]; round < len(g) {
				picked = append(picked, g[round])
			}
		}
		if len(picked) == before {
			return picked
		}
	}
}

// shape is a request without its values: the route and the names of its parameters.
func shape(routes []string, r Request) string {
	return routeOf(routes, r.path) + "?" + strings.Join(slices.Sorted(maps.Keys(r.query)), "&")
}
