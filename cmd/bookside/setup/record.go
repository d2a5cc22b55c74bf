package setup

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// recordFile is where the changes are recorded.
const recordFile = "/var/lib/bookside/setup.json"

// record is what was done to a machine. It is written before each change.
type record struct {
	WordPress string    `json:"wordpress"` // the site's directory
	Config    string    `json:"config"`    // the file with the site's settings
	Options   Options   `json:"options"`
	Begun     time.Time `json:"begun"`
	State     state     `json:"state"`
	Steps     []string  `json:"steps"` // done or declined
	Changes   []kept    `json:"changes"`
}

type state string

const (
	running  state = "running" // or ended by a crash
	waiting  state = "waiting" // until the service is started by hand
	finished state = "finished"
)

// loadRecord returns the record of an earlier run, or nil.
func loadRecord(h *Host) (*record, error) {
	text, exists, err := h.read(recordFile)
	if err != nil || !exists {
		return nil, err
	}
	r := &record{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", recordFile, err)
	}
	return r, nil
}

// save writes the record, or removes it if nothing is left to undo. It may contain passwords that
// files contained before.
func (r *record) save(ctx context.Context, h *Host) error {
	if len(r.Changes) == 0 {
		return h.remove(recordFile)
	}
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return h.write(ctx, recordFile, append(text, '\n'), 0o600, "")
}

// do makes a change and records it.
func (r *record) do(ctx context.Context, h *Host, c Change) error {
	if err := c.Prepare(ctx, h); err != nil {
		return err
	}
	k, err := keep(c)
	if err != nil {
		return err
	}
	r.Changes = append(r.Changes, k)
	if err := r.save(ctx, h); err != nil {
		return err
	}
	return c.Do(ctx, h)
}

// undo reverts all changes, last first. A change that cannot be reverted stays in the record, and tell is
// called with the error; tell is also called with notes. If the record cannot be written, as on a full
// disk, undo goes on: undoing a change twice does no harm. A key that could not be revoked needs the
// account and the password file the next time, so these stay, with everything that came before them.
func (r *record) undo(ctx context.Context, h *Host, tell func(change, note string, err error)) (complete bool, err error) {
	var left []kept
	var unsaved error
	needed := "" // the file needed to revoke a key
	for i := len(r.Changes) - 1; i >= 0; i-- {
		c, err := r.Changes[i].change()
		if err != nil {
			return false, err
		}
		if file, ok := c.(*File); ok && file.Path == needed {
			left = slices.Concat(r.Changes[:i+1], left)
			break
		}
		note, failed := c.Undo(ctx, h)
		tell(c.DescribeUndo(), note, failed)
		if failed != nil {
			left = append([]kept{r.Changes[i]}, left...)
			if key, ok := c.(*Key); ok {
				needed = key.DSNFile
			}
		}
		remaining := *r
		remaining.Changes = slices.Concat(r.Changes[:i], left)
		unsaved = remaining.save(ctx, h)
	}
	r.Changes = left
	return len(left) == 0, unsaved
}
