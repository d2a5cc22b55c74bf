package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/docker/load"
)

func TestResults(t *testing.T) {
	t.Parallel()
	var r results
	create := measured{"create", 2000, 16, bookside}
	r.add(create, load.Rate{Requests: 100, PerSecond: 500, Median: 900 * time.Microsecond, P99: 4 * time.Millisecond}, 3, 1)
	r.add(create, load.Rate{Requests: 90, PerSecond: 450}, 0, 0) // a worse round
	r.add(create.with(php), load.Rate{Requests: 10, PerSecond: 25, Median: 40 * time.Millisecond}, 0, 0)
	r.add(create.with(bareSQL), load.Rate{Requests: 200, PerSecond: 1000}, 0, 0)
	r.add(measured{"sync", 2000, 1, bookside}, load.Rate{Requests: 1, PerSecond: 800}, 0, 0)
	r.add(measured{"sync", 2000, 1, bareSQL}, load.Rate{Requests: 1, PerSecond: 801}, 0, 0)
	var out bytes.Buffer
	if err := r.table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"create, 16, 2000", "500", "0.90", "4.00", "20.0", "50 %", "3 of 100 requests", "100 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	picture := r.picture("a < b")
	for _, want := range []string{"a &lt; b", "create, 16, 2000", "500, p99 4.00 ms"} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	for decoder := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
