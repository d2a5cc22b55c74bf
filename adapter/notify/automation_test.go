package notify

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/fixtures/expect"
)

// automationText is what tests check of an automation.
type automationText struct {
	Conditions []string // property operator value
	Actions    []string // id kind
	Offset     offset
}

func textOf(a automation) automationText {
	found := automationText{Offset: a.offset}
	for _, c := range a.conditions {
		found.Conditions = append(found.Conditions, c.object+"."+c.attribute+" "+c.operator+" "+c.value)
	}
	for _, done := range a.actions {
		found.Actions = append(found.Actions, done.id+" "+done.kind)
	}
	return found
}

const mailAction = `{"type":"action","id":"pa_1","settings":{"status":"active","type":"send_email","settings":{"to_email":"a@x.test"}}}`

func TestParseAutomation(t *testing.T) {
	t.Parallel()
	mail := []string{"pa_1 send_email"}
	guarded := func(condition, branches string) string {
		return `{"type":"group","trigger_condition":` + condition + `,"items":[` + branches + `]}`
	}
	branch := func(settings, items string) string {
		return `{"type":"trigger_condition_branch","settings":` + settings + `,"items":[` + items + `]}`
	}
	plain := `{"type":"group","trigger_condition":false,"items":[` + mailAction + `]}`
	for _, tc := range []struct {
		name, source string
		want         automationText
	}{
		{"empty list", `[]`, automationText{}},
		{"null", `null`, automationText{}},
		{"scalar", `5`, automationText{}},
		{"group without condition", `[` + plain + `]`, automationText{Actions: mail}},
		{"empty offset", `[{"type":"group","items":[` + mailAction + `],"time_offset":[]}]`, automationText{Actions: mail}},
		{"offset before", `[{"items":[],"time_offset":{"value":"1","unit":"day","before_after":"before"}}]`, automationText{Offset: offset{-1, "day"}}},
		{"offset of a number, after", `[{"time_offset":{"value":90,"unit":"Minutes","before_after":"after"}}]`, automationText{Offset: offset{90, "minute"}}},
		{"offset as long as can be", `[{"time_offset":{"value":"1000000","unit":"minute","before_after":"after"}}]`, automationText{Offset: offset{1_000_000, "minute"}}},
		{"offset as long as can be, of a minus", `[{"time_offset":{"value":"-1000000","unit":"minute","before_after":"after"}}]`, automationText{Offset: offset{-1_000_000, "minute"}}},
		{"offset beyond sense", `[{"time_offset":{"value":"99999999","unit":"week","before_after":"after"}}]`, automationText{}},
		{"offset of the second group", `[{},{"time_offset":{"value":1,"unit":"day"}}]`, automationText{}},
		{"condition", `[` + guarded(`{"property":"booking__status"}`, branch(`{"operator":"equal","value":"approved"}`, plain)) + `]`,
			automationText{Conditions: []string{"booking.status equal approved"}, Actions: mail}},
		{"value of a number", `[` + guarded(`{"property":"booking__agent_id"}`, branch(`{"operator":"equal","value":7}`, plain)) + `]`,
			automationText{Conditions: []string{"booking.agent_id equal 7"}, Actions: mail}},
		{"value of a list", `[` + guarded(`{"property":"booking__agent_id"}`, branch(`{"operator":"equal","value":[7,"8",true]}`, plain)) + `]`,
			automationText{Conditions: []string{"booking.agent_id equal 7,8,1"}, Actions: mail}},
		{"nested conditions", `[` + guarded(`{"property":"a__b"}`, branch(`{"operator":"equal"}`,
			guarded(`{"property":"c__d"}`, branch(`{"operator":"changed"}`, plain)))) + `]`,
			automationText{Conditions: []string{"a.b equal ", "c.d changed "}, Actions: mail}},
		{"branches side by side", `[` + guarded(`{"property":"a__b"}`, branch(`{"operator":"equal","value":1}`, plain)+","+branch(`[]`, plain)) + `]`,
			automationText{Conditions: []string{"a.b equal 1", "a.b  "}, Actions: []string{"pa_1 send_email", "pa_1 send_email"}}},
		{"condition in a group without one is not looked for", `[{"type":"group","trigger_condition":false,"items":[` +
			guarded(`{"property":"a__b"}`, branch(`{"operator":"equal"}`, plain)) + `]}]`, automationText{Actions: mail}},
		{"empty condition", `[` + guarded(`[]`, branch(`{"operator":"equal"}`, plain)) + `]`, automationText{Actions: mail}},
		{"action outside groups", `[` + mailAction + `]`, automationText{Actions: mail}},
		{"action without status", `[{"type":"action","id":7,"settings":{"type":"send_sms"}}]`, automationText{Actions: []string{"7 send_sms"}}},
		{"action switched off", `[{"type":"action","id":"x","settings":{"status":"disabled","type":"send_sms"}}]`, automationText{}},
		{"action of nothing", `[{"type":"action","settings":[]}]`, automationText{Actions: []string{" "}}},
		{"lists as objects", `{"0":{"type":"group","items":{"3":` + mailAction + `,"1":{"type":"action","id":"b","settings":{"type":"c"}}},` +
			`"time_offset":{"value":2,"unit":"hour","before_after":"after"}},"x":1}`,
			automationText{Actions: []string{"pa_1 send_email", "b c"}, Offset: offset{2, "hour"}}},
		{"what is no group", `[1,"a",null,[` + mailAction + `],{"items":"none"}]`, automationText{}},
	} {
		got, ok := parseAutomation(tc.source)
		if diff := cmp.Diff(tc.want, textOf(got), cmp.AllowUnexported(offset{})); diff != "" || !ok {
			t.Errorf("%s: parseAutomation = %t (-want +got):\n%s", tc.name, ok, diff)
		}
	}
}

func TestBrokenAutomationIsNotParsed(t *testing.T) {
	t.Parallel()
	nest := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	if _, ok := parseAutomation(nest(maxDepth)); !ok {
		t.Errorf("parseAutomation of depth %d failed, want it read", maxDepth)
	}
	for name, source := range map[string]string{
		"nothing": "", "cut off": `[{"type":"group","items":[`, "cut off in an object": `[{"type":"group"`, "cut off before a value": `[{"type"`,
		"text behind": `[] []`, "no JSON": "a:1:{}", "key without a value": `[{"a"}]`, "not UTF-8": "[\"\xff\"]", "brackets crossed": `[{]}`,
		"too deep": nest(maxDepth + 1), "too deep, of objects": strings.Repeat(`{"a":`, maxDepth+1) + "1" + strings.Repeat("}", maxDepth+1),
		"much too deep": strings.Repeat(`{"items":[`, 1<<16),
	} {
		if got, ok := parseAutomation(source); ok {
			t.Errorf("%s: parseAutomation = %v, want none", name, textOf(got))
		}
	}
}

func TestOffset(t *testing.T) {
	t.Parallel()
	for _, tc := range php(t).Offsets {
		at, err := time.Parse(time.DateTime, tc.At)
		expect.NoError(t, err)
		settings := object{{"value", tc.Value}, {"unit", tc.Unit}, {"before_after", tc.Side}}
		expect.Equal(t, tc.Want, offsetOf(object{{"time_offset", settings}}).apply(at).Format(time.DateTime), tc.Value, " ", tc.Unit, " ", tc.Side, " of ", tc.At)
	}
}

func TestObjectKeepsPlaces(t *testing.T) {
	t.Parallel()
	tree, err := decodeTree(`{"b":1,"a":2,"b":3}`)
	if diff := cmp.Diff(object{{"b", "3"}, {"a", "2"}}, texts(tree), cmp.AllowUnexported(member{})); diff != "" || err != nil {
		t.Errorf("decodeTree: %v (-want +got):\n%s", err, diff)
	}
}

func texts(tree any) object {
	o, _ := tree.(object)
	for i := range o {
		o[i].value = scalarText(o[i].value)
	}
	return o
}
