package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// EncodePHP encodes JSON as wp_json_encode does: slashes escaped, everything beyond ASCII as \u escapes,
// and <, > and & unescaped. The value's own MarshalJSON methods must not escape these three either.
func EncodePHP(v any) (string, error) {
	encoded, err := EncodeJSON(v)
	if err != nil {
		return "", fmt.Errorf("encode JSON: %w", err)
	}
	var out strings.Builder
	for _, r := range string(encoded) {
		switch {
		case r == '/':
			out.WriteString(`\/`)
		case r < 0x80:
			out.WriteByte(byte(r))
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String(), nil
}

// EncodeJSON encodes JSON in one line without escapes for HTML.
func EncodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
