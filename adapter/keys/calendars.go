package keys

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sq "github.com/Masterminds/squirrel"

	"github.com/bookside/bookside/adapter/domain"
)

// Calendar is the kind of the secret addresses of calendars. They are stored, found, throttled and limited
// like API keys, but each opens only the calendar of one agent or location: it has no permissions, and its
// scope names the agent or the location. What it shows never changes, because its holder was promised
// exactly that.
const Calendar Kind = "calendar"

// Details is what a calendar shows of bookings.
type Details string

// What calendars can show.
const (
	Busy  Details = "busy"  // when there are bookings
	Names Details = "names" // also the service, the customer's name and the address
	Full  Details = "full"  // also how to reach the customer, and what they wrote
)

var allDetails = []Details{Busy, Names, Full}

// ParseDetails reads busy, names or full.
func ParseDetails(text string) (Details, error) {
	if details := Details(text); slices.Contains(allDetails, details) {
		return details, nil
	}
	return "", errors.New("write busy, names or full")
}

// CalendarScope returns the scope of the calendar of an agent or a location.
func CalendarScope(resource domain.Resource, id int64) domain.Scope {
	if resource == domain.LocationResource {
		return domain.Scope{Locations: []int64{id}}
	}
	return domain.Scope{Agents: []int64{id}}
}

// Subject returns whose calendar a key opens: an agent or a location.
func (k Key) Subject() (resource domain.Resource, id int64) {
	if len(k.Scope.Locations) > 0 {
		return domain.LocationResource, k.Scope.Locations[0]
	}
	return domain.AgentResource, firstOf(k.Scope.Agents)
}

// firstOf returns the first id or, if there is none, one that nothing has.
func firstOf(ids []int64) int64 {
	if len(ids) == 0 {
		return -1
	}
	return ids[0]
}

// SecretParameter carries the secret of a calendar in its address, because calendar programs support
// nothing else. It is also the parameter for API keys, so whatever masks these in logs masks calendar
// secrets too.
const SecretParameter = "api_key"

// Address returns the address of a calendar below a base path of the API.
func (k Key) Address(base, secret string) string {
	resource, id := k.Subject()
	return fmt.Sprintf("%s/%ss/%d/calendar.ics?%s=%s", base, resource, id, SecretParameter, secret)
}

// Calendars returns the secret addresses of calendars, oldest first, including revoked ones.
func (s *Store) Calendars(ctx context.Context) ([]Key, error) {
	return s.list(ctx, sq.Eq{"kind": string(Calendar)})
}

// RevokeCalendar ends the secret address of a calendar at once, in every process. It reports whether there
// is one with this id.
func (s *Store) RevokeCalendar(ctx context.Context, id int64) (bool, error) {
	return s.revoke(ctx, sq.Eq{"kind": string(Calendar)}, id)
}

// AuthenticateCalendar finds the valid secret of the calendar of an agent or a location. Otherwise it
// returns a CodeUnauthorized, so that a secret reveals nothing at any other address.
func (s *Store) AuthenticateCalendar(ctx context.Context, secret string, resource domain.Resource, id int64) (Principal, error) {
	if !strings.HasPrefix(secret, Calendar.prefix()) {
		return Principal{}, domain.Unauthorized()
	}
	principal, err := s.authenticate(ctx, secret)
	if err != nil {
		return Principal{}, err
	}
	if theirs, its := principal.Subject(); principal.Kind != Calendar || theirs != resource || its != id {
		return Principal{}, domain.Unauthorized()
	}
	return principal, nil
}
