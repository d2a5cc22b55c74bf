# Prints the events of a calendar file as JSON, as python3-icalendar reads them.
import json
import sys

import icalendar

calendar = icalendar.Calendar.from_ical(sys.stdin.buffer.read())
events = []
for event in calendar.walk("VEVENT"):
    if event.errors:
        sys.exit(f"not valid: {event.errors}")
    events.append({
        name: value.dt.isoformat() if hasattr(value, "dt") else str(value)
        for name, value in event.property_items(recursive=False)
        if name not in ("BEGIN", "END")
    })
found = {"method": str(calendar["METHOD"]), "version": str(calendar["VERSION"]), "events": events}
for member, name in (("name", "X-WR-CALNAME"), ("zone", "X-WR-TIMEZONE")):
    if name in calendar:
        found[member] = str(calendar[name])
json.dump(found, sys.stdout)
