package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/bookside/bookside/docker/load"
)

// Services and agents of the sample site fixtures.Small.
const (
	shortService   = 1 // 15 minutes, all agents, one place
	courseService  = 4 // an hour, the third agent, six places
	limitedService = 5 // 30 minutes, all agents; gets a limit of bookings per day
	courseAgent    = 3
	seats          = 6
	agents         = 3
)

// slot is a start with the agents who are free then.
type slot struct {
	load.Start
	agents []int
}

// slots are the unused slots at the first location.
type slots struct {
	short   []slot
	parking slot // a short one for pending bookings
	courses []slot
	limited map[string][]slot // by day
}

// learn reads the free slots. Each service uses different days.
func (l *trial) learn(ctx context.Context) (*slots, error) {
	s := &slots{limited: map[string][]slot{}}
	var err error
	// The sample site has no bookings from the 46th day on.
	if s.short, err = l.offers(ctx, shortService, 2, 45, 1, 2, 3); err != nil {
		return nil, err
	}
	if s.courses, err = l.offers(ctx, courseService, 46, 61, courseAgent); err != nil {
		return nil, err
	}
	limited, err := l.offers(ctx, limitedService, 62, 69, 1, 2, 3)
	if err != nil {
		return nil, err
	}
	for _, at := range limited {
		s.limited[at.Day] = append(s.limited[at.Day], at)
	}
	if len(s.short) == 0 || len(s.courses) == 0 || len(limited) == 0 {
		return nil, errors.New("the sample site offers no starts")
	}
	if s.parking, err = s.take(anybody); err != nil {
		return nil, err
	}
	return s, nil
}

// offers returns the free starts of agents, in a shuffled but reproducible order.
func (l *trial) offers(ctx context.Context, service, first, last int, agents ...int) (found []slot, err error) {
	by := map[load.Start][]int{}
	for _, agent := range agents {
		more := []string{"location_id", "1"}
		if service == courseService {
			more = append(more, "total_attendees", strconv.Itoa(seats))
		}
		starts, err := l.sidecars[0].FreeStarts(ctx, load.Availability(service, agent, first, last), more...)
		if err != nil {
			return nil, err
		}
		for _, at := range starts {
			by[at] = append(by[at], agent)
		}
	}
	for at, free := range by {
		found = append(found, slot{at, free})
	}
	slices.SortFunc(found, func(a, b slot) int { return strings.Compare(a.Day+a.Time, b.Day+b.Time) })
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] }) //nolint:gosec // an order, no secret
	return found, nil
}

var errNoSlot = errors.New("the sample site has no more slots of the kind; ask for fewer contests")

// take removes and returns a short slot whose free agents match.
func (s *slots) take(match func(free []int) bool) (slot, error) {
	i := slices.IndexFunc(s.short, func(at slot) bool { return match(at.agents) })
	if i < 0 {
		return slot{}, errNoSlot
	}
	at := s.short[i]
	s.short = slices.Delete(s.short, i, i+1)
	return at, nil
}

// Conditions for the free agents of a slot.
func anybody(free []int) bool   { return len(free) > 0 }
func one(free []int) bool       { return len(free) == 1 }
func several(free []int) bool   { return len(free) > 1 }
func everybody(free []int) bool { return len(free) == agents }

// takeCourse removes and returns a slot of the course.
func (s *slots) takeCourse() (slot, error) {
	if len(s.courses) == 0 {
		return slot{}, errNoSlot
	}
	at := s.courses[0]
	s.courses = s.courses[1:]
	return at, nil
}

// takeDay removes and returns all slots of the limited service on one day.
func (s *slots) takeDay() ([]slot, error) {
	days := make([]string, 0, len(s.limited))
	for day := range s.limited {
		days = append(days, day)
	}
	if len(days) == 0 {
		return nil, errNoSlot
	}
	day := slices.Min(days)
	taken := s.limited[day]
	delete(s.limited, day)
	return taken, nil
}
