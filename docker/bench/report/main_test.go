package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const measurementLines = `rate	status	equal	bookside	5000	900	4000
rate	status	equal	sql	10000	500	1000
rate	status	equal	php	50	9000	99000
rate	bookings	different	bookside	800.4	9000	30000
size	bookings	2000	1500
size	bookings	1000000	3000
`

func TestReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "picture.svg")
	var out bytes.Buffer
	if err := run([]string{"-svg", path, "-title", "a < b"}, strings.NewReader(measurementLines), &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"50 %", "100.0", "0.90", "800", "1000000 bookings", "3.00"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	picture, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a &lt; b", "status, equal", "5000, p99 4.00 ms", "polyline"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	for decoder := xml.NewDecoder(bytes.NewReader(picture)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnreadableMeasurements(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"word":   "speed\tx",
		"short":  "rate\tstatus\tequal\tbookside\t1",
		"number": "size\tbookings\tmany\t1",
		"system": "rate\tstatus\tequal\truby\t1\t1\t1",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := run(nil, strings.NewReader(line), io.Discard); err == nil || !strings.HasPrefix(err.Error(), "line 1: ") {
				t.Errorf("error %v, want one that names line 1", err)
			}
		})
	}
}
