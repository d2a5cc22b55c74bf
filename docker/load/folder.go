package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/go-sql-driver/mysql"
)

// Folder is a directory for the programs, databases and logs of a recipe.
type Folder string

// NewFolder creates a directory that the database's account may enter.
func NewFolder() (Folder, error) {
	path, err := os.MkdirTemp("", "bookside-recipe-")
	if err != nil {
		return "", err
	}
	return Folder(path), os.Chmod(path, 0o755) //nolint:gosec // the account of the database enters it
}

// Remove removes the directory; after an error only large files, so that the logs remain.
func (f Folder) Remove(err error) error {
	if err == nil {
		return os.RemoveAll(string(f))
	}
	fmt.Fprintln(os.Stderr, "the logs are in", f)
	return errors.Join(err, os.RemoveAll(filepath.Join(string(f), "database")), os.RemoveAll(filepath.Join(string(f), "bookside")))
}

// Build builds the program and returns its path.
func (f Folder) Build(ctx context.Context) (string, error) {
	program := filepath.Join(string(f), "bookside")
	_, err := Run(ctx, "env", "CGO_ENABLED=0", "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/bookside")
	return program, err
}

// Database starts a private server.
func (f Folder) Database(ctx context.Context) (*MariaDB, error) {
	m := &MariaDB{Process: Process{Name: "MariaDB", Log: filepath.Join(string(f), "mariadb.log")}, Folder: filepath.Join(string(f), "database")}
	if err := errors.Join(m.Install(ctx, false), m.Launch()); err != nil {
		return nil, err
	}
	db, err := Open(m.DSN(""), nil)
	if err != nil {
		return nil, err
	}
	return m, errors.Join(AwaitPing(ctx, db), db.Close())
}

// CreateDatabase creates an empty database on the server of a DSN and opens it.
func CreateDatabase(ctx context.Context, server, name string) (dsn string, db *sql.DB, err error) {
	config, err := mysql.ParseDSN(server)
	if err != nil {
		return "", nil, err
	}
	admin, err := Open(server, nil)
	if err != nil {
		return "", nil, err
	}
	_, err = admin.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_520_ci")
	if err := errors.Join(err, admin.Close()); err != nil {
		return "", nil, err
	}
	config.DBName = name
	db, err = Open(config.FormatDSN(), nil)
	return config.FormatDSN(), db, err
}
