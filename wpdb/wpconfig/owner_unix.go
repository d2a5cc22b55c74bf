//go:build unix

package wpconfig

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the id of the user who owns a file.
func ownerOf(info fs.FileInfo) (id int, known bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// sameOwners reports whether two files belong to the same user and group.
func sameOwners(a, b fs.FileInfo) bool {
	first, ok := a.Sys().(*syscall.Stat_t)
	second, known := b.Sys().(*syscall.Stat_t)
	return ok && known && first.Uid == second.Uid && first.Gid == second.Gid
}
