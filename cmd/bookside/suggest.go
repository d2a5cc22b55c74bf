package main

import "slices"

// suggest returns the candidate with the smallest edit distance to text.
func suggest(text string, candidates []string) string {
	slices.Sort(candidates)
	return slices.MinFunc(candidates, func(a, b string) int { return editDistance(text, a) - editDistance(text, b) })
}

// editDistance returns the number of bytes to insert, delete or replace between
// a and b (Levenshtein distance).
func editDistance(a, b string) int {
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			replace := previous[j]
			if a[i] != b[j] {
				replace++
			}
			row[j+1] = min(replace, previous[j+1]+1, row[j]+1)
		}
		previous = row
	}
	return previous[len(b)]
}
