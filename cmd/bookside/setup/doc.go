// Package setup installs Bookside on a machine that runs a WordPress site, and undoes the installation.
//
// It finds the site, plans the steps and runs them ([Setup.Run]). A step is a list of changes, each of
// which is a value that describes, does and undoes itself. Before a change is done it is recorded in a
// file, so that it can be undone in the same run, after a crash, or months later ([Setup.Undo]).
//
// The machine is a [Host], so that tests can use a directory instead of the root and functions instead of
// programs. The configurations of web servers are parsed by pure functions. The package may import
// adapter/keys, docker, wpdb and wpdb/wpconfig.
package setup
