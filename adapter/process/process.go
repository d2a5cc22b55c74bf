package process

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Process is an automation of the site: a row of processes that is active.
type Process struct {
	ID          int64
	Name        string
	EventType   string
	ActionsJSON string
}

// Subject is what an event is about.
type Subject struct {
	// Objects are the values that conditions look at, by object and attribute:
	// Objects["booking"]["status"]. old_booking and its like are there for updates
	// only.
	Objects map[string]map[string]string
	// Variables fill in templates, by name without braces.
	Variables map[string]string
	// ActivityData is what the history will say the message was about; any JSON.
	ActivityData any
	// At is the instant of the event: the creation, the change, the start or the
	// end.
	At time.Time
}

// Job is what is to be done because of an event.
type Job struct {
	ProcessID int64
	Name      string
	EventType string
	DueAt     time.Time
	Actions   []Action
}

// Action is one rendered action of a job.
type Action struct {
	ID, Type    string
	To, Subject string
	Content     string
	Attachments []string
}

// SendEmail is the type of an action that sends a mail.
const SendEmail = "send_email"

// lateness is how late a job may be and still be done.
const lateness = 5 * time.Minute

// Jobs are what the processes of an event's type do
// (OsProcessJobsHelper::create_jobs_for_process). What is due before now, less
// five minutes, is left out, and so is a process that has nothing to do.
func Jobs(processes []Process, eventType string, subject Subject, now time.Time) []Job {
	var jobs []Job
	for _, p := range processes {
		if p.EventType != eventType {
			continue
		}
		if job, ok := p.job(subject, now); ok {
			jobs = append(jobs, job)
		}
	}
	return jobs
}

func (p Process) job(subject Subject, now time.Time) (Job, bool) {
	groups, err := parseGroups(p.ActionsJSON)
	if err != nil || len(groups) == 0 {
		return Job{}, false
	}
	actions, hold := subject.walk(groups)
	if !hold || len(actions) == 0 {
		return Job{}, false
	}
	due := groups[0].TimeOffset.apply(subject.At)
	if due.Add(lateness).Before(now) {
		return Job{}, false
	}
	return Job{ProcessID: p.ID, Name: p.Name, EventType: p.EventType, DueAt: due, Actions: actions}, true
}

// node is a group, branch or action of actions_json.
type node struct {
	Type             string          `json:"type"`
	ID               string          `json:"id"`
	TriggerCondition condition       `json:"trigger_condition"`
	Settings         json.RawMessage `json:"settings"`
	Items            nodes           `json:"items"`
	TimeOffset       offset          `json:"time_offset"`
}

// nodes is a list that PHP may also have written as an object.
type nodes []node

// UnmarshalJSON reads a list or an object of nodes, and anything else as none.
func (n *nodes) UnmarshalJSON(text []byte) error {
	var list []node
	var object map[string]node
	switch {
	case readable(text, &list):
		*n = list
	case readable(text, &object):
		keys := slices.SortedFunc(maps.Keys(object), func(a, b string) int { // PHP counts them, without zeros in front
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		})
		for _, key := range keys {
			*n = append(*n, object[key])
		}
	}
	return nil
}

// readable reads JSON; what is of another type stays as it is.
func readable(text []byte, into any) bool { return json.Unmarshal(text, into) == nil }

// condition is what a group's branches look at; PHP writes false for none.
type condition struct{ Property string }

// UnmarshalJSON reads an object, and anything else as no condition.
func (c *condition) UnmarshalJSON(text []byte) error {
	var object struct {
		Property string `json:"property"`
	}
	if readable(text, &object) {
		c.Property = object.Property
	}
	return nil
}

// offset is when a job is done, before or after its event.
type offset struct {
	value  int
	unit   string
	before bool
}

// UnmarshalJSON reads an object, and anything else as no offset.
func (o *offset) UnmarshalJSON(text []byte) error {
	var object struct {
		Value       looseText `json:"value"`
		Unit        string    `json:"unit"`
		BeforeAfter string    `json:"before_after"`
	}
	if !readable(text, &object) {
		return nil
	}
	if value, ok := object.Value.integer(); ok {
		*o = offset{value, strings.TrimSuffix(strings.ToLower(object.Unit), "s"), object.BeforeAfter == "before"}
	}
	return nil
}

// apply moves an instant, in UTC as the plugin does.
func (o offset) apply(at time.Time) time.Time {
	n := o.value
	if o.before {
		n = -n
	}
	switch o.unit {
	case "minute":
		return at.Add(time.Duration(n) * time.Minute)
	case "hour":
		return at.Add(time.Duration(n) * time.Hour)
	case "day":
		return at.AddDate(0, 0, n)
	case "week":
		return at.AddDate(0, 0, 7*n)
	case "month":
		return at.AddDate(0, n, 0)
	default:
		return at
	}
}

// deepest bounds how far groups are nested.
const deepest = 50

func parseGroups(actionsJSON string) (nodes, error) {
	if strings.Count(actionsJSON, `"items"`) > 10*deepest {
		return nil, fmt.Errorf("automation: nested too deep")
	}
	var groups nodes
	if err := json.Unmarshal([]byte(actionsJSON), &groups); err != nil {
		return nil, fmt.Errorf("automation: %w", err)
	}
	return groups, nil
}

// walk collects the active actions of groups whose conditions all hold; hold is
// false where one does not (OsProcessModel::check_if_objects_satisfy_trigger_conditions).
func (s Subject) walk(groups nodes) (actions []Action, hold bool) {
	for _, group := range groups {
		for _, item := range group.Items {
			switch item.Type {
			case "trigger_condition_branch":
				if !s.satisfies(group.TriggerCondition.Property, item.Settings) {
					return nil, false
				}
				inner, ok := s.walk(item.Items)
				if !ok {
					return nil, false
				}
				actions = append(actions, inner...)
			case "group":
				inner, ok := s.walk(nodes{item})
				if !ok {
					return nil, false
				}
				actions = append(actions, inner...)
			case "action":
				if action, ok := s.render(item); ok {
					actions = append(actions, action)
				}
			}
		}
	}
	return actions, true
}

// render fills in an action's templates; ok is false for one that is switched
// off, or that is no mail: of the others the plugin's add-ons keep the form.
func (s Subject) render(item node) (action Action, ok bool) {
	var settings struct {
		Status   string `json:"status"`
		Type     string `json:"type"`
		Settings struct {
			To          looseText `json:"to_email"`
			Subject     looseText `json:"subject"`
			Content     looseText `json:"content"`
			Attachments looseText `json:"attachments"`
		} `json:"settings"`
	}
	if !readable(item.Settings, &settings) || settings.Status != "active" || settings.Type != SendEmail {
		return Action{}, false
	}
	mail := settings.Settings
	return Action{
		ID: item.ID, Type: settings.Type,
		To: oneLine(s.replace(string(mail.To), recipient)), Subject: oneLine(s.replace(string(mail.Subject), asIs)), Content: s.replace(string(mail.Content), asIs),
		Attachments: attachments(string(mail.Attachments)),
	}, true
}

func attachments(list string) []string {
	files := []string{}
	for file := range strings.SplitSeq(list, ",") {
		if file = strings.TrimSpace(file); file != "" {
			files = append(files, file)
		}
	}
	return files
}

// oneLine keeps a header of a mail from becoming two.
func oneLine(text string) string {
	return strings.NewReplacer("\r", " ", "\n", " ").Replace(text)
}

func asIs(_, value string) string { return value }

// notInNames are the characters that part recipients from each other and names
// from addresses.
var notInNames = strings.NewReplacer(",", " ", "<", "", ">", "", `"`, "", ";", " ")

// recipient keeps people from adding recipients by their name.
func recipient(name, value string) string {
	if strings.HasSuffix(name, "_email") || strings.HasSuffix(name, "_emails") {
		return value
	}
	return notInNames.Replace(value)
}

// replace fills in the variables of a template, once, each as shown gives it:
// what a value contains is not looked at again. Unknown variables stay.
func (s Subject) replace(template string, shown func(name, value string) string) string {
	if !strings.Contains(template, "{{") {
		return template
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(template, "{{")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, after, closed := strings.Cut(rest, "}}")
		value, known := s.Variables[name]
		if !closed || !known {
			b.WriteString("{{")
			template = rest
			continue
		}
		b.WriteString(shown(name, value))
		template = after
	}
}
