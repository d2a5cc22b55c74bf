//go:build unix

package wpconfig

import (
	"io/fs"
	"syscall"
)

// ownersOf returns the ids of the user and the group that own a file.
func ownersOf(info fs.FileInfo) (user, group int) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -2, -2
	}
	return int(stat.Uid), int(stat.Gid)
}
