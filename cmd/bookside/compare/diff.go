package compare

import (
	"slices"
	"strconv"
)

// Kind is how two answers differ.
type Kind string

// The kinds of differences.
const (
	StatusDiffers     Kind = "status"
	HeaderDiffers     Kind = "header"
	NotJSON           Kind = "body"               // one of them is no JSON, or both are texts that differ
	MissingKey        Kind = "missing key"        // that PHP has and Bookside lacks
	AdditionalKey     Kind = "additional key"     // that only Bookside has
	TypeDiffers       Kind = "type"               //
	ValueDiffers      Kind = "value"              //
	MissingElement    Kind = "missing element"    // of a list
	AdditionalElement Kind = "additional element" //
	OrderDiffers      Kind = "order of a list"    //
	KeyOrder          Kind = "order of keys"      // only a remark: objects have no order
	NumberForm        Kind = "form of a number"   // only a remark: 5 and 5.0 are one number
)

// remark reports a kind that clients do not notice, unless they are very strict.
func (k Kind) remark() bool { return k == KeyOrder || k == NumberForm }

// difference is one place where the answer of Bookside is not that of PHP.
type difference struct {
	kind          Kind
	at            location
	php, bookside *value // nil for none
}

// path names the place among all answers of a route.
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

// exact names the place in this answer.
func (d difference) exact() string {
	if d.kind == StatusDiffers || d.kind == HeaderDiffers {
		return d.path()
	}
	return d.at.exact()
}

// differ compares two values of JSON by their structure.
type differ struct {
	// same reports whether two scalars that are not equal mean the same; nil for never.
	same  func(at location, php, bookside value) bool
	found []difference
}

// differencesOf returns how two values differ.
func differencesOf(php, bookside value) []difference {
	var d differ
	d.compare(nil, php, bookside)
	return d.found
}

func (d *differ) add(kind Kind, at location, php, bookside *value) {
	d.found = append(d.found, difference{kind, at, php, bookside})
}

func (d *differ) compare(at location, php, bookside value) {
	switch {
	case php.scalar() && bookside.scalar() && php.kind == bookside.kind && php.equal(bookside):
		if php.integer() != bookside.integer() {
			d.add(NumberForm, at, &php, &bookside)
		}
	case php.scalar() && bookside.scalar() && d.same != nil && d.same(at, php, bookside):
	case php.kind != bookside.kind:
		d.add(TypeDiffers, at, &php, &bookside)
	case php.kind == kindList:
		d.lists(at, php, bookside)
	case php.kind == kindObject:
		d.objects(at, php, bookside)
	default:
		d.add(ValueDiffers, at, &php, &bookside)
	}
}

func (d *differ) objects(at location, php, bookside value) {
	var shared []string
	for _, m := range php.members {
		other, ok := bookside.get(m.name)
		if !ok {
			d.add(MissingKey, at.member(m.name), &m.value, nil)
			continue
		}
		shared = append(shared, m.name)
		d.compare(at.member(m.name), m.value, other)
	}
	var order []string
	for _, m := range bookside.members {
		if php.index(m.name) < 0 {
			d.add(AdditionalKey, at.member(m.name), nil, &m.value)
			continue
		}
		order = append(order, m.name)
	}
	if !slices.Equal(shared, order) {
		d.add(KeyOrder, at, namesOf(shared), namesOf(order))
	}
}

func namesOf(names []string) *value {
	list := value{kind: kindList}
	for _, name := range names {
		list.list = append(list.list, textValue(name))
	}
	return &list
}

// lists compares lists of records by their ids, so that one record more is one difference,
// and other lists by position.
func (d *differ) lists(at location, php, bookside value) {
	phpIDs, okPHP := identities(php.list)
	booksideIDs, okBookside := identities(bookside.list)
	if !okPHP || !okBookside {
		d.byPosition(at, php, bookside)
		return
	}
	inBookside, inPHP := positions(booksideIDs), positions(phpIDs)
	var shared []string
	for i, id := range phpIDs {
		j, ok := inBookside[id]
		if !ok {
			d.add(MissingElement, at.element(i), &php.list[i], nil)
			continue
		}
		shared = append(shared, id)
		d.compare(at.element(i), php.list[i], bookside.list[j])
	}
	var order []string
	for j, id := range booksideIDs {
		if _, ok := inPHP[id]; !ok {
			d.add(AdditionalElement, at.element(j), nil, &bookside.list[j])
			continue
		}
		order = append(order, id)
	}
	if !slices.Equal(shared, order) {
		d.add(OrderDiffers, at, namesOf(shared), namesOf(order))
	}
}

// identities returns what identifies each element: the id or the code of a record, or a
// scalar itself. ok is false if there are others or two are the same.
func identities(list []value) (all []string, ok bool) {
	seen := map[string]bool{}
	for _, v := range list {
		id, ok := identity(v)
		if !ok || seen[id] {
			return nil, false
		}
		seen[id] = true
		all = append(all, id)
	}
	return all, true
}

func identity(element value) (id string, ok bool) {
	v := element
	if v.kind == kindObject {
		if v, ok = element.get("id"); !ok {
			v, ok = element.get("code")
		}
		if !ok {
			return "", false
		}
	}
	return v.text, v.scalar()
}

// element returns the identity of a missing or additional element.
func (d difference) element() (id string, ok bool) {
	if d.kind == MissingElement {
		return identity(*d.php)
	}
	return identity(*d.bookside)
}

// positions returns where each of distinct texts stands.
func positions(texts []string) map[string]int {
	at := make(map[string]int, len(texts))
	for i, text := range texts {
		at[text] = i
	}
	return at
}

func (d *differ) byPosition(at location, php, bookside value) {
	for i := range max(len(php.list), len(bookside.list)) {
		switch {
		case i >= len(bookside.list):
			d.add(MissingElement, at.element(i), &php.list[i], nil)
		case i >= len(php.list):
			d.add(AdditionalElement, at.element(i), nil, &bookside.list[i])
		default:
			d.compare(at.element(i), php.list[i], bookside.list[i])
		}
	}
}

// numberValue returns a number as a value.
func numberValue(n int) *value { return &value{kind: kindNumber, text: strconv.Itoa(n)} }
