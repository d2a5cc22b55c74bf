package session

import (
	"encoding/json"
	"strconv"
)

// ItemKeys are the keys of an order item's data that repeat columns of its booking.
var ItemKeys = map[string]bool{
	"customer_id": true, "agent_id": true, "location_id": true, "service_id": true, "start_date": true, "start_time": true,
	"end_date": true, "end_time": true, "status": true, "buffer_before": true, "buffer_after": true, "duration": true,
	"total_attendees": true, // of the Pro add-on
}

// ItemBooking returns the booking id in an order item's JSON, a number or a string, or 0 if there is none.
func ItemBooking(data string) int64 {
	var item struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal([]byte(data), &item) != nil {
		return 0
	}
	return jsonID(item.ID)
}

// jsonID returns an id in JSON, given as a number or a text, or 0 for anything else.
func jsonID(value json.RawMessage) int64 {
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return id
}
