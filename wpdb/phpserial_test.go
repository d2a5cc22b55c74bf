package wpdb

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

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
		"empty array":             {`a:0:{}`, map[any]any{}},
		"active_plugins": {
			`a:2:{i:0;s:23:"latepoint/latepoint.php";i:2;s:19:"akismet/akismet.php";}`,
			map[any]any{int64(0): "latepoint/latepoint.php", int64(2): "akismet/akismet.php"},
		},
		"wp_capabilities": {`a:1:{s:13:"administrator";b:1;}`, map[any]any{"administrator": true}},
		"cron": {
			`a:2:{i:1718000060;a:1:{s:23:"latepoint_process_queue";a:1:{s:32:"40cd750bba9870f18aada2478b24840a";` +
				`a:3:{s:8:"schedule";s:5:"5min+";s:4:"args";a:0:{}s:8:"interval";i:300;}}}s:7:"version";i:2;}`,
			map[any]any{
				int64(1718000060): map[any]any{"latepoint_process_queue": map[any]any{"40cd750bba9870f18aada2478b24840a": map[any]any{
					"schedule": "5min+", "args": map[any]any{}, "interval": int64(300),
				}}},
				"version": int64(2),
			},
		},
		"key of digits":        {`a:3:{s:1:"7";N;s:2:"07";N;s:2:"-0";N;}`, map[any]any{int64(7): nil, "07": nil, "-0": nil}},
		"key that comes again": {`a:3:{i:7;i:1;i:8;i:2;s:1:"7";i:3;}`, map[any]any{int64(7): int64(3), int64(8): int64(2)}},
	} {
		got, err := UnserializePHP(tc.in)
		expect.NoError(t, err, name)
		expect.Equal(t, tc.want, got, name, ": value")
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
		"object":                      {`a:1:{i:0;O:8:"stdClass":1:{s:3:"key";s:6:"secret";}}`, 9},
		"own serialisation":           {`a:1:{i:0;C:11:"ArrayObject":6:{x:i:0;}}`, 9},
		"enumeration":                 {`a:1:{i:0;E:11:"Suit:Hearts";}`, 9},
		"reference":                   {`a:1:{i:0;R:1;}`, 9},
		"reference to a key":          {`a:1:{i:0;r:1;}`, 9},
		"longer than 4 MiB, all told": {`s:4194304:"` + strings.Repeat("x", 1<<22) + `";`, 0},
	} {
		got, err := UnserializePHP(tc.in)
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Error("the error shows the value")
		}
		if got != nil || err == nil || !strings.Contains(err.Error(), fmt.Sprintf("offset %d: ", tc.offset)) {
			t.Errorf("%s: got %v, error %v, want one at offset %d", name, got, err, tc.offset)
		}
	}
}

// FuzzUnserializePHP: whatever a text is, it is read or refused, and one that is read fills its length.
func FuzzUnserializePHP(f *testing.F) {
	for _, seed := range []string{
		`N;`, `b:1;`, `i:-5;`, `d:1.5E+3;`, `d:-INF;`, `d:NAN;`, `s:3:"a;b";`, `O:1:"a":0:{}`, `a:1000000:{i:0;N;}`,
		`a:1:{i:0;s:23:"latepoint/latepoint.php";}`, `a:1:{s:13:"administrator";b:1;}`, `a:2:{i:7;N;s:1:"7";a:0:{}}`,
		nestedPHP(maxPHPSerialDepth), nestedPHP(maxPHPSerialDepth + 1),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		if _, err := UnserializePHP(in); err != nil {
			return
		}
		if value, err := UnserializePHP(in + "N;"); err == nil {
			t.Fatalf("%q is read, and with more behind it as %v", in, value)
		}
	})
}
