package extensions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/wpdb"
)

const (
	deadline = 10 * time.Second // for an answer
	// remainder is left of a request's own time, to respond without an answer.
	remainder = 2 * time.Second
	// After this many failures in a row nobody is asked for a while, so that requests do not wait in vain.
	maxFailures = 3
	rest        = 10 * time.Second
	maxKept     = 1000 // answers about times
	// maxSize limits the sum of their sizes. A start takes 16 bytes, and up to twice that as slices grow: 16
	// to 32 MB, while one answer may bring half a million starts.
	maxSize = 1_000_000
	// maxDigits limits the exponents of amounts: some with more take long to compare.
	maxDigits = 400
)

// Draft is a booking to ask WordPress about, in the plugin's own columns.
type Draft struct {
	ID           int64  `json:"id"`      // of the booking to change; 0 for a new one
	HoldID       int64  `json:"hold_id"` // of the hold whose slot it takes; 0 for none
	ServiceID    int64  `json:"service_id"`
	AgentID      int64  `json:"agent_id"`    // 0 for any
	LocationID   int64  `json:"location_id"` // 0 for any
	StartDate    string `json:"start_date"`  // YYYY-MM-DD; the first day for times
	StartTime    int    `json:"start_time"`  // minutes after midnight
	Duration     int64  `json:"duration"`    // minutes, without extras
	BufferBefore int    `json:"buffer_before"`
	BufferAfter  int    `json:"buffer_after"`
	Attendees    int64  `json:"total_attendees"`
	Extras       string `json:"service_extras_ids"` // ids and quantities, 4:2,7:1
	Status       string `json:"status"`
	CustomerID   int64  `json:"customer_id"` // 0 for a new one
	CouponCode   string `json:"coupon_code"`
	CustomFields string `json:"custom_fields"` // values by id, as JSON; "" for none
}

// OfferedTimes asks which starts are offered to a booking on a range of days, from its date on.
type OfferedTimes struct {
	Draft
	DateTo string `json:"date_to"`
}

// Offer is the answer about a booking's times.
type Offer struct {
	Duration  int // minutes, including additions by extensions
	Resources []OfferOfResource
}

// OfferOfResource is the starts of an agent at a location by date: minutes after midnight, with seats.
type OfferOfResource struct {
	Agent, Location int64
	Days            map[string][][2]int
}

// size returns about how much memory an offer takes, in starts; resources and days count as eight.
func (o Offer) size() (size int) {
	for _, resource := range o.Resources {
		size += 8
		for _, starts := range resource.Days {
			size += 8 + len(starts)
		}
	}
	return size
}

// Question is about a booking that is about to be written.
type Question struct {
	Draft
	// What is asked.
	Times      bool `json:"-"`
	Price      bool `json:"price"`
	Acceptance bool `json:"-"`
}

// Decision is the answer to a Question.
type Decision struct {
	Offer     *Offer     // of the day; nil unless times were requested
	Judgement *Judgement // nil unless more than times was requested
}

// Judgement is WordPress's answer about a new booking.
type Judgement struct {
	// Available reports whether the site would book the slot, with AgentID and LocationID, which it chose
	// if any would do.
	Available  bool
	AgentID    int64  `json:"agent_id"`
	LocationID int64  `json:"location_id"`
	Refusal    string // why the booking is refused; "" if it is accepted
	Price      *Price // nil unless requested
}

// Price is the price of a booking.
type Price struct {
	Subtotal, Total, Tax, Discount decimal.Decimal
	Item                           struct{ Subtotal, Discount, Total decimal.Decimal }
	CouponCode                     string `json:"coupon_code"` // from the request or an extension; "" for none
	Breakdown                      string // JSON
}

// storable reports whether all amounts fit into the plugin's columns. Extensions calculate with floating-point numbers.
func (p Price) storable() bool {
	amounts := []decimal.Decimal{p.Subtotal, p.Total, p.Tax, p.Discount, p.Item.Subtotal, p.Item.Discount, p.Item.Total}
	return !slices.ContainsFunc(amounts, func(d decimal.Decimal) bool {
		return d.Exponent() < -maxDigits || d.Exponent() > maxDigits || d.Abs().GreaterThan(domain.MaxAmount)
	})
}

// Asker asks WordPress. It caches answers about times for a while and shares them between equal requests.
type Asker struct {
	// Serve lets requests continue without an answer; otherwise they fail.
	Serve bool

	companion *Companion
	now       domain.Clock

	mu       sync.Mutex
	kept     map[OfferedTimes]*keptOffer
	failures int
	until    time.Time // WordPress is left alone until then
}

// keptOffer is an answer, possibly still pending.
type keptOffer struct {
	Offer
	err  error
	done chan struct{} // closed when the answer arrives
	at   time.Time     // when it was asked
}

func (k *keptOffer) pending() bool {
	select {
	case <-k.done:
		return false
	default:
		return true
	}
}

// maxAge is how long an answer about times is kept. Before a booking is written, WordPress is asked again.
const maxAge = time.Minute

// NewAsker returns an Asker.
func NewAsker(to *Companion, now domain.Clock) *Asker {
	return &Asker{companion: to, now: now, kept: map[OfferedTimes]*keptOffer{}}
}

// asked is the body of a request, answered that of its response.
type asked struct {
	Times    []OfferedTimes `json:"times"`
	Bookings []Question     `json:"bookings"`
}

type answered struct {
	Times    []Offer
	Bookings []Judgement
}

// complete reports whether everything requested was answered in a way that can be used.
func (a answered) complete(q asked) bool {
	if len(a.Times) != len(q.Times) || len(a.Bookings) != len(q.Bookings) {
		return false
	}
	for i, booking := range q.Bookings {
		if price := a.Bookings[i].Price; booking.Price && (price == nil || !price.storable()) {
			return false
		}
	}
	return !slices.ContainsFunc(a.Times, func(o Offer) bool { return o.Duration <= 0 })
}

// Offers returns the answers about several times, and requests those that are not cached in one request. It
// returns an ErrAway if WordPress does not answer.
func (a *Asker) Offers(ctx context.Context, wanted []OfferedTimes) ([]Offer, error) {
	defer wpdb.Asking(ctx)()
	found, missing := a.find(wanted)
	if len(missing) > 0 {
		go a.fetch(context.WithoutCancel(ctx), missing)
	}
	bounded, cancel := bound(ctx)
	defer cancel()
	offers := make([]Offer, len(wanted))
	for i, kept := range found {
		select {
		case <-kept.done:
		case <-bounded.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("%w in time: %w", ErrAway, bounded.Err()) // fetch notes it
		}
		if kept.err != nil {
			return nil, kept.err
		}
		offers[i] = kept.Offer
	}
	return offers, nil
}

// find returns the answers, and those among them that the caller must fetch.
func (a *Asker) find(wanted []OfferedTimes) (found []*keptOffer, missing map[OfferedTimes]*keptOffer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.now()
	a.shrink(now, len(wanted))
	missing = map[OfferedTimes]*keptOffer{}
	for _, t := range wanted {
		kept := a.kept[t]
		if kept == nil || now.Sub(kept.at) >= maxAge && missing[t] == nil {
			kept = &keptOffer{done: make(chan struct{}), at: now}
			a.kept[t], missing[t] = kept, kept
		}
		found = append(found, kept)
	}
	return found, missing
}

// shrink drops answers that have expired, and all if there are too many with those to come. It keeps those
// that are pending, because requests share them.
func (a *Asker) shrink(now time.Time, coming int) {
	size := 0
	maps.DeleteFunc(a.kept, func(_ OfferedTimes, k *keptOffer) bool {
		switch {
		case k.pending():
			return false
		case now.Sub(k.at) >= maxAge:
			return true
		}
		size += k.size()
		return false
	})
	if len(a.kept)+coming > maxKept || size > maxSize {
		maps.DeleteFunc(a.kept, func(_ OfferedTimes, k *keptOffer) bool { return !k.pending() })
	}
}

func (a *Asker) fetch(ctx context.Context, missing map[OfferedTimes]*keptOffer) {
	var q asked
	for t := range missing {
		q.Times = append(q.Times, t)
	}
	answer, err := a.ask(ctx, q)
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, t := range q.Times {
		kept := missing[t]
		if kept.err = err; err == nil {
			kept.Offer = answer.Times[i]
		} else if a.kept[t] == kept {
			delete(a.kept, t)
		}
		close(kept.done)
	}
	a.shrink(a.now(), 0)
}

// Decide returns WordPress's current answer about a booking. It returns an ErrAway if it does not
// answer.
func (a *Asker) Decide(ctx context.Context, question Question) (d Decision, err error) {
	defer wpdb.Asking(ctx)()
	var q asked
	if question.Times {
		q.Times = []OfferedTimes{{question.Draft, question.StartDate}}
	}
	if chooses := question.ID == 0 && (question.AgentID == 0 || question.LocationID == 0); chooses || question.Price || question.Acceptance {
		q.Bookings = []Question{question}
	}
	answer, err := a.ask(ctx, q)
	if err != nil {
		return d, err
	}
	if question.Times {
		d.Offer = &answer.Times[0]
	}
	if len(answer.Bookings) > 0 {
		d.Judgement = &answer.Bookings[0]
	}
	return d, nil
}

// Try sends an empty question, to test whether WordPress answers.
func (a *Asker) Try(ctx context.Context) error {
	_, err := a.ask(ctx, asked{})
	return err
}

func (a *Asker) ask(ctx context.Context, q asked) (answer answered, err error) {
	if a.resting() {
		return answer, fmt.Errorf("%w: it did not answer before", ErrAway)
	}
	bounded, cancel := bound(ctx)
	defer cancel()
	err = a.companion.Ask(bounded, "decisions", q, &answer)
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // nobody is waiting any more
		return answer, ctx.Err()
	case errors.Is(err, ErrBusy): // this says nothing about WordPress
		return answer, err
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("%w in time: %w", ErrAway, err)
	case err == nil && !answer.complete(q):
		err = fmt.Errorf("%w all that it is asked", ErrAway)
	}
	a.note(err)
	return answer, err
}

// bound returns the context of a question. Of a request's own time it leaves the remainder, or half if that
// is less.
func bound(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := deadline
	if end, limited := ctx.Deadline(); limited {
		left := time.Until(end)
		limit = min(limit, left-min(remainder, left/2))
	}
	return context.WithTimeout(ctx, limit)
}

// Unanswered reports whether the last question was not answered.
func (a *Asker) Unanswered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failures > 0
}

// resting reports whether WordPress is left alone for now.
func (a *Asker) resting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now().Before(a.until)
}

// note counts failures in a row.
func (a *Asker) note(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !errors.Is(err, ErrAway) || errors.Is(err, ErrFailed) {
		a.failures = 0 // an extension that fails at one question must not keep others from being asked
		return
	}
	if a.failures++; a.failures >= maxFailures {
		a.until = a.now().Add(rest)
	}
}
