package availability

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

// TestAssetsCloseSlots: the rules of Pro Features, each with the starts that it leaves.
func TestAssetsCloseSlots(t *testing.T) {
	t.Parallel()
	const room, projector = 5, 6
	use := func(asset, booking int64, hours string, change ...func(*AssetUse)) AssetUse {
		b := bookingAt(booking, hours)
		u := AssetUse{Asset: asset, Booking: booking, Day: monday, Start: b.Start.Minutes, End: b.End.Minutes}
		for _, c := range change {
			c(&u)
		}
		return u
	}
	kept := func(before, after Minutes) func(*AssetUse) {
		return func(u *AssetUse) { u.BufferBefore, u.BufferAfter = before, after }
	}
	one := []Asset{{ID: room, Quantity: 1}}
	for name, c := range map[string]struct {
		change func(*Input, *Request)
		want   string // of the hours from 9 to 13, and why not
	}{
		"nobody takes it": {func(in *Input, _ *Request) { in.Assets = one }, "9 10 11 12"},
		"no asset":        {func(in *Input, _ *Request) { in.AssetUses = []AssetUse{use(room, 7, "10-11")} }, "9 10 11 12"},
		"the only unit":   {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-11")} }, "9 10:asset 11 12"},
		"another asset":   {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(projector, 7, "10-11")} }, "9 10 11 12"},
		"another day": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-11", func(u *AssetUse) { u.Day++ })}
		}, "9 10 11 12"},
		"a hold":          {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(room, 0, "10-11")} }, "9 10:asset 11 12"},
		"part of an hour": {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10:59-11:01")} }, "9 10:asset 11:asset 12"},
		"its buffers": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "11-12", kept(1, 1))}
		}, "9 10:asset 11:asset 12:asset"},
		"the buffers of the request do not": {func(in *Input, q *Request) {
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "11-12")}
			q.BufferBefore, q.BufferAfter = 30, 30
		}, "9 10 11:asset 12"},
		"no quantity is one": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10:asset 11 12"},
		"one of two units": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 2}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10 11 12"},
		"both units": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 2}}, []AssetUse{use(room, 7, "10-11"), use(room, 8, "10:30-11:30")}
		}, "9 10:asset 11 12"},
		"both units, one after the other": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 2}}, []AssetUse{use(room, 7, "10-10:30"), use(room, 8, "10:30-11")}
		}, "9 10:asset 11 12"},
		"more bookings than units": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-11"), use(room, 8, "10-11")}
		}, "9 10:asset 11 12"},
		"one of two assets": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 3}, {ID: projector, Quantity: 1}}, []AssetUse{use(projector, 7, "10-11")}
		}, "9 10:asset 11 12"},
		"a booking is one unit, whatever seats": {func(in *Input, q *Request) {
			in.Service.CapacityMax, q.Attendees = 4, 3
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 2}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10 11 12"},
		"a group is closed by its first booking": {func(in *Input, q *Request) {
			in.Service.CapacityMax, in.Bookings = 4, []Booking{bookingAt(7, "10-11")}
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-11")}
		}, "9 10:asset 11 12"},
		"a booking of the agent is told first": {func(in *Input, _ *Request) {
			in.Bookings, in.Assets, in.AssetUses = []Booking{bookingAt(7, "10-11")}, one, []AssetUse{use(room, 7, "10-11"), use(room, 8, "11-12")}
		}, "9 10:booked 11:asset 12"},
		"time off is told first": {func(in *Input, _ *Request) {
			in.OffPeriods, in.Assets, in.AssetUses = []OffPeriod{{Day: monday, Start: 600, End: 660}}, one, []AssetUse{use(room, 8, "10-12")}
		}, "9 10:off_period 11:asset 12"},
		"the booking that moves": {func(in *Input, q *Request) {
			in.Assets, in.AssetUses, q.Exclude = one, []AssetUse{use(room, 7, "10-11")}, []int64{7}
		}, "9 10 11 12"},
		"with another agent only": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 1, Agents: []int64{agentB}}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10 11 12"},
		"with this agent, among others": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 1, Agents: []int64{agentB, agentA}}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10:asset 11 12"},
		"another agent does not take it": {func(in *Input, _ *Request) {
			in.Resources = append(in.Resources, Resource{agentB, service, 1})
			in.Assets, in.AssetUses = []Asset{{ID: room, Quantity: 1, Agents: []int64{agentA}}}, []AssetUse{use(room, 7, "10-11")}
		}, "9 10 11 12"},
		"any agent takes it": {func(in *Input, _ *Request) {
			in.Resources = append(in.Resources, Resource{agentB, service, 1})
			in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-11")}
		}, "9 10:asset 11 12"},
		"past midnight, it ends too soon": {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "10-1")} }, "9 10 11 12"},
		"up to midnight":                  {func(in *Input, _ *Request) { in.Assets, in.AssetUses = one, []AssetUse{use(room, 7, "11-24")} }, "9 10 11:asset 12:asset"},
		"no time": {func(in *Input, _ *Request) {
			in.Assets, in.AssetUses = one, []AssetUse{{Asset: room, Booking: 7, Day: monday}}
		}, "9 10 11 12"},
	} {
		in := Input{
			Service: Service{ID: service, Step: 60, CapacityMax: 1}, Resources: []Resource{{agentA, service, 1}},
			WorkPeriods: []WorkPeriod{weekly(0, 0, 0, "9-13")}, Deviations: DefaultDeviations,
		}
		q := Request{Duration: 60, Attendees: 1}
		c.change(&in, &q)
		var found []string
		for _, s := range NewCalendar(in).Day(monday, q) {
			text := fmt.Sprint(s.Start / 60)
			if s.Reason != Free {
				text += ":" + string(s.Reason)
			}
			if taken := s.Reason == AssetTaken; taken && s.Capacity != 0 || taken && s.Booking == 0 && name != "a hold" {
				t.Errorf("%s: seats, or no booking: %+v", name, s)
			}
			found = append(found, text)
		}
		expect.Equal(t, c.want, strings.Join(found, " "), name, ": starts")
	}
}

// TestAssetsWhereTheClockSkipsAnHour: the hour that is skipped takes no asset.
func TestAssetsWhereTheClockSkipsAnHour(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	expect.NoError(t, err)
	sunday := mustDay("2027-03-28")
	c := NewCalendar(Input{
		Service: Service{ID: service, Step: 30, CapacityMax: 1}, Resources: []Resource{{agentA, service, 1}}, Clock: Clock{berlin}, Deviations: DefaultDeviations,
		WorkPeriods: []WorkPeriod{{Weekday: 7, Start: 60, End: 300}}, Assets: []Asset{{ID: 5, Quantity: 1}},
		AssetUses: []AssetUse{{Asset: 5, Booking: 7, Day: sunday, Start: 90, End: 210}}, // 01:30 to 03:30, an hour: 03:00 is in it
	})
	var free []Minutes
	for _, s := range Offered(c.Day(sunday, Request{Duration: 30, Attendees: 1})) {
		free = append(free, s.Start)
	}
	expect.Equal(t, []Minutes{60, 150, 210, 240, 270}, free, "starts")
}
