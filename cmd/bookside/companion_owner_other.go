//go:build !unix

package main

import "io/fs"

// ownerOf returns the owner of a file, where files have numeric owners.
func ownerOf(fs.FileInfo) (uid, gid int, known bool) { return 0, 0, false }
