package middleware

import (
	"math"
	"strconv"
	"strings"
)

// MediaType is one of the media types of an Accept header.
type MediaType struct {
	Name   string
	Weight float64
}

// Accepted reads the values of an Accept header. What cannot be read accepts nothing.
func Accepted(values []string) []MediaType {
	var all []MediaType
	for part := range strings.SplitSeq(strings.Join(values, ","), ",") {
		media, parameters, _ := strings.Cut(part, ";")
		a := MediaType{strings.ToLower(strings.TrimSpace(media)), 1}
		for parameter := range strings.SplitSeq(parameters, ";") {
			name, value, _ := strings.Cut(parameter, "=")
			if strings.EqualFold(strings.TrimSpace(name), "q") {
				weight, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
				if err != nil || math.IsNaN(weight) {
					weight = 0
				}
				a.Weight = weight
			}
		}
		all = append(all, a)
	}
	return all
}
