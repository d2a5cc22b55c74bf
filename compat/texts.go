package compat

// Days in examples of what is sent. The document replaces them with future days.
const (
	ExampleDay     = "2026-12-01"
	ExampleLastDay = "2026-12-07"
)

// The forms of texts that are read.
const (
	clockPattern           = `^([01]?[0-9]|2[0-3]):[0-5][0-9]$`
	clockOrMidnightPattern = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	timeOrMinutesPattern   = `^(([01]?[0-9]|2[0-3]):[0-5][0-9]|[0-9]{1,4})$`
	spanPattern            = `^([0-9]{1,3}|[0-9]{4}(-([0-9]?|[0-9]{2}(-([0-9]?|[0-9]{2}( ([0-9]?|[0-9]{2}(:([0-9]?|[0-9]{2}(:[0-9]{0,2})?))?))?))?))?)$`
	optionalDatePattern    = `^([0-9]{4}-[0-9]{2}-[0-9]{2})?$`
)
