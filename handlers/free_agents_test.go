package handlers_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
)

// TestAgentsOfStarts: with=agents adds to each start the agents for whom alone the start is offered.
func TestAgentsOfStarts(t *testing.T) {
	t.Parallel()
	s := newServer(t, small(t))
	type day struct {
		Data struct {
			Slots []struct {
				Start  string  `json:"start_time"`
				Agents []int64 `json:"agents"`
			} `json:"slots"`
		} `json:"data"`
	}
	read := func(query string) (d day) {
		t.Helper()
		if err := json.Unmarshal(s.get("/availability?"+query).want(http.StatusOK).body, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	shared, starts := 0, 0
	for _, service := range s.get("/services").records() {
		for _, location := range []string{"", "&location_id=any"} {
			query := fmt.Sprintf("service_id=%v&date=2026-11-24%s", service["id"], location)
			alone := map[string][]int64{}
			for _, agent := range s.get("/agents").records() {
				id, err := json.Number(agent["id"].(string)).Int64()
				if err != nil {
					t.Fatal(err)
				}
				if a := s.get(fmt.Sprintf("/availability?%s&agent_id=%d", query, id)); a.status == http.StatusOK {
					for _, slot := range read(fmt.Sprintf("%s&agent_id=%d", query, id)).Data.Slots {
						alone[slot.Start] = append(alone[slot.Start], id)
					}
				}
			}
			for _, slot := range read(query + "&agent_id=any&with=agents").Data.Slots {
				starts++
				slices.Sort(alone[slot.Start])
				if !slices.Equal(slot.Agents, alone[slot.Start]) {
					t.Errorf("%s at %s: agents %d, alone %d", query, slot.Start, slot.Agents, alone[slot.Start])
				}
				if len(slot.Agents) > 1 {
					shared++
				}
			}
			for _, slot := range read(query + "&agent_id=any").Data.Slots {
				if slot.Agents != nil {
					t.Errorf("%s at %s: agents %d without with=agents", query, slot.Start, slot.Agents)
				}
			}
		}
	}
	if starts < 20 || shared < 5 {
		t.Errorf("only %d starts, %d of several agents", starts, shared)
	}
	for query, name := range map[string]string{"with=people": "with", "with=agents&date_to=2026-11-25": "with"} {
		a := s.get("/availability?service_id=1&agent_id=any&date=2026-11-24&" + query)
		if a.status != http.StatusBadRequest && a.status != http.StatusUnprocessableEntity || a.at("error", "details", name) == nil {
			t.Errorf("%s: %d %s", query, a.status, a.body)
		}
	}
}
