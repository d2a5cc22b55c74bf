package domain

import (
	"slices"
	"strings"
)

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

// Likely returns the candidate that a text in any letter case may be a misspelling of, what a service costs for its price, or "".
func Likely(text string, candidates []string) string {
	if closest, likely := Closest(strings.ToLower(text), candidates); likely {
		return closest
	}
	const charge = "charge_amount"
	if strings.EqualFold(text, "price") && slices.Contains(candidates, charge) {
		return charge
	}
	return ""
}

// editDistance returns the number of bytes to insert, delete or replace between
// a and b (Levenshtein distance), where two swapped ones count as one.
func editDistance(a, b string) int {
	var before []int
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
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
