// Package setup installs Bookside on a machine that runs a WordPress site, and takes it back.
//
// It looks for the site, plans the steps and runs them ([Setup.Run]). A step is a list of changes, each
// of which is a value that describes, does and undoes itself. Before a change is done it is written to
// a file, so that it can be undone in the same run, after a crash, or months later ([Setup.Undo]).
//
// The machine is a [Host], so that tests bring a directory in place of the root and functions in
// place of programs. The configurations of web servers are parsed by pure functions. The package
// may import adapter/keys, docker, wpdb and wpdb/wpconfig.
package setup
