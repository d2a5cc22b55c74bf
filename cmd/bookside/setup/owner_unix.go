//go:build unix

package setup

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner of another one.
func keepOwner(name string, other fs.FileInfo) error {
	if owner, ok := other.Sys().(*syscall.Stat_t); ok {
		return os.Lchown(name, int(owner.Uid), int(owner.Gid))
	}
	return nil
}
