package middleware

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// ETag returns the strong tag of a response: a hash of its body, as the key sees it.
func ETag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// ETags is a list of tags that a client sent.
type ETags struct {
	Any    bool // *
	opaque []string
}

// ParseETags reads the values of a header. It is lenient about quotes, and treats weak tags as strong ones,
// because compressing proxies weaken the tags of responses.
func ParseETags(values []string) ETags {
	var tags ETags
	for rest := strings.Join(values, ","); rest != ""; {
		rest = strings.TrimPrefix(strings.TrimLeft(rest, " \t,"), "W/")
		var tag string
		if quoted, ok := strings.CutPrefix(rest, `"`); ok {
			tag, rest, _ = strings.Cut(quoted, `"`)
		} else {
			tag, rest, _ = strings.Cut(rest, ",")
			tag = strings.TrimRight(tag, " \t")
			tags.Any = tags.Any || tag == "*"
		}
		if tag != "" {
			tags.opaque = append(tags.opaque, tag)
		}
	}
	return tags
}

// Include reports whether one of the tags is that of a response, as we sent it or as a proxy marked it:
// Apache and Caddy append the name of the compression.
func (l ETags) Include(tag string) bool {
	return l.Any || slices.ContainsFunc(l.opaque, func(sent string) bool {
		sent, _, _ = strings.Cut(sent, "-")
		return `"`+sent+`"` == tag
	})
}
