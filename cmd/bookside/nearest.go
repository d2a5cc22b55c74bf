package main

import "slices"

// nearest is the candidate with the fewest letters different from text.
func nearest(text string, candidates []string) string {
	slices.Sort(candidates)
	return slices.MinFunc(candidates, func(a, b string) int { return distance(text, a) - distance(text, b) })
}

// distance is the number of letters to insert, drop or change between a and b.
func distance(a, b string) int {
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := previous[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, previous[j+1]+1, row[j]+1)
		}
		previous = row
	}
	return previous[len(b)]
}
