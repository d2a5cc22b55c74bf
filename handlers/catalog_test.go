package handlers_test

import (
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/bookside/bookside/handlers"
)

// TestCatalogsLeadToDocuments follows the links of the API catalog and of llms.txt, at the root and under
// every base path, as a client behind a proxy sees them.
func TestCatalogsLeadToDocuments(t *testing.T) {
	t.Parallel()
	_, proxy, err := net.ParseCIDR("192.0.2.0/24") // the address of httptest's requests
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, small(t), func(o *handlers.Options) { o.TrustedProxies = []*net.IPNet{proxy} })
	secure := http.Header{"X-Forwarded-Proto": {"https"}}
	routes := s.described().Paths.Map()
	for base, servers := range map[string]int{"": 2, "/v1": 1, "/wp-json/latepoint-api/v1": 1} {
		catalog := s.do(http.MethodGet, base+"/.well-known/api-catalog", secure).want(http.StatusOK)
		if typ := catalog.header.Get("Content-Type"); typ != `application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"` {
			t.Errorf("%s: Content-Type %q", base, typ)
		}
		head := s.do(http.MethodHead, base+"/.well-known/api-catalog", secure).want(http.StatusOK)
		if link := head.header.Get("Link"); link != "<https://example.com"+base+`/.well-known/api-catalog>; rel="api-catalog"` {
			t.Errorf("%s: Link %q", base, link)
		}
		links := 0
		for _, entry := range catalog.at("linkset").([]any) {
			anchor := entry.(map[string]any)["anchor"].(string)
			if base != "" && anchor != "https://example.com"+base {
				t.Errorf("%s: anchor %s", base, anchor)
			}
			for _, relation := range []string{"service-desc", "service-doc"} {
				for _, link := range entry.(map[string]any)[relation].([]any) {
					target := link.(map[string]any)
					path, ok := strings.CutPrefix(target["href"].(string), "https://example.com")
					if !ok || !strings.HasPrefix(target["href"].(string), anchor+"/") {
						t.Errorf("%s: link to %v", anchor, target)
					}
					typ := s.do(http.MethodGet, path, nil).want(http.StatusOK).header.Get("Content-Type")
					if !strings.HasPrefix(typ, target["type"].(string)) {
						t.Errorf("%s is %s, want %v", path, typ, target["type"])
					}
					links++
				}
			}
		}
		if links != 4*servers {
			t.Errorf("%s: %d links", base, links)
		}

		text := string(s.do(http.MethodGet, base+"/llms.txt", secure).want(http.StatusOK).body)
		if !strings.HasPrefix(text, "# Bookside API\n\n> ") || strings.Contains(text, "origin:") {
			t.Errorf("%s: %.300s", base, text)
		}
		found := regexp.MustCompile(`\]\(https://example\.com([^)]+)\)`).FindAllStringSubmatch(text, -1)
		if len(found) != 3*servers {
			t.Errorf("%s: links %q", base, found)
		}
		for _, link := range found {
			s.do(http.MethodGet, link[1], nil).want(http.StatusOK)
		}
		for path, item := range routes {
			for method, operation := range item.Operations() {
				if line := "\n- `" + method + " " + path + "`: " + operation.Summary + "\n"; !strings.Contains(text, line) {
					t.Errorf("%s/llms.txt has no line %q", base, line)
				}
			}
		}
	}
	if text := s.do(http.MethodGet, "/llms.txt", nil).want(http.StatusOK).body; !strings.Contains(string(text), "(http://example.com/v1/docs)") {
		t.Errorf("without a proxy: %.500s", text)
	}
}
