package compare

import (
	"slices"

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
	KeyOrder          Kind = "order of keys"      // only a remark: objects have no order
	NumberForm        Kind = "form of a number"   // only a remark: 5 and 5.0 are one number
)

// remark reports whether only very strict clients notice this kind.
func (k Kind) remark() bool { return k == KeyOrder || k == NumberForm }

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

// exact names the place in this response.
func (d difference) exact() string {
	if d.kind == StatusDiffers || d.kind == HeaderDiffers {
		return d.path()
	}
	return d.at.exact()
}

// differ compares two JSON values by structure. Patch libraries, such as wI2L/jsondiff, compare lists by
// position, so that one additional record changes all after it, and they lose the order of keys and the
// digits of numbers.
type differ struct {
	// same reports whether two unequal scalars are equivalent; nil for never.
	same  func(at location, php, bookside value) bool
	found []difference
}

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
		if php.integer() != bookside.integer() {
			d.add(NumberForm, at, php, bookside)
		}
	case scalars && d.same != nil && d.same(at, php, bookside):
	case php.kind != bookside.kind:
		d.add(TypeDiffers, at, php, bookside)
	case scalars:
		d.add(ValueDiffers, at, php, bookside)
	case php.kind == jsontext.KindBeginArray:
		d.members(at, php, bookside, MissingElement, AdditionalElement, OrderDiffers)
	default:
		d.members(at, php, bookside, MissingKey, AdditionalKey, KeyOrder)
	}
}

// members compares objects by member name, lists of records by id, so that one additional record is one
// difference, and other lists by position.
func (d *differ) members(at location, php, bookside value, missing, additional, order Kind) {
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
	if !slices.Equal(shared, booksideOrder) {
		d.add(order, at, listOfTexts(shared), listOfTexts(booksideOrder))
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

// element returns the identity of a missing or additional element.
func (d difference) element() (id string, ok bool) {
	if d.kind == MissingElement {
		return identity(d.php)
	}
	return identity(d.bookside)
}

// positions returns the position of each text.
func positions(texts []string) map[string]int {
	at := make(map[string]int, len(texts))
	for i, text := range texts {
		at[text] = i
	}
	return at
}
