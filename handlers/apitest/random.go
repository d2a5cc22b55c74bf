package apitest

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"

	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/handlers"
)

// Random is a source of random bytes that requests may read at the same time.
type Random struct {
	mu     sync.Mutex
	source *rand.ChaCha8
}

// NewWriter serves its own site, with codes and keys that are always the same.
func NewWriter(t testing.TB, site fixtures.Site, change ...func(*handlers.Options)) *Server {
	t.Helper()
	s := NewServer(t, fixtures.New(t, site), change...)
	s.Platform.Random = SameRandom(0)
	s.Platform.Pick = func(int) int { return 0 }
	s.Get("/status").Want(http.StatusOK) // records the use of the key
	return s
}

// SameRandom returns a source whose bytes depend only on the seed.
func SameRandom(seed byte) *Random { return &Random{source: rand.NewChaCha8([32]byte{seed})} }

// Read implements io.Reader.
func (r *Random) Read(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.source.Read(b)
}
