package journal

import (
	"fmt"
	"slices"
	"strings"
)

// Belonged holds the assignments of the bookings of a deleted record, without their customers. A booking
// about which nothing is known has a zero assignment.
type Belonged []Assignment

// within reports whether a reader who covers only some bookings saw the record: a customer with one of
// them, or an order, payment or invoice with no others.
func (b Belonged) within(r Resource, covers func(Assignment) bool) bool {
	if r == Customers {
		return slices.ContainsFunc(b, covers)
	}
	return len(b) > 0 && !slices.ContainsFunc(b, func(a Assignment) bool { return !covers(a) })
}

// text returns the assignments as they are stored: each once, as the ids of agent, service and location,
// such as "3-1-2 4-1-2".
func (b Belonged) text() string {
	var words []string
	for _, a := range b {
		words = append(words, fmt.Sprintf("%d-%d-%d", a.AgentID, a.ServiceID, a.LocationID))
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " ")
}

// belonged is the reverse of text. A malformed text counts as none.
func belonged(text string) (b Belonged) {
	for word := range strings.FieldsSeq(text) {
		var a Assignment
		if _, err := fmt.Sscanf(word+" ", "%d-%d-%d ", &a.AgentID, &a.ServiceID, &a.LocationID); err != nil {
			return nil
		}
		b = append(b, a)
	}
	return b
}
