package notify

import (
	"bytes"

	"github.com/bookside/bookside/adapter/text"
)

// MarshalJSON encodes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		key, err := text.EncodeJSON(m.key)
		if err != nil {
			return nil, err
		}
		value, err := text.EncodeJSON(m.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
