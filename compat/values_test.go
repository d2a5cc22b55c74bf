package compat

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/records"
)

// valueTypes is what each type of values makes of what the body of a new record may have: - is nothing, ! the problem of a
// malformed value, ? that of one that is not allowed, and anything else the value.
const valueTypes = `
type           null    ""      0       -1      1       "1"     1.5     true    false   "x"     []      [1]     {}
amount         -       -       0       -1      1       1       1.5     !       !       !       !one    !one    !one
anyID          -       -       -       0       1       1       !       !       !       !       !one    !one    !one
anyText        -       ""      "0"     "-1"    "1"     "1"     "1.5"   !       !       "x"     !one    !one    !one
beginning      -       -       !       !       !       !       !       !       !       !       !one    !one    !one
bookingStatus  -       -       "0"     "-1"    "1"     "1"     "1.5"   "true"  "false" "x"     !one    !one    !one
boolean        -       -       false   !       true    true    !       true    false   !       !one    !one    !one
country        -       -       ?       ?       ?       ?       ?       ?       ?       ?       !one    !one    !one
cursor         -       -       0       !       1       1       !       !       !       !       !one    !one    !one
customFields   -       !object !object !object !object !object !object !object !object !object map[]   !object map[]
date           -       -       !       !       !       !       !       !       !       !       !one    !one    !one
dateOrNone     -       -       !       !       !       !       !       !       !       !       !one    !one    !one
dateText       -       -       !       !       !       !       !       !       !       !       !one    !one    !one
day            -       -       !       !       !       !       !       !       !       !       !one    !one    !one
elements       -       !list   !list   !list   !list   !list   !list   !list   !list   !list   !       [[49]]  !list
end            -       -       !       !       !       !       !       !       !       !       !one    !one    !one
filledText     -       -       "0"     "-1"    "1"     "1"     "1.5"   !       !       "x"     !one    !one    !one
fixedText      -       ""      "0"     "-1"    "1"     "1"     "1.5"   !       !       "x"     !one    !one    !one
id             -       -       -       !least  1       1       !       !       !       !       !one    !one    !one
idList         -       []      !       !       [1]     [1]     !       !       !       !       []      [1]     !list
idOrNone       -       -       0       ?least  1       1       !       !       !       !       !one    !one    !one
instant        -       -       !       !       !       !       !       !       !       !       !one    !one    !one
integer        -       -       0       ?least  1       1       !       !       !       !       !one    !one    !one
oneWord        -       -       ?       ?       ?       ?       ?       ?       ?       "x"     !one    !one    !one
plainText      -       -       "0"     "-1"    "1"     "1"     "1.5"   "true"  "false" "x"     !one    !one    !one
price          -       -       0       ?       1       1       1.5     !       !       !       !one    !one    !one
span           -       -       !       !       1000    1000    !       !       !       !       !one    !one    !one
text           -       -       "0"     "-1"    "1"     "1"     "1.5"   "true"  "false" "x"     !one    !one    !one
timeOfDay      -       -       !       !       !       !       !       !       !       !       !one    !one    !one
timeOrMidnight -       -       !       !       !       !       !       !       !       !       !one    !one    !one
timeOrMinutes  -       -       0       !       1       1       !       !       !       !       !one    !one    !one
userID         -       -       -       ?least  1       1       !       !       !       !       !one    !one    !one
wordList       -       ?empty  !       !       !       ?       !       !       !       ?       ?empty  !       !list
words          -       -       !       !       !       !       !       !       !       map[x:true] !one    !one    !one
`

// typeCase is a type of values: a field a of it, and what it says of a malformed value and of one that is not allowed.
type typeCase struct {
	field               func(got *any) Field
	malformed, rejected string
}

func of[V any](t valueType[V], malformed, rejected string) typeCase {
	return typeCase{func(got *any) Field { return custom("a", t, func(sent V) { *got = sent }) }, malformed, rejected}
}

var typesOfValues = map[string]typeCase{
	"amount":         of(amount, notANumber, ""),
	"anyID":          of(anyID, notAnInteger, ""),
	"anyText":        of(anyText, "Must be a text", ""),
	"beginning":      of(beginning, notADate, ""),
	"bookingStatus":  of(bookingStatus, "", ""),
	"boolean":        of(boolean, notABoolean, ""),
	"country":        of(country, "", notACountry),
	"cursor":         of(cursor, "Must be a cursor of an earlier response", ""),
	"customFields":   of(customFields, "", ""),
	"date":           of(date, notADate, ""),
	"dateOrNone":     of(dateOrNone, notADate, ""),
	"dateText":       of(dateText, notADate, ""),
	"day":            of(day, notADate, ""),
	"elements":       of(elements(1, 2, "things", nil), "Must be a list of 1 to 2 things", ""),
	"end":            of(end, notADate, ""),
	"filledText":     of(filledText, "Must be a text", ""),
	"fixedText":      of(fixedText, "Must be a text", ""),
	"id":             of(id(maxInt), notAnInteger, ""),
	"idList":         of(idList, "Write ids such as 3 or 3,5", ""),
	"idOrNone":       of(idOrNone, notAnInteger, ""),
	"instant":        of(instant, notAnInstant, ""),
	"integer":        of(integer(0, 1440), notAnInteger, ""),
	"oneWord":        of(oneWord("x", "y"), "", "Must be one of: x, y"),
	"plainText":      of(plainText, "", ""),
	"price":          of(price, notANumber, negative),
	"span":           {func(got *any) Field { return custom("a", span, func(s records.TimeSpan) { *got = s.From.Year() }) }, notASpan, ""},
	"text":           of(text, "", ""),
	"timeOfDay":      of(timeOfDay, notAClock, ""),
	"timeOrMidnight": of(timeOrMidnight, notAClock, ""),
	"timeOrMinutes":  of(timeOrMinutes, notATime, ""),
	"userID":         of(userID, notAnInteger, ""),
	"words":          of(words("x"), "Must be a list of: x", ""),
	"wordList":       of(wordList, notTexts, "Must be names of events, such as booking.created, booking.* or *"),
}

// outcome returns what a field of the type makes of a value, as a cell of the table.
func (c typeCase) outcome(t *testing.T, sent string, adapt func(f *Field, got *any)) string {
	t.Helper()
	var got any
	b := bodyOf(t, `{"a":`+sent+`}`)
	f := c.field(&got)
	adapt(&f, &got)
	f.read(b)
	code, problems := errorFields(t, b.Err())
	words := map[string]string{
		"": "", c.malformed: "", c.rejected: "", notSingle: "one", notAList: "list", notAnObject: "object", mayNotBeEmpty: "empty",
		"Minimum allowed value is 0": "least", "Minimum allowed value is 1": "least",
	}
	word, known := words[problems["a"]]
	text, isText := got.(string)
	switch {
	case !known:
		return problems["a"]
	case code == domain.CodeValidationFailed:
		return "?" + word
	case code != "":
		return "!" + word
	case got == nil:
		return "-"
	case isText:
		return `"` + text + `"`
	default:
		return fmt.Sprint(got)
	}
}

// TestValueTypes: in a new record, each type makes of each value what the table has. In a change, nothing is refused unless
// the field has a default, and null empties a text. Null clears a clearable field, and so does an empty text that is nothing.
func TestValueTypes(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(valueTypes), "\n")
	head := strings.Fields(lines[0])
	for context, in := range map[string]struct {
		adapt             func(f *Field, got *any)
		null, blank, zero string // what becomes of them if the table has nothing
		nullText          string // and of the null of anyText
	}{
		"a new record":            {func(*Field, *any) {}, "-", "-", "-", "-"},
		"a change":                {func(f *Field, _ *any) { f.change = true }, "?empty", "?empty", "?empty", `""`},
		"a change with a default": {func(f *Field, _ *any) { f.change, f.defaultValue = true, "" }, "-", "-", "-", `""`},
		"a clearable field":       {func(f *Field, got *any) { *f = f.orNull(func() { *got = "cleared" }) }, `"cleared"`, `"cleared"`, "-", `"cleared"`},
	} {
		for _, line := range lines[1:] {
			cells := strings.Fields(line)
			nothing := map[string]string{"null": in.null, `""`: in.blank, "0": in.zero}
			if cells[0] == "anyText" {
				nothing["null"] = in.nullText
			}
			for i, want := range cells[1:] {
				sent := head[i+1]
				if want == "-" {
					want = nothing[sent]
				}
				if got := typesOfValues[cells[0]].outcome(t, sent, in.adapt); got != want {
					t.Errorf("%s in %s: %s is %s, want %s", cells[0], context, sent, got, want)
				}
			}
		}
	}
}

// TestEveryValueTypeIsInTheTable: but for functions of which others make one.
func TestEveryValueTypeIsInTheTable(t *testing.T) {
	t.Parallel()
	parts := []string{"fromText", "parsed", "wholeNumber", "word", "midnightAfter", "unlessExported", "textOf"}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^(?:func|var) (\w+)(?:.*\) valueType\[| = (?:fromText|integer|midnightAfter|parsed|textOf|valueType|wholeNumber)\b)`)
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range declared.FindAllSubmatch(source, -1) {
			name := string(match[1])
			if found++; !strings.Contains(valueTypes, "\n"+name+" ") && !slices.Contains(parts, name) {
				t.Errorf("%s declares %s, which the table does not have", file, name)
			}
		}
	}
	if want := len(typesOfValues); found < want {
		t.Errorf("only %d types are found, want at least %d", found, want)
	}
}
