package main

import "bookside/adapter/domain"

// suggest returns the candidate that is closest to text.
func suggest(text string, candidates []string) string {
	closest, _ := domain.Closest(text, candidates)
	return closest
}
