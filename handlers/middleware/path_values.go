package middleware

import (
	"fmt"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
)

// PathValues are the parameters of a request's path.
type PathValues struct {
	names, values []string
	escaped       bool // echo leaves values encoded if the path contains a non-standard escape, for example that of a slash
}

// String returns distinct texts for distinct values, even if one is the encoded form of another.
func (p PathValues) String() string {
	if len(p.values) == 0 {
		return "[]"
	}
	text := fmt.Sprintf("%q", p.values)
	if p.escaped {
		text += " escaped"
	}
	return text
}

// PathValuesOf copies the parameters of a path, because echo reuses their memory.
func PathValuesOf(c echo.Context) PathValues {
	if len(c.ParamNames()) == 0 {
		return PathValues{}
	}
	return PathValues{slices.Clone(c.ParamNames()), slices.Clone(c.ParamValues()), c.Request().URL.RawPath != ""}
}

// Encoded returns a value as it appears in the path.
func (p PathValues) Encoded(name string) string {
	if i := slices.Index(p.names, name); i >= 0 {
		return p.values[i]
	}
	return ""
}

// Decoded returns a value without its escapes.
func (p PathValues) Decoded(name string) string {
	text := p.Encoded(name)
	if !p.escaped {
		return text
	}
	decoded, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	return decoded
}
