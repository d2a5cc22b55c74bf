package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"github.com/go-sql-driver/mysql"
)

// database is a private MariaDB on a socket, whose root has no password.
type database struct {
	*process
	dsn string
}

// startDatabase installs and starts a server in a directory that does not exist yet.
func startDatabase(ctx context.Context, folder string) (*database, error) {
	account, err := user.Current()
	if err != nil {
		return nil, err
	}
	data, socket := filepath.Join(folder, "data"), filepath.Join(folder, "socket")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return nil, err
	}
	_, err = output(ctx, nil, "mariadb-install-db", "--no-defaults", "--user="+account.Username, "--datadir="+data, "--skip-test-db", "--auth-root-authentication-method=normal")
	if err != nil {
		return nil, err
	}
	p, err := launch(ctx, filepath.Join(folder, "log"), nil, "mariadbd", "--no-defaults", "--user="+account.Username, "--datadir="+data,
		"--socket="+socket, "--pid-file="+filepath.Join(folder, "pid"), "--tmpdir="+folder, "--skip-networking", "--skip-log-bin", "--max-connections=300")
	if err != nil {
		return nil, err
	}
	d := &database{p, "root@unix(" + socket + ")/"}
	db, err := openDatabase(d.dsn)
	if err == nil {
		err = errors.Join(p.await(ctx, db.PingContext), db.Close())
	}
	if err != nil {
		p.kill()
		return nil, err
	}
	return d, nil
}

// createDatabase creates an empty database on the server of a DSN and opens it.
func createDatabase(ctx context.Context, server, name string) (dsn string, db *sql.DB, err error) {
	config, err := mysql.ParseDSN(server)
	if err != nil {
		return "", nil, err
	}
	admin, err := openDatabase(server)
	if err != nil {
		return "", nil, err
	}
	_, err = admin.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci")
	if err := errors.Join(err, admin.Close()); err != nil {
		return "", nil, err
	}
	config.DBName = name
	db, err = openDatabase(config.FormatDSN())
	return config.FormatDSN(), db, err
}

// openDatabase returns a pool of connections.
func openDatabase(dsn string) (*sql.DB, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	config.InterpolateParams, config.Logger = true, log.New(io.Discard, "", 0) // a server that starts refuses connections
	config.Timeout = 5 * time.Second
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}
