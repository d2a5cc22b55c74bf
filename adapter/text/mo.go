package text

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A gettext library would bring plural rules and its own way to find files; all we need of the format is
// two tables of lengths and offsets.

var errMalformed = errors.New("not a translation file (.mo) of gettext")

// magic is the first number of a .mo file, in the byte order of all its numbers.
const magic = 0x950412de

// headerSize is the length of seven numbers.
const headerSize = 28

// ParseMO reads the translations in a .mo file. A context precedes its text. A plural is translated by the last
// form of its text, and its singular by the first, which is right for languages that have two, as English and
// German do.
func ParseMO(file []byte) (Texts, error) {
	if len(file) < headerSize {
		return nil, errMalformed
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(file) != magic {
		order = binary.BigEndian
	}
	if order.Uint32(file) != magic || order.Uint32(file[4:])>>16 > 1 {
		return nil, errMalformed
	}
	content := string(file) // all texts share it
	count, originals, translations := int64(order.Uint32(file[8:])), int64(order.Uint32(file[12:])), int64(order.Uint32(file[16:]))
	forms := func(table, i int64) ([]string, bool) {
		at := table + 8*i
		if at+8 > int64(len(file)) {
			return nil, false
		}
		length, offset := int64(order.Uint32(file[at:])), int64(order.Uint32(file[at+4:]))
		if offset+length > int64(len(file)) {
			return nil, false
		}
		return strings.Split(content[offset:offset+length], "\x00"), true
	}
	texts, plurals := Texts{}, Texts{}
	for i := range count {
		original, ok := forms(originals, i)
		translated, also := forms(translations, i)
		if !ok || !also {
			return nil, fmt.Errorf("%w: a text is outside of the file", errMalformed)
		}
		for n, text := range original {
			form, into := translated[0], texts
			if n > 0 {
				form, into = translated[len(translated)-1], plurals
			}
			switch {
			case !utf8.ValidString(form):
				return nil, fmt.Errorf("%w: not UTF-8", errMalformed)
			case text != "" && form != "": // the first is the header
				into[text] = form
			}
		}
	}
	for plural, form := range plurals {
		if _, known := texts[plural]; !known { // as a text by itself
			texts[plural] = form
		}
	}
	return texts, nil
}
