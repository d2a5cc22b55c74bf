package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// problem tells the model why a call failed and what to try next.
type problem struct {
	Code       string            `json:"code"`
	Message    string            `json:"message"`
	Arguments  map[string]string `json:"arguments,omitempty"` // the error of each argument
	Permission string            `json:"required_permission,omitempty"`
	FreeTimes  []freeDay         `json:"free_times,omitempty"`
	RetryAfter string            `json:"retry_after_seconds,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	TryNext    string            `json:"try_next"`
}

func (p *problem) Error() string { return p.Code + ": " + p.Message }

// failed returns the result of a failed call. It has no structured content, because that must have the
// schema of a success.
func failed(p *problem) *sdk.CallToolResult {
	brief := p.Message
	for _, name := range slices.Sorted(maps.Keys(p.Arguments)) {
		brief += fmt.Sprintf("; %s: %s", name, p.Arguments[name])
	}
	result := &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: brief + ". " + p.TryNext}}}
	if text, err := json.Marshal(map[string]*problem{"error": p}); err == nil {
		result.Content = append(result.Content, &sdk.TextContent{Text: string(text)})
	}
	return result
}

// missing returns the problem of a key that lacks a permission.
func missing(permission string) *problem {
	return &problem{
		Code: "insufficient_permissions", Message: "This key lacks the permission " + permission, Permission: permission,
		TryNext: "Do not repeat the call. Tell the person that whoever manages the site's API keys can add the permission.",
	}
}

// advice says what to try after a failure, by code.
var advice = map[string]string{
	"outside_key_limits":       "This key is only for some agents, services or locations. find_agents and find_services list them.",
	maskedCode:                 "This key neither searches nor writes personal data. Name the customer by customer_id.",
	"idempotency_key_reused":   "This idempotency_key belongs to another call, which has taken effect. For a new booking or another time, make up a new key.",
	"time_off_exists":          "Nothing is left to do, unless the person means other days or hours.",
	"idempotency_in_progress":  "Wait a few seconds and send exactly the same call again.",
	"booking_not_found":        "Find the booking with agenda or customer_bookings.",
	"customer_not_found":       "Find the customer with find_customer.",
	"cursor_expired":           "Call recent_changes without a cursor.",
	"rate_limit_exceeded":      "Wait as long as retry_after_seconds says, then repeat the call.",
	"platform_not_available":   "Nothing was written. Repeat the same call later, a writing one with the same idempotency_key.",
	"insufficient_permissions": "Do not repeat the call. Tell the person that whoever manages the site's API keys can add the permission.",
}

// maskedCode is the error code for data that the key masks.
const maskedCode = "personal_data_masked"

// unknownOutcome is the advice after a write that may have taken effect.
const unknownOutcome = "It is not known whether this took effect. Send exactly the same call again, with the same idempotency_key: it takes effect once."

// problemOf translates an error for the model.
func (c *call) problemOf(err error) *problem {
	var p *problem
	var f *CallError
	switch {
	case errors.As(err, &p):
		return p
	case !errors.As(err, &f):
		errors.As(c.Report(err), &f)
	}
	p = &problem{Code: f.Code, Message: f.Message, RetryAfter: f.RetryAfter, RequestID: f.RequestID, TryNext: advice[f.Code]}
	var details struct {
		Permission string `json:"required_permission"`
	}
	if json.Unmarshal(f.Details, &details) == nil {
		p.Permission = details.Permission
	}
	var fields map[string]string
	if json.Unmarshal(f.Details, &fields) == nil && p.Permission == "" && len(fields) > 0 {
		p.Arguments = map[string]string{}
		for name, message := range fields {
			p.Arguments[c.argument(name)] = message
		}
	}
	switch {
	case f.Unknown:
		p.TryNext = unknownOutcome
	case p.TryNext != "":
	case f.RequestID != "":
		p.TryNext = "The server failed. Try once more; if it fails again, tell the person the request_id."
	case len(p.Arguments) > 0:
		p.TryNext = "Correct these arguments and call again. Nothing was written, so a writing call may use the same idempotency_key."
	default:
		p.TryNext = "Nothing was written. Check the arguments."
	}
	return p
}

// argument returns the tool's name for a field of an operation.
func (c *call) argument(field string) string {
	if name, renamed := c.tool.arguments[field]; renamed {
		return name
	}
	return field
}

// conflictCode is the error code for a time that is not free.
const conflictCode = "time_slot_unavailable"

// unavailable adds the free times to the error of a write whose time is taken: those of the same day, or if
// there are none those of the next days.
func (c *call) unavailable(err error, on date, slot slotArguments) error {
	var f *CallError
	if !errors.As(err, &f) || f.Code != conflictCode {
		return err
	}
	p := &problem{Code: f.Code, Message: f.Message}
	var details struct {
		Free []clock `json:"available_slots"`
	}
	if json.Unmarshal(f.Details, &details) == nil && len(details.Free) > 0 {
		p.FreeTimes = []freeDay{{Date: on, Weekday: on.weekday(), Times: details.Free}}
	} else if c.Lacks(availabilityOperation) == "" {
		// Errors here are ignored: the conflict matters more.
		if found, err := c.freeTimes(on, on.after(13), slot); err == nil {
			p.FreeTimes = found.Days[:min(len(found.Days), 3)]
		}
	}
	p.TryNext = "Nothing was written. Offer the person one of free_times, then call " + c.tool.name + " with it; the same idempotency_key will do."
	if len(p.FreeTimes) == 0 {
		hint := []string{"a later range of dates"}
		if slot.AgentID != 0 {
			hint = append(hint, "another agent or none")
		}
		p.TryNext = "Nothing was written, and nothing is free in the two weeks from that day. Ask find_free_times about " + strings.Join(hint, ", or ") + "."
	}
	return p
}
