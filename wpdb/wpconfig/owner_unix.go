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
