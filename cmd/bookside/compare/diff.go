package compare

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind is how two responses differ.
type Kind string

// The kinds of differences.
const (
	StatusDiffers     Kind = "status"
	HeaderDiffers     Kind = "header"
	NotJSON           Kind = "body"               // one is not JSON, or both are different texts
	MissingKey        Kind = "missing key"        // only PHP has it
	AdditionalKey     Kind = "additional key"     // only Bookside has it
	TypeDiffers       Kind = "type"               //
	ValueDiffers      Kind = "value"              //
	MissingElement    Kind = "missing element"    // of a list
	AdditionalElement Kind = "additional element" //
	OrderDiffers      Kind = "order of a list"    //
)

// difference is one place where Bookside's response differs from PHP's.
type difference struct {
	kind          Kind
	at            location
	php, bookside value
}

// path names the place across all responses of a route.
func (d difference) path() string {
	switch d.kind {
	case StatusDiffers:
		return "status"
	case HeaderDiffers:
		return d.at[0].name
	default:
		return d.at.path()
	}
}

// answerDifferences returns how two responses differ: in the status, or else in the headers that clients can
// rely on and in the JSON.
func answerDifferences(php, bookside answer) (found []difference) {
	if php.status != bookside.status {
		return []difference{{StatusDiffers, nil, numberValue(php.status), numberValue(bookside.status)}}
	}
	for _, name := range comparedHeaders {
		if a, b := headerText(php.header, name), headerText(bookside.header, name); a != b {
			found = append(found, difference{HeaderDiffers, location{}.member(name), textValue(a), textValue(b)})
		}
	}
	switch {
	case php.isJSON && bookside.isJSON:
		found = append(found, differencesOf(php.json, bookside.json)...)
	case php.body != bookside.body:
		found = append(found, difference{NotJSON, nil, textValue(php.body), textValue(bookside.body)})
	}
	return found
}

// comparedHeaders are the headers that clients can rely on.
var comparedHeaders = []string{"Content-Type", "Content-Disposition", "Location", "Link", "WWW-Authenticate", "Retry-After", "X-WP-Total", "X-WP-TotalPages"}

// headerText returns a header in a form that is equal for equal meanings: media types have no letter case,
// and JSON is always UTF-8.
func headerText(header http.Header, name string) string {
	text := strings.Join(header.Values(name), ", ")
	if name != "Content-Type" {
		return text
	}
	kind, parameters, err := mime.ParseMediaType(text)
	if err != nil || kind == "application/json" {
		return strings.ToLower(kind)
	}
	return mime.FormatMediaType(kind, parameters)
}

// differ compares two JSON values by structure. Patch libraries, such as wI2L/jsondiff, compare lists by
// position, so that one additional record changes all after it, and they lose the digits of numbers.
type differ struct{ found []difference }

// differencesOf returns how two values differ.
func differencesOf(php, bookside value) []difference {
	var d differ
	d.compare(nil, php, bookside)
	return d.found
}

func (d *differ) add(kind Kind, at location, php, bookside value) {
	d.found = append(d.found, difference{kind, at, php, bookside})
}

func (d *differ) compare(at location, php, bookside value) {
	scalars := php.scalar() && bookside.scalar()
	switch {
	case scalars && php.kind == bookside.kind && php.equal(bookside):
	case php.kind != bookside.kind:
		d.add(TypeDiffers, at, php, bookside)
	case scalars:
		d.add(ValueDiffers, at, php, bookside)
	case php.kind == jsontext.KindBeginArray:
		d.members(at, php, bookside, MissingElement, AdditionalElement)
	default:
		d.members(at, php, bookside, MissingKey, AdditionalKey)
	}
}

// members compares objects by member name, lists of records by id, so that one additional record is one
// difference, and other lists by position.
func (d *differ) members(at location, php, bookside value, missing, additional Kind) {
	phpKeys, okPHP := identities(php)
	booksideKeys, okBookside := identities(bookside)
	if !okPHP || !okBookside {
		phpKeys, booksideKeys = php.names(), bookside.names()
	}
	inPHP, inBookside := positions(phpKeys), positions(booksideKeys)
	var shared, booksideOrder []string
	for i, key := range phpKeys {
		place := at.inside(php, i)
		j, ok := inBookside[key]
		if !ok {
			d.add(missing, place, php.members[i].value, value{})
			continue
		}
		shared = append(shared, key)
		d.compare(place, php.members[i].value, bookside.members[j].value)
	}
	for j, key := range booksideKeys {
		if _, ok := inPHP[key]; !ok {
			d.add(additional, at.inside(bookside, j), value{}, bookside.members[j].value)
			continue
		}
		booksideOrder = append(booksideOrder, key)
	}
	if php.kind == jsontext.KindBeginArray && !slices.Equal(shared, booksideOrder) { // objects have no order
		d.add(OrderDiffers, at, listOfTexts(shared), listOfTexts(booksideOrder))
	}
}

// identities returns what identifies each element of a list: the id or the code of a record, or a scalar
// itself. ok is false for objects, for other elements, and if two are the same.
func identities(v value) (all []string, ok bool) {
	for _, m := range v.members {
		id, ok := identity(m.value)
		if !ok || v.kind == jsontext.KindBeginObject {
			return nil, false
		}
		all = append(all, id)
	}
	return all, len(positions(all)) == len(all)
}

func identity(element value) (id string, ok bool) {
	if element.kind == jsontext.KindBeginObject {
		id := element.at("id")
		if id.kind == 0 {
			id = element.at("code")
		}
		element = id
	}
	return element.text, element.scalar()
}

// isElement reports a missing or additional element of a list.
func (d difference) isElement() bool { return d.kind == MissingElement || d.kind == AdditionalElement }

// positions returns the position of each text.
func positions(texts []string) map[string]int {
	at := make(map[string]int, len(texts))
	for i, text := range texts {
		at[text] = i
	}
	return at
}
