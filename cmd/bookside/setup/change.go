package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Change is something that setup does to a machine. Its exported fields are stored, so that another run of
// the program can undo it.
type Change interface {
	// Describe says what will be done, without secrets.
	Describe() string
	// DescribeUndo says what undoing it does; "" for nothing.
	DescribeUndo() string
	// Prepare records what Undo needs to know about the previous state.
	Prepare(context.Context, *Host) error
	Do(context.Context, *Host) error
	// Undo reverts the change. It does no harm if Do had no effect, or only a partial one. Later changes by
	// others are kept, and the note says so.
	Undo(context.Context, *Host) (note string, err error)
}

// kinds are the changes by the names under which they are stored.
var kinds = map[string]func() Change{
	"file":    func() Change { return &File{} },
	"block":   func() Change { return &Block{} },
	"run":     func() Change { return &Run{} },
	"account": func() Change { return &Account{} },
	"key":     func() Change { return &Key{} },
}

// kept is a change in the file that records what was done.
type kept struct {
	Kind   string          `json:"kind"`
	Change json.RawMessage `json:"change"`
}

func keep(c Change) (kept, error) {
	kind := ""
	switch c.(type) {
	case *File:
		kind = "file"
	case *Block:
		kind = "block"
	case *Run:
		kind = "run"
	case *Account:
		kind = "account"
	case *Key:
		kind = "key"
	}
	text, err := json.Marshal(c)
	return kept{kind, text}, err
}

func (k kept) change() (Change, error) {
	empty, known := kinds[k.Kind]
	if !known {
		return nil, fmt.Errorf("a change of the kind %q, which this version does not know", k.Kind)
	}
	c := empty()
	return c, json.Unmarshal(k.Change, c)
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// File is a file that is written as a whole.
type File struct {
	Path  string
	Mode  fs.FileMode
	Group string // "" for root's
	// Before is its previous content, and Existed whether it existed.
	Before     []byte
	BeforeMode fs.FileMode
	Existed    bool
	After      string // hash
	// Test must succeed without the file, or the file is not removed: a web server with an invalid
	// configuration does not start again, and the file may be included elsewhere.
	Test Command

	content []byte
}

// Describe implements [Change].
func (f *File) Describe() string {
	text := "write " + f.Path
	if f.Group != "" {
		text += ", readable by root and the group " + f.Group + " only"
	}
	return text
}

// DescribeUndo implements [Change].
func (f *File) DescribeUndo() string {
	if f.Existed {
		return "write " + f.Path + " as it was"
	}
	return "remove " + f.Path
}

// Prepare implements [Change].
func (f *File) Prepare(_ context.Context, h *Host) (err error) {
	f.After = hashOf(f.content)
	f.Before, f.Existed, err = h.read(f.Path)
	if !f.Existed || err != nil {
		return err
	}
	info, err := os.Stat(h.path(f.Path))
	if err == nil {
		f.BeforeMode = info.Mode().Perm()
	}
	return err
}

// Do implements [Change].
func (f *File) Do(ctx context.Context, h *Host) error {
	return h.write(ctx, f.Path, f.content, f.Mode, f.Group)
}

// Undo implements [Change].
func (f *File) Undo(ctx context.Context, h *Host) (string, error) {
	content, exists, err := h.read(f.Path)
	switch {
	case err != nil:
		return "", err
	case !exists, f.Existed && hashOf(content) == hashOf(f.Before): // not done, or already undone
		return "", nil
	case hashOf(content) != f.After:
		return f.Path + " was changed since and stays as it is", nil
	case f.Existed:
		return "", h.write(ctx, f.Path, f.Before, f.BeforeMode, "")
	default:
		return "", f.remove(ctx, h, content)
	}
}

func (f *File) remove(ctx context.Context, h *Host, content []byte) error {
	if err := h.remove(f.Path); err != nil || len(f.Test.Args) == 0 || !h.Has(f.Test.Args[0]) {
		return err
	}
	if needed := h.run(ctx, f.Test); needed != nil {
		return errors.Join(fmt.Errorf("without it, the configuration is invalid; it stays for now: %w", needed), h.write(ctx, f.Path, content, f.Mode, ""))
	}
	return nil
}

// Block is a number of lines in a web server's configuration, between two comments.
type Block struct {
	Path string

	at    int // offset of the line that follows the inserted lines
	lines []string
	place string // the place in words
}

const blockBegin, blockEnd = "# begin: bookside setup", "# end: bookside setup"

// Describe implements [Change].
func (b *Block) Describe() string {
	return fmt.Sprintf("insert into %s, %s: %s", b.Path, b.place, strings.TrimSpace(strings.Join(b.lines, " ")))
}

// DescribeUndo implements [Change].
func (b *Block) DescribeUndo() string { return "remove the lines of setup from " + b.Path }

// Prepare implements [Change].
func (b *Block) Prepare(context.Context, *Host) error { return nil }

// Do implements [Change].
func (b *Block) Do(ctx context.Context, h *Host) error {
	content, exists, err := h.read(b.Path)
	if err != nil || !exists {
		return errors.Join(err, fmt.Errorf("read %s", b.Path))
	}
	inserted, err := insertBlock(string(content), b.at, b.lines)
	if err != nil {
		return fmt.Errorf("%s: %w", b.Path, err)
	}
	return h.write(ctx, b.Path, []byte(inserted), 0, "")
}

// Undo implements [Change].
func (b *Block) Undo(ctx context.Context, h *Host) (string, error) {
	content, exists, err := h.read(b.Path)
	if err != nil || !exists {
		return "", err
	}
	removed, whole := removeBlocks(string(content))
	if !whole {
		return fmt.Sprintf("%s stays as it is: remove the lines from %q to %q yourself, one of which is missing", b.Path, blockBegin, blockEnd), nil
	}
	return "", h.write(ctx, b.Path, []byte(removed), 0, "")
}

// insertBlock inserts lines between two comments, before the line at an offset, and indents them
// like the line after them.
func insertBlock(content string, at int, lines []string) (string, error) {
	if at > len(content) || at > 0 && content[at-1] != '\n' {
		return "", errors.New("was changed in the meantime")
	}
	rest := content[at:]
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
	var block strings.Builder
	for _, line := range append(append([]string{blockBegin}, lines...), blockEnd) {
		block.WriteString(indent + line + "\n")
	}
	return content[:at] + block.String() + rest, nil
}

// removeBlocks removes what insertBlock inserted. It reports whether each beginning has its end: otherwise
// it is unknown what to remove.
func removeBlocks(content string) (removed string, whole bool) {
	var b strings.Builder
	inside := false
	for line := range strings.Lines(content) {
		switch marker := strings.TrimSpace(line); {
		case marker == blockBegin || marker == blockEnd:
			if inside != (marker == blockEnd) {
				return content, false
			}
			inside = !inside
		case !inside:
			b.WriteString(line)
		}
	}
	if inside {
		return content, false
	}
	return b.String(), true
}

// Run is a set of commands to run, and of commands that revert them. Either may be missing. Commands that
// only revert are for the end of an undo: what comes later in a step is undone earlier.
type Run struct {
	Back []Command
	// Stays names what an undo leaves, because others may use it by then, and Removal removes it.
	Stays   string
	Removal Command

	do []Command
}

// Describe implements [Change].
func (r *Run) Describe() string {
	return describeCommands(r.do)
}

// DescribeUndo implements [Change].
func (r *Run) DescribeUndo() string { return describeCommands(r.Back) }

func describeCommands(list []Command) string {
	var texts []string
	for _, c := range list {
		texts = append(texts, c.String())
	}
	if len(texts) == 0 {
		return ""
	}
	return "run " + strings.Join(texts, ", ")
}

// Prepare implements [Change].
func (r *Run) Prepare(context.Context, *Host) error { return nil }

// Do implements [Change].
func (r *Run) Do(ctx context.Context, h *Host) error {
	for _, c := range r.do {
		if err := h.run(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// Undo implements [Change].
func (r *Run) Undo(ctx context.Context, h *Host) (note string, err error) {
	for _, c := range r.Back {
		if failed := h.run(ctx, c); failed != nil {
			// There may be nothing to revert, or a web server may not be running. All anybody can do is
			// read about it.
			note = failed.Error()
			break
		}
	}
	return note, nil
}
