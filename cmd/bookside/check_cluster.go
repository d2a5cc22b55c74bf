package main

import (
	"fmt"
	"strings"

	"bookside/wpdb"
)

// clusterLine is what check says about the servers behind the address.
func (f findings) clusterLine() string {
	if f.cluster == nil {
		return "not told"
	}
	c := *f.cluster
	var parts []string
	switch c.Kind {
	case wpdb.Galera:
		parts = append(parts, "Galera")
	case wpdb.GroupReplication:
		mode := "multi-primary"
		if c.SinglePrimary {
			mode = "single-primary"
		}
		parts = append(parts, "MySQL Group Replication", mode)
	case wpdb.Replica:
		parts = append(parts, "replica of another server")
	default:
		parts = append(parts, "none")
	}
	if c.Kind != wpdb.Standalone && c.Members > 0 {
		parts = append(parts, fmt.Sprintf("members: %d", c.Members))
	}
	if c.State != "" {
		parts = append(parts, "state of this one: "+c.State)
	}
	if c.ReadOnly {
		parts = append(parts, "read-only")
	}
	if c.Balanced {
		parts = append(parts, "behind a proxy that takes turns between servers")
	}
	return strings.Join(parts, ", ")
}

// clusterWarnings are what will keep requests from being served.
func (f findings) clusterWarnings() (warnings []string) {
	switch c := f.cluster; {
	case c == nil:
	case !c.Serving:
		warnings = append(warnings, fmt.Sprintf("the database server has lost its cluster or is behind it (state %s); until it is back, requests that write, and on Galera all requests, are answered 503", c.State))
	case c.ReadOnly:
		warnings = append(warnings, "the database server is read-only; requests that write will be answered 503; name a server that takes writes")
	case c.Kind == wpdb.Replica:
		warnings = append(warnings, "the database server is a replica of another one, which will not see what is written here; name that one")
	}
	return warnings
}

func (f findings) clusterReport() *clusterReport {
	if f.cluster == nil {
		return nil
	}
	c := *f.cluster
	r := &clusterReport{Kind: c.Kind, State: c.State, Serving: c.Serving, MultiPrimary: c.MultiPrimary(), ReadOnly: c.ReadOnly, Balanced: c.Balanced}
	if c.Members > 0 && c.Kind != wpdb.Standalone {
		r.Members = &c.Members
	}
	return r
}
