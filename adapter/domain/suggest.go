package domain

import "slices"

// Closest returns the candidate with the smallest edit distance to a text, or "" without candidates. likely
// reports whether the text may be a misspelling of it.
func Closest(text string, candidates []string) (closest string, likely bool) {
	least := -1
	for _, candidate := range slices.Sorted(slices.Values(candidates)) {
		if distance := editDistance(text, candidate); least < 0 || distance < least {
			closest, least = candidate, distance
		}
	}
	return closest, least >= 0 && least <= max(1, len(closest)/3)
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
