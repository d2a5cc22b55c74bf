// Package catalog reads agents, services, their categories and locations, writes services ([Service]), and
// enters business hours and time off ([TimeOff]).
//
// It imports notify, slots and what those import, and no other resource.
package catalog
