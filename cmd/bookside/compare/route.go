package compare

import (
	"path"
	"regexp"
	"strings"
)

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// otherPaths stands for requests to paths that the API does not have.
const otherPaths = "(other paths)"

// routeOf returns the route of a path, such as /bookings/{id}. A fixed segment wins over a placeholder.
func routeOf(routes []string, requested string) string {
	found := otherPaths
	for _, r := range routes {
		if fits, _ := path.Match(placeholder.ReplaceAllString(r, "*"), requested); fits && (found == otherPaths || strings.Count(r, "{") < strings.Count(found, "{")) {
			found = r
		}
	}
	return found
}
