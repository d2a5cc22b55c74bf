package middleware

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// PreferredMedia returns the media type, among some besides JSON, that the values of an Accept header
// prefer; "" for JSON. A type must be named: */* and text/* stand for JSON. Among those of the same weight,
// a name beats a wildcard, and the first name beats the others.
func PreferredMedia(values, besides []string) string {
	all := accepted(values)
	place := func(name string) int {
		return slices.IndexFunc(all, func(m mediaType) bool { return m.name == name })
	}
	best, bestPlace, bestWeight := "", len(all), 0.0
	for _, name := range []string{"application/json", "application/*", "*/*"} {
		if at := place(name); at >= 0 {
			bestWeight = all[at].weight
			if name == "application/json" {
				bestPlace = at
			}
			break
		}
	}
	for _, name := range besides {
		at := place(name)
		if at < 0 || all[at].weight <= 0 {
			continue
		}
		if all[at].weight > bestWeight || all[at].weight == bestWeight && at < bestPlace {
			best, bestPlace, bestWeight = name, at, all[at].weight
		}
	}
	return best
}

// mediaType is one of the media types of an Accept header.
type mediaType struct {
	name   string
	weight float64
}

// accepted parses the values of an Accept header and ignores invalid parts.
func accepted(values []string) []mediaType {
	var all []mediaType
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, parameters, _ := strings.Cut(part, ";")
		a := mediaType{strings.ToLower(strings.TrimSpace(media)), 1}
		for parameter := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(parameter, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil || math.IsNaN(weight) {
					weight = 0
				}
				a.weight = weight
			}
		}
		all = append(all, a)
	}
	return all
}
