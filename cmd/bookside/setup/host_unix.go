//go:build unix

package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// lock keeps other runs out until unlock is called or the process ends. It locks a folder that every
// machine has, so that no file is left behind.
func (h *Host) lock() (unlock func() error, err error) {
	const name = "/etc"
	folder, err := os.Open(h.path(name))
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(folder.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(errRunning, folder.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), folder.Close())
	default:
		return func() error {
			// A program that is just being started has a copy of the descriptor, which would let the lock
			// outlive Close.
			return errors.Join(syscall.Flock(int(folder.Fd()), syscall.LOCK_UN), folder.Close())
		}, nil
	}
}

// keepOwner gives a file the owner of another one.
func keepOwner(name string, other fs.FileInfo) error {
	if owner, ok := other.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(name, int(owner.Uid), int(owner.Gid))
	}
	return nil
}
