package main

import (
	"archive/zip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// installCompanion unpacks the companion into a WordPress and activates it.
func installCompanion(t *testing.T, w *fixtures.WordPress) {
	t.Helper()
	unpackCompanion(t, w.Content)
	w.Activate(t, pluginMain)
}

// newForwardingSite returns a WordPress with a small site and the companion, but without LatePoint.
func newForwardingSite(t *testing.T) (*fixtures.WordPress, *fixtures.Database) {
	t.Helper()
	db := fixtures.New(t, fixtures.Small(now))
	w := fixtures.NewWordPress(t, db)
	installCompanion(t, w)
	return w, db
}

// unpackCompanion unpacks the companion into a directory wp-content.
func unpackCompanion(t *testing.T, content string) {
	t.Helper()
	ours, err := companionPlugin()
	expect.NoError(t, err)
	files := map[string]string{}
	for name, content := range ours.files {
		files["plugins/"+name] = string(content)
	}
	writeBelow(t, content, files)
}

func writeBelow(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(folder, name)
		expect.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		expect.NoError(t, os.WriteFile(file, []byte(content), 0o644))
	}
}

func removeFile(t *testing.T, folder, name string) {
	t.Helper()
	expect.NoError(t, os.Remove(filepath.Join(folder, name)))
}

// filesBelow returns the content of all files, by path.
func filesBelow(t *testing.T, folder string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(folder, name))
		files[name] = string(content)
		return err
	})
	expect.NoError(t, err)
	return files
}

// TestCompanionIsWritten: the ZIP file has all files in the plugin's directory, and is the same each time.
func TestCompanionIsWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bookside.zip")
	ours, err := companionPlugin()
	if err != nil || ours.version == "" || len(ours.files) == 0 {
		t.Fatalf("version %q, %d files, %v", ours.version, len(ours.files), err)
	}
	expect.Texts(t, run(t, nil, "", "companion", file).want(t, exit.OK).stdout, "Wrote the companion "+ours.version+" to "+file, "Upload it in wp-admin")
	first, err := os.ReadFile(file)
	expect.NoError(t, err)
	run(t, nil, "", "companion", file).want(t, exit.OK)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("the second ZIP file differs: %v", err)
	}
	archive, err := zip.OpenReader(file)
	expect.NoError(t, err)
	defer func() { _ = archive.Close() }() // only read
	unpacked := map[string][]byte{}
	for _, entry := range archive.File {
		if !strings.HasPrefix(entry.Name, "bookside/") {
			t.Errorf("%s is outside of the plugin's directory", entry.Name)
		}
		reader, err := entry.Open()
		expect.NoError(t, err)
		if unpacked[entry.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
	expect.Equal(t, ours.files, unpacked)
	run(t, nil, "", "companion", filepath.Join(file, "below")).want(t, exit.Failure, "write the ZIP file: ")
}
