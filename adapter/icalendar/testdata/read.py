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
json.dump({"method": str(calendar["METHOD"]), "version": str(calendar["VERSION"]), "events": events}, sys.stdout)
