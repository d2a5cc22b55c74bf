package monitor

import (
	"cmp"
	"context"
	"time"

	"github.com/bookside/bookside/wpdb"
)

// clockTolerance is how far two clocks may differ.
const clockTolerance = 30 * time.Second

// examineServer reports what the database server tells about itself.
func (e *examination) examineServer(ctx context.Context) error {
	server, err := e.db.ServerSettings(ctx)
	if err := ignorable(err); err != nil {
		return err
	}
	if err == nil {
		e.add(clockEntry(server, server.Now.Sub(e.platform.Now().Truncate(time.Second))))
	}
	durability, known, err := e.db.Durability(ctx)
	if err := ignorable(err); err != nil {
		return err
	}
	if known && err == nil {
		e.add(durabilityEntry(durability))
	}
	cluster, err := e.db.Cluster(ctx)
	if err == nil {
		e.cluster = cluster
		e.add(clusterEntry(cluster))
	}
	return ignorable(err)
}

func connectionEntry(c *wpdb.Encryption) Entry {
	found := Entry{Code: Connection}
	switch {
	case c == nil:
		found.Level, found.Text = Minor, Say("unknown")
	case c.Version != "" && c.Verified:
		found.Text = Say("encrypted, %s, the server's certificate is verified", c.Version)
	case c.Version != "":
		found.Text = Say("encrypted, %s", c.Version)
	case c.Local:
		found.Text = Say("plain text, within this machine")
	default:
		found.Level, found.Text, found.Do = Minor, Say("plain text: anyone in between sees passwords and customers' data"), Say("See db.tls.")
	}
	return found
}

func clockEntry(server wpdb.ServerSettings, difference time.Duration) Entry {
	found := Entry{Code: Clock, Text: Say("time zone %s, clock %s from ours, sql_mode %s", server.TimeZone, difference.Round(time.Second), cmp.Or(server.SQLMode, "empty"))}
	if difference.Abs() > clockTolerance {
		found.Level, found.Do = Minor, Say("Synchronize the clocks of both machines by NTP.")
	}
	return found
}

func durabilityEntry(d wpdb.Durability) Entry {
	found := Entry{Code: Durability, Level: Minor}
	switch {
	case d.Durable():
		found.Level, found.Text = Good, Say("what was confirmed survives a failure of the machine")
	case d.FlushLog != "1":
		found.Text = Say("bookings of the last second can be lost if the machine fails: innodb_flush_log_at_trx_commit is %s, in place of 1", d.FlushLog)
	default:
		found.Text = Say("replicas and restored backups can lack the last bookings if the machine fails: sync_binlog is %s, in place of 1", d.SyncBinlog)
	}
	return found
}

func clusterEntry(c wpdb.Cluster) Entry {
	var parts []Sentence
	switch c.Kind {
	case wpdb.Galera:
		parts = append(parts, Say("%s", "Galera"))
	case wpdb.GroupReplication:
		mode := Say("multi-primary")
		if c.SinglePrimary {
			mode = Say("single-primary")
		}
		parts = append(parts, Say("%s", "MySQL Group Replication"), mode)
	case wpdb.Replica:
		parts = append(parts, Say("replica of another server"))
	default:
		parts = append(parts, Say("not in a cluster"))
	}
	if c.Kind != wpdb.Standalone && c.Members > 0 {
		parts = append(parts, Say("members: %d", c.Members))
	}
	if c.State != "" {
		parts = append(parts, Say("state of this one: %s", c.State))
	}
	if c.ReadOnly {
		parts = append(parts, Say("read-only"))
	}
	if c.Balanced {
		parts = append(parts, Say("behind a load-balancing proxy"))
	}
	found := Entry{Code: Cluster, Level: Minor, Text: list(parts)}
	switch {
	case !c.Serving:
		found.Do = Say("The database server has lost its cluster or lags behind it: until it is back, requests that write will fail, and on Galera all requests.")
	case c.ReadOnly:
		found.Do = Say("Configure a server that accepts writes: on this one, requests that write will fail.")
	case c.Kind == wpdb.Replica:
		found.Do = Say("Configure the server that this one replicates, which will not see what is written here.")
	default:
		found.Level = Good
	}
	return found
}
