package rowdiff

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// Kind is how rows differ.
type Kind string

// The kinds of differences.
const (
	MissingRow    Kind = "missing row"    // only PHP's copy has it
	AdditionalRow Kind = "additional row" // only Bookside's copy has it
	OtherValue    Kind = "value"
)

// Difference is a row, or a value in it, that a request left in only one of the copies.
type Difference struct {
	Kind     Kind
	Table    wpdb.Table
	Key      int64             // in the copy that has the row, otherwise in PHP's
	Column   string            // with a different value
	PHP      *string           // its values, nil for NULL
	Bookside *string           //
	Row      map[string]string // the values of a missing or additional row
	// Touched is set if Bookside changed the row too.
	Touched bool
}

// Counts are the numbers of rows of a table that a request changed.
type Counts struct {
	Table     wpdb.Table `json:"table"`
	PHP       int        `json:"php_rows"`
	Bookside  int        `json:"bookside_rows"`
	Differing int        `json:"differences"`
}

// Pair is both copies.
type Pair struct {
	php, bookside           *Copy
	phpState, booksideState state
	mapping                 *Mapping
	told                    map[string]bool // differences that were returned before
}

// NewPair reads the state of both copies. differing are the numbers of rows that already differ, by table;
// if there are any, nothing can be compared.
func NewPair(ctx context.Context, php, bookside *Copy, tolerance time.Duration) (p *Pair, differing map[wpdb.Table]int, err error) {
	p = &Pair{php: php, bookside: bookside, mapping: newMapping(tolerance), told: map[string]bool{}}
	if err := p.read(ctx); err != nil {
		return nil, nil, err
	}
	differing = map[wpdb.Table]int{}
	for _, t := range php.tables {
		if n := changesBetween(p.phpState[t.name], p.booksideState[t.name]).rows(); n > 0 {
			differing[t.name] = n
		}
	}
	return p, differing, nil
}

func (p *Pair) read(ctx context.Context) (err error) {
	if p.phpState, err = p.php.state(ctx); err != nil {
		return fmt.Errorf("copy of PHP: %w", err)
	}
	if p.booksideState, err = p.bookside.state(ctx); err != nil {
		return fmt.Errorf("copy of Bookside: %w", err)
	}
	return nil
}

// Mapping returns the equivalences of both copies.
func (p *Pair) Mapping() *Mapping { return p.mapping }

// Next compares what was written since the last call, or since NewPair.
func (p *Pair) Next(ctx context.Context) (differences []Difference, counts []Counts, err error) {
	phpBefore, booksideBefore := p.phpState, p.booksideState
	if err := p.read(ctx); err != nil {
		return nil, nil, err
	}
	var touched []*written
	for _, t := range p.php.tables {
		w := &written{
			table: t, php: changesBetween(phpBefore[t.name], p.phpState[t.name]), bookside: changesBetween(booksideBefore[t.name], p.booksideState[t.name]),
		}
		if w.php.rows()+w.bookside.rows() == 0 {
			continue
		}
		if err := p.load(ctx, w); err != nil {
			return nil, nil, err
		}
		touched = append(touched, w)
	}
	// Ids are matched before values are compared, because tables refer to each other.
	for range 2 { // the second time with the codes of the first
		for _, w := range touched {
			w.pairs = p.match(w)
			for _, pair := range w.pairs {
				p.mapping.learn(w.table, pair[0], pair[1])
			}
			for key := range w.booksideTouch {
				if php, bookside, ok := p.both(w, key); ok {
					p.mapping.learnCodes(w.table, php, bookside)
				}
			}
		}
	}
	for _, w := range touched {
		found := p.news(p.compare(w))
		differences = append(differences, found...)
		counts = append(counts, Counts{w.table.name, w.php.rows(), w.bookside.rows(), len(found)})
	}
	return differences, counts, nil
}

// written is what a request wrote to a table.
type written struct {
	table                     table
	php, bookside             changes
	phpRows, booksideRows     map[int64]record // those that exist
	pairs                     [][2]record      // equivalent inserted rows
	phpTouched, booksideTouch map[int64]bool
}

// load reads the rows that one of the sides changed, from both copies.
func (p *Pair) load(ctx context.Context, w *written) (err error) {
	theirs := slices.Concat(w.php.inserted, w.php.updated)
	ours := slices.Concat(w.bookside.inserted, w.bookside.updated)
	back := map[int64]int64{} // from PHP's ids to Bookside's
	for id, phpID := range p.mapping.ids[w.table.name] {
		back[phpID] = id
	}
	w.phpTouched, w.booksideTouch = map[int64]bool{}, map[int64]bool{}
	for _, key := range slices.Concat(w.php.updated, w.php.deleted) {
		other, ok := back[key]
		if !ok {
			other = key
		}
		w.phpTouched[key] = true
		ours = append(ours, other)
	}
	for _, key := range slices.Concat(w.bookside.updated, w.bookside.deleted) {
		phpKey := p.mapping.phpID(w.table.name, key)
		w.phpTouched[phpKey], w.booksideTouch[phpKey] = true, true
		theirs = append(theirs, phpKey)
	}
	if w.phpRows, err = p.php.records(ctx, w.table, theirs); err != nil {
		return err
	}
	w.booksideRows, err = p.bookside.records(ctx, w.table, ours)
	return err
}

// both returns a row that existed before, by its key in PHP's copy.
func (p *Pair) both(w *written, key int64) (php, bookside record, ok bool) {
	php, ok = w.phpRows[key]
	for other, r := range w.booksideRows {
		if p.mapping.phpID(w.table.name, other) == key {
			return php, r, ok
		}
	}
	return php, bookside, false
}

// match finds, for each row that PHP inserted, the most similar one of Bookside.
func (p *Pair) match(w *written) [][2]record {
	rest := slices.Clone(w.bookside.inserted)
	var pairs [][2]record
	for _, key := range w.php.inserted {
		best, fewest := -1, 0
		for i, other := range rest {
			n := len(p.columns(w.table, w.phpRows[key], w.booksideRows[other]))
			if best < 0 || n < fewest {
				best, fewest = i, n
			}
		}
		if best < 0 {
			break
		}
		pairs = append(pairs, [2]record{w.phpRows[key], w.booksideRows[rest[best]]})
		rest = slices.Delete(rest, best, best+1)
	}
	return pairs
}

// columns returns the columns in which two rows differ.
func (p *Pair) columns(t table, php, bookside record) []string {
	var differing []string
	for _, column := range t.columns {
		a, b := php.values[column], bookside.values[column]
		switch {
		case column == t.key:
		case a == nil || b == nil:
			if a != b {
				differing = append(differing, column)
			}
		case !p.mapping.same(t.name, column, *a, *b):
			differing = append(differing, column)
		}
	}
	return differing
}

func (p *Pair) compare(w *written) []Difference {
	var found []Difference
	values := func(php, bookside record, touched bool) {
		for _, column := range p.columns(w.table, php, bookside) {
			found = append(found, Difference{
				Kind: OtherValue, Table: w.table.name, Key: php.key, Column: column, PHP: php.values[column], Bookside: bookside.values[column], Touched: touched,
			})
		}
	}
	paired := map[int64]bool{} // PHP's keys
	ours := map[int64]bool{}
	for _, pair := range w.pairs {
		paired[pair[0].key], ours[pair[1].key] = true, true
		values(pair[0], pair[1], true)
	}
	for _, key := range w.php.inserted {
		if !paired[key] {
			found = append(found, p.row(MissingRow, w, w.phpRows[key]))
		}
	}
	for _, key := range w.bookside.inserted {
		if !ours[key] {
			found = append(found, p.row(AdditionalRow, w, w.booksideRows[key]))
		}
	}
	byPHP := map[int64]record{}
	for key, r := range w.booksideRows {
		byPHP[p.mapping.phpID(w.table.name, key)] = r
	}
	for _, key := range slices.Sorted(maps.Keys(w.phpTouched)) {
		php, inPHP := w.phpRows[key]
		bookside, inBookside := byPHP[key]
		switch {
		case inPHP && inBookside:
			values(php, bookside, w.booksideTouch[key])
		case inPHP:
			found = append(found, p.row(MissingRow, w, php))
		case inBookside:
			found = append(found, p.row(AdditionalRow, w, bookside))
		}
	}
	return found
}

func (p *Pair) row(kind Kind, w *written, r record) Difference {
	d := Difference{Kind: kind, Table: w.table.name, Key: r.key, Row: map[string]string{}}
	for column, value := range r.values {
		if value != nil {
			d.Row[column] = *value
		}
	}
	return d
}

// news returns the differences that earlier requests did not already leave.
func (p *Pair) news(found []Difference) []Difference {
	var fresh []Difference
	for _, d := range found {
		key := fmt.Sprint(d.Kind, "|", d.Table, "|", d.Key, "|", d.Column, "|", text(d.PHP), "|", text(d.Bookside))
		if !p.told[key] {
			p.told[key] = true
			fresh = append(fresh, d)
		}
	}
	return fresh
}

func text(value *string) string {
	if value == nil {
		return "NULL"
	}
	return "'" + *value
}
