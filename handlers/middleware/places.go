package middleware

import "sync"

// places are a number of places for requests; 0 is no limit.
type places struct {
	number int

	mu    sync.Mutex
	taken int
	ofKey map[int64]int
}

func newPlaces(number int) *places { return &places{number: number, ofKey: map[int64]int{}} }

// half is how many places a key may have, so that none keeps out all others.
func (p *places) half() int { return max(1, p.number/2) }

// take takes a place for a key that may have at most some, and reports whether there was one. leave gives it back.
func (p *places) take(key int64, most int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number > 0 && (p.taken >= p.number || p.ofKey[key] >= most) {
		return false
	}
	p.taken++
	p.ofKey[key]++
	return true
}

func (p *places) leave(key int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	if p.ofKey[key]--; p.ofKey[key] == 0 {
		delete(p.ofKey, key)
	}
}
