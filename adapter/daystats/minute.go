package daystats

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Outcome is how a request ended.
type Outcome int

// The outcomes. Those from Limited on are refusals: the request was fine but came at the wrong time.
const (
	Succeeded    Outcome = iota
	Rejected             // the client's mistake
	Failed               // our mistake, or the database's
	Limited              // by the limit of the key
	Throttled            // the address sent too many invalid keys
	Overloaded           // too many requests at once, or no memory
	Disconnected         // no database connection became free
	outcomes
)

// Minute holds the figures of one minute, or the sum of several.
type Minute struct {
	Requests [outcomes]int64
	// Connections to the database: the most in use at once, and the limit.
	Connections, ConnectionLimit int64
	Durations                    Durations
	Keys                         map[int64]int64 // requests, by the id of the key
}

// Of returns the number of requests with the given outcomes.
func (m *Minute) Of(which ...Outcome) (n int64) {
	for _, o := range which {
		n += m.Requests[o]
	}
	return n
}

// Total returns the number of requests.
func (m *Minute) Total() (n int64) {
	for _, requests := range m.Requests {
		n += requests
	}
	return n
}

// add adds requests of the same time from another server, or of another time.
func (m *Minute) add(other *Minute) {
	for i, n := range other.Requests {
		m.Requests[i] += n
	}
	for i, n := range other.Durations {
		m.Durations[i] += n
	}
	for id, n := range other.Keys {
		if m.Keys == nil {
			m.Keys = map[int64]int64{}
		}
		m.Keys[id] += n
	}
}

// addServer adds the same minute of another server, which has its own connections.
func (m *Minute) addServer(other *Minute) {
	m.add(other)
	m.Connections += other.Connections
	m.ConnectionLimit += other.ConnectionLimit
}

// addLater adds another minute.
func (m *Minute) addLater(other *Minute) {
	m.add(other)
	m.Connections = max(m.Connections, other.Connections)
	m.ConnectionLimit = max(m.ConnectionLimit, other.ConnectionLimit)
}

// Durations counts requests by how long they took. Each class ends at √2 times the end of the previous one,
// so a percentile is off by a fifth at most.
type Durations [32]int64

// shortest is the end of the first class.
const shortest = 500 * time.Microsecond

// classEnd returns the end of a class. The last one is unbounded but is treated as if it ended like the
// others.
func classEnd(class int) time.Duration {
	return time.Duration(float64(shortest) * math.Pow(2, float64(class)/2))
}

func (d *Durations) count(took time.Duration) {
	class := 0
	if took > shortest {
		class = min(int(math.Ceil(2*math.Log2(float64(took)/float64(shortest)))), len(d)-1)
	}
	d[class]++
}

// Percentile returns the duration within which a share of the requests, such as 0.95, was answered; ok is
// false without requests.
func (d *Durations) Percentile(share float64) (took time.Duration, ok bool) {
	var total int64
	for _, n := range d {
		total += n
	}
	if total == 0 {
		return 0, false
	}
	rank, before := share*float64(total), int64(0)
	for class, n := range d {
		if n == 0 || float64(before+n) < rank {
			before += n
			continue
		}
		var start time.Duration
		if class > 0 {
			start = classEnd(class - 1)
		}
		return start + time.Duration((rank-float64(before))/float64(n)*float64(classEnd(class)-start)), true
	}
	return classEnd(len(d) - 1), true
}

// encode writes the nonzero counts as class:count.
func (d *Durations) encode() string {
	counts := map[int64]int64{}
	for class, n := range d {
		if n > 0 {
			counts[int64(class)] = n
		}
	}
	return encodeCounts(counts)
}

func decodeDurations(text string) (d Durations) {
	for class, n := range decodeCounts(text) {
		if class >= 0 && class < int64(len(d)) {
			d[class] = n
		}
	}
	return d
}

// encodeCounts writes counts as id:count, largest first, until the column is full.
func encodeCounts(counts map[int64]int64) string {
	ids := slices.SortedFunc(maps.Keys(counts), func(a, b int64) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var text strings.Builder
	for _, id := range ids {
		pair := strconv.FormatInt(id, 10) + ":" + strconv.FormatInt(counts[id], 10)
		if text.Len()+len(pair)+1 > columnSize {
			break
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(pair)
	}
	return text.String()
}

// columnSize is the size of the columns that hold counts.
const columnSize = 4000

// decodeCounts reads the output of encodeCounts. It skips what cannot be read: a figure is not worth an
// error.
func decodeCounts(text string) map[int64]int64 {
	counts := map[int64]int64{}
	for pair := range strings.SplitSeq(text, ",") {
		before, after, _ := strings.Cut(pair, ":")
		id, err := strconv.ParseInt(before, 10, 64)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(after, 10, 64); err == nil {
			counts[id] = n
		}
	}
	return counts
}

// numbered is a minute of one server; minutes are counted from 1970.
type numbered struct {
	number int64
	server string
	Minute
}

func numberOf(t time.Time) int64 { return t.Unix() / 60 }

// slots sums minutes into n equal parts of the time that ends with the minute last. It ignores minutes
// outside that time.
func slots(minutes []numbered, last int64, n, width int) []Minute {
	together := map[int64]*Minute{}
	for i := range minutes {
		m := &minutes[i]
		if together[m.number] == nil {
			together[m.number] = &Minute{}
		}
		together[m.number].addServer(&m.Minute)
	}
	all := make([]Minute, n)
	first := last + 1 - int64(n*width)
	for number, m := range together {
		if number >= first && number <= last {
			all[(number-first)/int64(width)].addLater(m)
		}
	}
	return all
}
