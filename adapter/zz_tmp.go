package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

var process tmpProcess

type tmpProcess struct{}

func (tmpProcess) EncodePHP(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	var out strings.Builder
	for _, r := range strings.ReplaceAll(strings.TrimSuffix(b.String(), "\n"), "/", `\/`) {
		switch {
		case r < 0x80:
			out.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r>>10), 0xdc00+(r&0x3ff))
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String(), nil
}

func (tmpProcess) FormatDate(t time.Time, f string) string {
	return t.Format(strings.NewReplacer("m", "01", "d", "02", "Y", "2006", "H", "15", "i", "04", "g", "3", "a", "pm").Replace(f))
}

func (s *Site) announce(ctx context.Context, w writing, events []event, immediate bool) (bool, error) {
	return false, nil
}
