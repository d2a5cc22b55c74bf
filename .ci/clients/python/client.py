"""Lists services, finds a free time, books it, meets the conflict of a second booking, cancels and follows the
changes, with the client that OpenAPI Generator made from the document for clients."""
import datetime
import json
import sys
import types

import bookside
from bookside.rest import ApiException


def check(good, what, got):
    if not good:
        sys.exit(f"python: {what}: {got}")


base, key = sys.argv[1:]
client = bookside.ApiClient(bookside.Configuration(host=base, api_key={"apiKeyHeader": key}))
client.set_default_header("X-Ids", "integer")


def typed(text, name, member=None):
    """Reads a response as the type that this generator does not choose: it knows one type for all successes of an
    operation, none for errors, and requires of a union the members of all its forms."""
    value = json.loads(text)
    return client.deserialize(types.SimpleNamespace(data=json.dumps(value[member] if member else value)), name)


bookings, changes = bookside.BookingsApi(client), bookside.ChangesApi(client)

now = changes.list_changes()
service = bookside.ServicesApi(client).list_services(per_page=1).data[0]

date = datetime.date.today() + datetime.timedelta(days=70)
while date.isoweekday() != 2:
    date += datetime.timedelta(days=1)
times = bookside.AvailabilityApi(client).get_availability(service.id, -1, date, _with=["agents"], _preload_content=False)
free = typed(times.data, "Availability", "data")
check(free.slots and free.slots[0].agents, "free times", free)
start, agent = free.slots[0].start_time, free.slots[0].agents[0]


def book(email):
    customer = bookside.CreateBookingBodyCustomer(first_name="Ada", last_name="Byron", email=email)
    body = bookside.CreateBookingBody(service_id=service.id, agent_id=agent, start_date=date, start_time=start, customer=customer)
    try:
        return typed(bookings.create_booking(body, _preload_content=False).data, "CreateBookingResult")
    except ApiException as refused:
        return typed(refused.body, "Error")


created = book("python@example.com")
check(isinstance(created, bookside.CreateBookingResult), "book", created)
booking = created.data
conflict = book("other@example.com")
check(isinstance(conflict, bookside.Error) and conflict.code == "time_slot_unavailable" and conflict.data.status == 409
      and conflict.data.conflict.conflicting_booking_id == booking.id, "second booking", conflict)
found = bookings.list_bookings(date_from=date, date_to=date)
check(booking.booking_code in [one.booking_code for one in found.data], "list", found)
cancelled = bookings.cancel_booking(booking.id, cancel_booking_body=bookside.CancelBookingBody())
check(cancelled.data.status == "cancelled", "cancel", cancelled)

kinds, cursor = [], now.cursor
for _ in range(10):
    if len(kinds) >= 2:
        break
    more = changes.list_changes(cursor=cursor, wait=5)
    kinds += [one.kind for one in more.data if one.resource == "bookings" and one.resource_id == booking.id]
    cursor = more.cursor
check(kinds == ["created", "updated"], "changes of the booking", kinds)
print(f"python: booked {start} with agent {agent}, met {conflict.code}, cancelled booking {booking.id}, followed {kinds}")
