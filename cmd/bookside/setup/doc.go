// Package setup installs Bookside on a machine that runs a WordPress site, and undoes the installation.
//
// It finds the site, plans the steps, runs them and waits until the API answers at the site's address
// ([Setup.Run]). A step is a list of changes, each of which is a value that describes, does and undoes
// itself. Before a change is done it is recorded in a file, so that it can be undone in the same run, after
// a crash, or months later ([Setup.Undo]). It never changes a file of a web server: it says which line to
// include in which file, and checks from outside that it works.
//
// The machine is a [Host], so that tests can use a directory instead of the root and functions instead of
// programs. The package may import adapter/keys, cmd/internal/exit, docker, wpdb and wpdb/wpconfig.
package setup
