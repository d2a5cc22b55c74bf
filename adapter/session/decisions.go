package session

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/extensions"
	"github.com/bookside/bookside/wpdb"
)

// askedFor caches which extensions WordPress is asked about, because finding out takes statements; only for
// a while, because settings of the plugin turn extensions on and off.
type askedFor struct {
	mu    sync.Mutex
	of    string // the companion's report, and the active plugins
	until time.Time
	extensions.Asked
}

// askedForAge is how long that is cached.
const askedForAge = time.Minute

// canAsk reports whether there is a companion that answers, and the number of listeners it reported.
// Earlier versions reported no number.
func canAsk(s *Session) (can bool, listeners string) {
	reported := s.reported(domain.OptionReported)
	if s.Platform.Asker == nil || len(reported) != 3 {
		return false, ""
	}
	return true, reported[2]
}

// Asked returns the extensions that WordPress is asked about. If nothing listens to LatePoint, it runs no
// statement.
func (s *Session) Asked(ctx context.Context) (extensions.Asked, error) {
	if can, listeners := canAsk(s); !can || listeners == "0" {
		return nil, nil
	}
	of := strings.Join([]string{wpdb.PlainText(s.options[domain.OptionReported]), wpdb.PlainText(s.options[domain.OptionActivePlugins]), wpdb.PlainText(s.options[domain.OptionEvents])}, "\n")
	cache := &s.Platform.asked
	if known, found := cache.find(of, s.Now); found {
		return known, nil
	}
	active, err := s.Extensions(ctx)
	if err != nil {
		return nil, err
	}
	cache.mu.Lock()
	defer cache.mu.Unlock()
	cache.Asked, cache.of, cache.until = extensions.AskedOf(active), of, s.Now.Add(askedForAge)
	return cache.Asked, nil
}

func (k *askedFor) find(of string, now time.Time) (asked extensions.Asked, found bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.Asked, k.of == of && now.Before(k.until)
}

// Away returns the error of an unanswered question: nil, with a warning, if requests continue as if there
// were no extensions. Other errors are returned unchanged.
func (s *Session) Away(err error, titles []string) error {
	if !errors.Is(err, extensions.ErrAway) {
		return err
	}
	names := strings.Join(titles, ", ")
	if s.Platform.Asker.Serve {
		s.Warn("WordPress does not answer: this is without " + names)
		return nil
	}
	return domain.Unavailable("Extensions of this site decide about this, and WordPress, which has to be asked, does not answer: "+names, err)
}

// undecidedError ends a transaction whose work first needs WordPress's answer about a booking. WordPress is
// asked outside of the transaction, which holds locks and a connection.
type undecidedError struct {
	question extensions.Question
	titles   []string
	refusal  error // why an earlier answer is not used; nil if there is none
}

func (*undecidedError) Error() string { return "WordPress has to be asked" }

// Decide returns WordPress's answer about a booking that the transaction is about to write; nil if it does
// not answer and need not. Titles are those of the extensions that decide.
func (tx *Tx) Decide(question extensions.Question, titles []string) (*extensions.Decision, error) {
	tx.asked = undecidedError{question: question, titles: titles}
	decision, known := tx.decisions[question]
	if !known {
		return nil, &tx.asked
	}
	return decision, nil
}

// Reconsider returns the error of a transaction that cannot use WordPress's last answer, because what it chose is refused: it
// may have been taken since. WordPress is asked again; if it answers the same, the transaction ends with the refusal.
func Reconsider(tx *Tx, refusal error) error {
	tx.asked.refusal = refusal
	return &tx.asked
}

// decide asks WordPress, for the next run of a transaction; nil as in Tx.Decide.
func (s *Session) decide(ctx context.Context, asks *undecidedError) (*extensions.Decision, error) {
	decision, err := s.Platform.Asker.Decide(ctx, asks.question)
	if err != nil {
		return nil, s.Away(err, asks.titles)
	}
	return &decision, nil
}
