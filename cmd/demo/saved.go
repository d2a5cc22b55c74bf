package main

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"

	"github.com/bookside/bookside/fixtures"
)

// savedTables are the tables of a site in a database on a server, with their rows and the next ids. Other
// tables are left alone.
type savedTables struct {
	dsn    string
	site   fixtures.Site
	tables map[string]savedTable
	// patience limits how long restoring waits for other connections that hold locks, in seconds.
	patience int
}

// savedTable is a table as it was saved.
type savedTable struct {
	tableState

	inserts []string // statements that write its rows
}

// tableState tells whether a table has changed.
type tableState struct {
	create   string // the statement that creates it
	next     string // the AUTO_INCREMENT value
	checksum string
}

// saveTables remembers the tables of a site.
func saveTables(ctx context.Context, dsn string, site fixtures.Site) (saved savedTables, err error) {
	saved = savedTables{dsn: dsn, site: site, tables: map[string]savedTable{}, patience: 5}
	err = saved.connected(ctx, func(conn *sql.Conn) error {
		states, err := saved.states(ctx, conn)
		if err != nil {
			return err
		}
		for name, state := range states {
			inserts, err := insertsOf(ctx, conn, name)
			if err != nil {
				return fmt.Errorf("reading %s: %w", name, err)
			}
			saved.tables[name] = savedTable{state, inserts}
		}
		return nil
	})
	if err != nil {
		return saved, fmt.Errorf("saving the tables: %w", err)
	}
	return saved, nil
}

// restore brings back the tables that have changed. Others who read rows meanwhile see those before or after
// it, unless somebody altered tables.
func (s savedTables) restore(ctx context.Context) error {
	err := s.connected(ctx, func(conn *sql.Conn) error {
		states, err := s.states(ctx, conn)
		if err != nil {
			return err
		}
		var define, fill, count []string
		for name, state := range states {
			if was, known := s.tables[name]; !known || was.create != state.create {
				define = append(define, "DROP TABLE `"+name+"`")
				delete(states, name)
			}
		}
		for name, was := range s.tables {
			state, exists := states[name]
			if exists && state == was.tableState {
				continue
			}
			if !exists {
				define = append(define, was.create)
			}
			if state.checksum != was.checksum {
				fill = append(append(fill, "DELETE FROM `"+name+"`"), was.inserts...)
			}
			if state.next != was.next || !exists {
				count = append(count, "ALTER TABLE `"+name+"` AUTO_INCREMENT = "+was.next)
			}
		}
		statements := slices.Concat(define, []string{"START TRANSACTION"}, fill, []string{"COMMIT"}, count)
		for _, statement := range statements {
			if _, err := conn.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("%.60s: %w", statement, err)
			}
		}
		return nil
	})
	if known := new(mysql.MySQLError); errors.As(err, &known) && known.Number == lockWaitTimeout {
		return fmt.Errorf("restoring the tables: another connection has a transaction open, or has locked a table: %w", err)
	}
	if err != nil {
		return fmt.Errorf("restoring the tables: %w", err)
	}
	return nil
}

// lockWaitTimeout is ER_LOCK_WAIT_TIMEOUT.
const lockWaitTimeout = 1205

// connected calls work with a connection of its own, which is closed afterwards.
func (s savedTables) connected(ctx context.Context, work func(*sql.Conn) error) (err error) {
	db, err := sql.Open("mysql", s.dsn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, set := range []string{
		"SET NAMES utf8mb4",
		"SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO', foreign_key_checks = 0",
		fmt.Sprintf("SET lock_wait_timeout = %d, innodb_lock_wait_timeout = %[1]d", s.patience),
	} {
		if _, err := conn.ExecContext(ctx, set); err != nil {
			return err
		}
	}
	return work(conn)
}

var nextID = regexp.MustCompile(` AUTO_INCREMENT=(\d+)`)

// states returns the present states of the site's tables.
func (s savedTables) states(ctx context.Context, conn *sql.Conn) (map[string]tableState, error) {
	names, err := texts(ctx, conn, "SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'", 0)
	if err != nil {
		return nil, err
	}
	others, err := s.site.OtherTables(names)
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(others, name) })
	if len(names) == 0 {
		return nil, nil
	}
	checksums, err := texts(ctx, conn, "CHECKSUM TABLE `"+strings.Join(names, "`, `")+"`", 1)
	if err != nil {
		return nil, err
	}
	states := map[string]tableState{}
	for i, name := range names {
		create, err := texts(ctx, conn, "SHOW CREATE TABLE `"+name+"`", 1)
		if err != nil {
			return nil, err
		}
		state := tableState{create: nextID.ReplaceAllString(create[0], ""), next: "1", checksum: checksums[i]}
		if next := nextID.FindStringSubmatch(create[0]); next != nil {
			state.next = next[1]
		}
		states[name] = state
	}
	return states, nil
}

// texts returns a column of all rows.
func texts(ctx context.Context, conn *sql.Conn, query string, column int) (values []string, err error) {
	err = eachRow(ctx, conn, query, func(_ []string, row []sql.RawBytes) { values = append(values, string(row[column])) })
	return values, err
}

// eachRow calls do with the names of the columns and the values of each row, which it must not keep.
func eachRow(ctx context.Context, conn *sql.Conn, query string, do func(columns []string, row []sql.RawBytes)) error {
	rows, err := conn.QueryContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells what failed
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	row, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		do(columns, row)
	}
	return rows.Err()
}

// longest is the approximate length of an INSERT in bytes, well below the smallest max_allowed_packet.
const longest = 1 << 19

// insertsOf returns statements that write the present rows of a table.
func insertsOf(ctx context.Context, conn *sql.Conn, table string) (statements []string, err error) {
	var b strings.Builder
	err = eachRow(ctx, conn, "SELECT * FROM `"+table+"`", func(columns []string, row []sql.RawBytes) {
		if b.Len() > longest {
			statements = append(statements, b.String())
			b.Reset()
		}
		if separator := ", ("; b.Len() > 0 {
			b.WriteString(separator)
		} else {
			b.WriteString("INSERT INTO `" + table + "` (`" + strings.Join(columns, "`, `") + "`) VALUES (")
		}
		for i, value := range row {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(literal(value))
		}
		b.WriteByte(')')
	})
	if b.Len() > 0 {
		statements = append(statements, b.String())
	}
	return statements, err
}

var escape = strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\x00", `\0`)

// literal returns a value in SQL.
func literal(value []byte) string {
	switch {
	case value == nil:
		return "NULL"
	case !utf8.Valid(value):
		return "x'" + hex.EncodeToString(value) + "'"
	}
	return "'" + escape.Replace(string(value)) + "'"
}
