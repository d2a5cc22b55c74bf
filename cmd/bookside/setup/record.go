package setup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// recordFile is where the changes are recorded.
const recordFile = "/var/lib/bookside/setup.json"

// record is what was done to a machine. Each change is written into it before it is done.
type record struct {
	WordPress   string    `json:"wordpress"`    // the site's directory
	Prefix      string    `json:"prefix"`       // of its tables
	Home        string    `json:"home"`         // its address
	Listen      string    `json:"listen"`       // address of the API
	AdminListen string    `json:"admin_listen"` // of probes, metrics and the console
	WebServer   string    `json:"web_server"`
	Begun       time.Time `json:"begun"`
	Finished    bool      `json:"finished"` // otherwise it is running, or ended by a crash

	Account string   `json:"account"` // of the database, quoted
	Client  []string `json:"client"`  // the command that runs statements as the database's administrator
	User    bool     `json:"user"`    // the service's user was created
	Files   []file   `json:"files"`
	Service bool     `json:"service"` // it was started
	Key     string   `json:"key"`     // the name of the key

	secret string // the key, in the run that created it
}

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

// save writes the record. It may contain passwords that files contained before.
func (r *record) save(ctx context.Context, h *Host) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return h.write(ctx, recordFile, append(text, '\n'), 0o600, "")
}

// file is a file that was written as a whole.
type file struct {
	Path string `json:"path"`
	// Before is its previous content, and Existed whether it existed.
	Before  []byte      `json:"before"`
	Mode    fs.FileMode `json:"mode"`
	Existed bool        `json:"existed"`
	After   string      `json:"after"` // hash
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// write writes a file, after recording how it was.
func (r *record) write(ctx context.Context, h *Host, name string, content []byte, mode fs.FileMode, group string) (err error) {
	f := file{Path: name, After: hashOf(content)}
	if f.Before, f.Existed, err = h.read(name); err != nil {
		return err
	}
	if f.Existed {
		info, err := os.Stat(h.path(name))
		if err != nil {
			return err
		}
		f.Mode = info.Mode().Perm()
	}
	r.Files = append(r.Files, f)
	if err := r.save(ctx, h); err != nil {
		return err
	}
	return h.write(ctx, name, content, mode, group)
}

// undoing is a change that can be undone. Undoing it does no harm if it had no effect, or only a partial one;
// later changes by others are kept, and the note says so.
type undoing struct {
	what string
	undo func(context.Context, *Host) (note string, err error)
}

// undoings returns how to undo what is recorded, last first.
func (r *record) undoings() (all []undoing) {
	if r.Key != "" {
		all = append(all, undoing{`revoke the API key "` + r.Key + `"`, r.revokeKey})
	}
	if r.Service {
		// The service before its socket, so that no client can start it again.
		all = append(all, undoing{"stop and disable the service", runs("", "systemctl", "disable", "--quiet", "--now", "bookside.service", "bookside.socket")})
	}
	if r.User || r.Account != "" {
		all = append(all, undoing{"wait until Bookside has answered its last request", r.awaitEnd})
	}
	for _, f := range slices.Backward(r.Files) {
		all = append(all, undoing{f.describeUndo(), f.undo})
	}
	if r.Service {
		all = append(all, undoing{"make systemd forget the service", runs("", "systemctl", "daemon-reload")})
	}
	if r.User {
		all = append(all, undoing{"remove the user " + serviceUser, runs("", "userdel", serviceUser)})
	}
	if r.Account != "" {
		all = append(all, undoing{"drop the account " + r.Account + " of the database", runs(wpdb.DropAccount(r.Account)+";\n", r.Client...)})
	}
	return all
}

// awaitEnd waits until the program has ended, which needs its account and its user until then. Where systemd does not run,
// somebody else stops it.
func (r *record) awaitEnd(ctx context.Context, h *Host) (note string, err error) {
	patience, cancel := context.WithTimeout(ctx, h.Patience)
	defer cancel()
	for ran := false; ; {
		address := r.runsAt(ctx, h)
		if address == "" && !ran {
			return "", nil
		}
		ran = address != "" // its ports are closed shortly before its process ends, so it is looked for once more
		select {
		case <-time.After(h.Pause):
		case <-patience.Done():
			if address == "" {
				return "", nil
			}
			return "", errorf("Bookside still runs, at %s; stop it", address)
		}
	}
}

// runsAt returns an address at which something answers that should be Bookside; "" for none.
func (r *record) runsAt(ctx context.Context, h *Host) string {
	for _, address := range []string{r.Listen, r.AdminListen} {
		if conn, err := h.Dial(ctx, "tcp", address); err == nil {
			_ = conn.Close()
			return address
		}
	}
	return ""
}

// runs returns a function that runs a program. If it fails, there may be nothing to undo.
func runs(stdin string, args ...string) func(context.Context, *Host) (string, error) {
	return func(ctx context.Context, h *Host) (note string, err error) {
		if failed := h.run(ctx, stdin, args...); failed != nil {
			note = failed.Error()
		}
		return note, nil
	}
}

func (f file) describeUndo() string {
	if f.Existed {
		return "write " + f.Path + " as it was"
	}
	return "remove " + f.Path
}

func (f file) undo(ctx context.Context, h *Host) (note string, err error) {
	content, exists, err := h.read(f.Path)
	switch {
	case err != nil:
		return "", err
	case !exists, f.Existed && hashOf(content) == hashOf(f.Before): // not written, or already undone
		return "", nil
	case hashOf(content) != f.After:
		return f.Path + " was changed since and stays as it is", nil
	case f.Existed:
		return "", h.write(ctx, f.Path, f.Before, f.Mode, "")
	default:
		return "", h.remove(f.Path)
	}
}
