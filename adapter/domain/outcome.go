package domain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	sq "github.com/Masterminds/squirrel"
)

// The states that every queue has, besides its own.
const (
	Waiting = "waiting" // for the next try, at due_at
	Failed  = "failed"  // given up
)

// FailureLength is the number of characters of the columns for failures.
const FailureLength = 190

// Outcome is the result of trying a row.
type Outcome struct {
	State   string
	Due     time.Time // of the next try while it waits; otherwise the queue's own meaning
	Failure string    // of the try; "" for none
}

// Update returns the statement that stores the outcome in a table. The caller adds the
// condition that the row still belongs to the try.
func (o Outcome) Update(table string, now time.Time) sq.UpdateBuilder {
	stmt := sq.Update(table).Set("status", o.State).Set("due_at", Stamp(o.Due)).Set("failure", Cut(o.Failure, FailureLength))
	if o.State != Waiting {
		stmt = stmt.Set("finished_at", Stamp(now))
	}
	return stmt
}

// MessageID returns an id for what a row sends, the same for each try. It is a hash, because plain ids
// would reveal how much the site sends, and sites of a network, which differ only in their table prefix,
// may have equal ones.
func MessageID(prefix string, row ...any) string {
	text := strings.TrimSuffix(fmt.Sprintln(row...), "\n")
	sum := sha256.Sum256([]byte(prefix + " " + text))
	return hex.EncodeToString(sum[:16])
}
