package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestCostTable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	expect.NoError(t, costTable(&out, []cost{{"a booking", 4, 7.25, 1500 * time.Microsecond, 2 * time.Millisecond}, {"create", 14, 41, time.Millisecond, 0}}))
	if want := "| a booking | 4.0 | 7.2 | 1.50 | 2.00 |\n| create | 14.0 | 41.0 | 1.00 | – |\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("the table is\n%s", out.String())
	}
}

func TestResults(t *testing.T) {
	t.Parallel()
	var r results
	create := measured{"create", 2000, 16, bookside}
	r.add(create, rate{requests: 100, perSecond: 500, median: 900 * time.Microsecond, p99: 4 * time.Millisecond}, 3, 1)
	r.add(create, rate{requests: 90, perSecond: 450}, 0, 0) // a worse round
	r.add(create.with(php), rate{requests: 10, perSecond: 25, median: 40 * time.Millisecond}, 0, 0)
	r.add(create.with(bareSQL), rate{requests: 200, perSecond: 1000}, 0, 0)
	r.add(measured{"sync", 2000, 1, bookside}, rate{requests: 1, perSecond: 800}, 0, 0)
	r.add(measured{"sync", 2000, 1, bareSQL}, rate{requests: 1, perSecond: 801}, 0, 0)
	var out bytes.Buffer
	expect.NoError(t, r.table(&out))
	for _, want := range []string{
		"| create | 2000 | 16 | 500 | 0.90 | 4.00 | 25 | 20.0 | 1000 | 50 % |", "| sync | 2000 | 1 | 800 | 0.00 | 0.00 |  |  | 801 | 100 % |", "create with 16 clients: 3 of 100 requests",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}
