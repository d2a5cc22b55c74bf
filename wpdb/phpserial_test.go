package wpdb

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// phpWantPair and phpWantArray describe an expected array.
type (
	phpWantPair  struct{ Key, Value any }
	phpWantArray []phpWantPair
)

// plainPHP converts arrays to pairs for comparison.
func plainPHP(value any) any {
	array, ok := value.(*PHPArray)
	if !ok {
		return value
	}
	list := phpWantArray{}
	for k, v := range array.All() {
		list = append(list, phpWantPair{k, plainPHP(v)})
	}
	return list
}

func TestUnserializePHP(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in   string
		want any
	}{
		"null":                    {`N;`, nil},
		"false":                   {`b:0;`, false},
		"true":                    {`b:1;`, true},
		"zero":                    {`i:0;`, int64(0)},
		"smallest integer":        {`i:-9223372036854775808;`, int64(math.MinInt64)},
		"largest integer":         {`i:9223372036854775807;`, int64(math.MaxInt64)},
		"float":                   {`d:0.1;`, 0.1},
		"float without fraction":  {`d:3;`, 3.0},
		"float of 17 digits":      {`d:0.10000000000000001;`, 0.1},
		"float with exponent":     {`d:1.0E+25;`, 1e25},
		"float, small":            {`d:-4.9406564584124654E-324;`, -math.SmallestNonzeroFloat64},
		"infinity":                {`d:INF;`, math.Inf(1)},
		"minus infinity":          {`d:-INF;`, math.Inf(-1)},
		"empty string":            {`s:0:"";`, ""},
		"string of its own marks": {`s:6:"a";}:"";`, `a";}:"`},
		"length in bytes":         {`s:8:"Zoë😀";`, "Zoë😀"},
		"not UTF-8":               {"s:2:\"\xff\x00\";", "\xff\x00"},
		"empty array":             {`a:0:{}`, phpWantArray{}},
		"active_plugins": {
			`a:2:{i:0;s:23:"latepoint/latepoint.php";i:2;s:19:"akismet/akismet.php";}`,
			phpWantArray{{int64(0), "latepoint/latepoint.php"}, {int64(2), "akismet/akismet.php"}},
		},
		"active_sitewide_plugins": {
			`a:1:{s:23:"latepoint/latepoint.php";i:1718000000;}`,
			phpWantArray{{"latepoint/latepoint.php", int64(1718000000)}},
		},
		"wp_capabilities": {`a:1:{s:13:"administrator";b:1;}`, phpWantArray{{"administrator", true}}},
		"cron": {
			`a:2:{i:1718000060;a:1:{s:23:"latepoint_process_queue";a:1:{s:32:"40cd750bba9870f18aada2478b24840a";` +
				`a:3:{s:8:"schedule";s:5:"5min+";s:4:"args";a:0:{}s:8:"interval";i:300;}}}s:7:"version";i:2;}`,
			phpWantArray{
				{int64(1718000060), phpWantArray{{"latepoint_process_queue", phpWantArray{{"40cd750bba9870f18aada2478b24840a", phpWantArray{
					{"schedule", "5min+"}, {"args", phpWantArray{}}, {"interval", int64(300)},
				}}}}}},
				{"version", int64(2)},
			},
		},
		"key of digits":        {`a:3:{s:1:"7";N;s:2:"07";N;s:2:"-0";N;}`, phpWantArray{{int64(7), nil}, {"07", nil}, {"-0", nil}}},
		"key that comes again": {`a:3:{i:7;i:1;i:8;i:2;s:1:"7";i:3;}`, phpWantArray{{int64(7), int64(3)}, {int64(8), int64(2)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := UnserializePHP(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, plainPHP(got)); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
		})
	}
}

// nestedPHP returns an array nested to a depth.
func nestedPHP(depth int) string {
	return strings.Repeat(`a:1:{i:0;`, depth-1) + `a:0:{}` + strings.Repeat(`}`, depth-1)
}

func TestUnserializePHPRejects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in     string
		offset int
	}{
		"nothing":                     {``, 0},
		"one byte":                    {`a`, 0},
		"plain text":                  {`yes`, 0},
		"unknown kind":                {`x:1;`, 0},
		"escaped string":              {`S:1:"\41";`, 0},
		"blank in front":              {` i:1;`, 0},
		"newline behind":              {"i:1;\n", 4},
		"second value":                {`i:1;i:2;`, 4},
		"null without end":            {`N`, 0},
		"boolean of 2":                {`b:2;`, 0},
		"boolean by name":             {`b:true;`, 0},
		"integer without end":         {`i:1`, 0},
		"integer without digits":      {`i:;`, 0},
		"integer with plus":           {`i:+1;`, 0},
		"integer with leading zero":   {`i:01;`, 0},
		"integer too large":           {`i:9223372036854775808;`, 0},
		"float too large":             {`d:1E+999;`, 0},
		"float in hexadecimal":        {`d:0x1p-2;`, 0},
		"float with underscore":       {`d:1_0;`, 0},
		"float by a Go name":          {`d:Infinity;`, 0},
		"string longer than told":     {`s:1:"ab";`, 5},
		"string shorter than told":    {`s:3:"ab";`, 5},
		"string longer than input":    {`s:4000000:"ab";`, 11},
		"string of negative length":   {`s:-1:"";`, 0},
		"string without opening":      {`s:1:a";`, 0},
		"string without end":          {`s:2:"ab"`, 5},
		"length in characters":        {`s:3:"Zoë";`, 5},
		"length beyond int":           {`s:99999999999999999999:"";`, 0},
		"array of too many pairs":     {`a:1000000:{i:0;N;}`, 11},
		"array of too few pairs":      {`a:1:{i:0;N;i:1;N;}`, 11},
		"array without closing":       {`a:1:{i:0;N;`, 11},
		"array with odd values":       {`a:1:{i:0;}      `, 9},
		"array ended by semicolon":    {`a:0:{};`, 6},
		"array of negative length":    {`a:-1:{}`, 0},
		"key that is a float":         {`a:1:{d:1;N;}`, 5},
		"key that is an array":        {`a:1:{a:0:{}N;}`, 5},
		"one array too deep":          {nestedPHP(maxPHPSerialDepth + 1), 9 * maxPHPSerialDepth},
		"bad value in array":          {`a:1:{i:0;b:7;}`, 9},
		"longer than 4 MiB, all told": {`s:4194304:"` + strings.Repeat("x", 1<<22) + `";`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := UnserializePHP(tc.in)
			var rejected *PHPSerialError
			if !errors.As(err, &rejected) {
				t.Fatalf("got %v and error %v, want a *PHPSerialError", got, err)
			}
			if got != nil || rejected.Offset != tc.offset {
				t.Errorf("got %v refused at %d, want nothing refused at %d", got, rejected.Offset, tc.offset)
			}
		})
	}
}

func TestUnserializePHPObjects(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"object":             `O:8:"stdClass":1:{s:3:"key";s:6:"secret";}`,
		"own serialisation":  `C:11:"ArrayObject":6:{x:i:0;}`,
		"enumeration":        `E:11:"Suit:Hearts";`,
		"reference":          `R:1;`,
		"reference to a key": `r:1;`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := UnserializePHP(`a:1:{i:0;` + in + `}`)
			var rejected *PHPSerialError
			if !errors.Is(err, ErrPHPObject) || !errors.As(err, &rejected) || rejected.Offset != 9 {
				t.Errorf("error %v, want ErrPHPObject at offset 9", err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Error("the error shows the value")
			}
		})
	}
}

func TestPHPArrayLookup(t *testing.T) {
	t.Parallel()
	value, err := UnserializePHP(`a:3:{s:5:"admin";b:1;i:7;s:5:"seven";s:4:"none";N;}`)
	if err != nil {
		t.Fatal(err)
	}
	array, ok := value.(*PHPArray)
	if !ok || array.Len() != 3 {
		t.Fatalf("got %#v, want an array of 3", value)
	}
	type found struct {
		value any
		ok    bool
	}
	get := func(value any, ok bool) found { return found{value, ok} }
	for name, tc := range map[string]struct{ got, want found }{
		"by name":                  {get(array.Get("admin")), found{true, true}},
		"by number":                {get(array.Index(7)), found{"seven", true}},
		"by number as text":        {get(array.Get("7")), found{"seven", true}},
		"null is there":            {get(array.Get("none")), found{nil, true}},
		"absent name":              {get(array.Get("Admin")), found{}},
		"absent number":            {get(array.Index(0)), found{}},
		"text that only resembles": {get(array.Get("+7")), found{}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("%s: got %v, want %v", name, tc.got, tc.want)
			}
		})
	}
	for range array.All() {
		break // stopping the iteration early is allowed
	}
}

// FuzzUnserializePHP: any accepted value can be serialised and read again as the same
// value.
func FuzzUnserializePHP(f *testing.F) {
	for _, seed := range []string{
		`N;`, `b:1;`, `i:-5;`, `d:1.5E+3;`, `d:-INF;`, `d:NAN;`, `s:3:"a;b";`, `O:1:"a":0:{}`, `a:1000000:{i:0;N;}`,
		`a:1:{i:0;s:23:"latepoint/latepoint.php";}`, `a:1:{s:13:"administrator";b:1;}`, `a:2:{i:7;N;s:1:"7";a:0:{}}`,
		nestedPHP(maxPHPSerialDepth), nestedPHP(maxPHPSerialDepth + 1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		value, err := UnserializePHP(in)
		if err != nil {
			var rejected *PHPSerialError
			if !errors.As(err, &rejected) || rejected.Offset < 0 || rejected.Offset > len(in) {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		written := serializePHP(value)
		again, err := UnserializePHP(written)
		if err != nil {
			t.Fatalf("%q was read, but not when written as %q: %v", in, written, err)
		}
		if rewritten := serializePHP(again); rewritten != written {
			t.Fatalf("%q became %q", written, rewritten)
		}
	})
}
