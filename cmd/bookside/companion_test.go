package main

import (
	"archive/zip"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
)

// TestCompanionIsNotedAsRemoved: the site's database knows that the companion was removed, and that it is there again.
func TestCompanionIsNotedAsRemoved(t *testing.T) {
	t.Parallel()
	db := small(t)
	account, err := mysql.ParseDSN(db.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	folder := wordPressFolder(t, "6.1")
	writeBelow(t, folder, map[string]string{"wp-config.php": wordPressConfig(account, db)})
	ours, err := companionToInstall()
	if err != nil {
		t.Fatal(err)
	}
	const noted = "SELECT COALESCE(MAX(CONCAT('noted ', option_value)), 'nothing') FROM wp_options WHERE option_name = 'bookside_companion_seen'"
	for _, step := range []struct{ command, want string }{
		{"install", "nothing"}, // WordPress has never loaded it
		{"remove", "noted "},
		{"remove", "noted "}, // by hand, before
		{"install", fmt.Sprintf("noted %s %d", ours.version, now.Unix())},
	} {
		text := run(t, nil, "", "companion", step.command, "--wordpress", folder).want(t, exit.OK).stdout
		if got := queryText(t, db, noted); got != step.want || strings.Contains(text, "wp option") {
			t.Errorf("%s: %q, want %q; %s", step.command, got, step.want, text)
		}
		if step.want == "nothing" {
			execute(t, db.SQL, fmt.Sprintf(companionSeen, db.Prefix, ours.version, now.Unix()))
		}
	}
}

// wordPressFolder returns a directory that looks like a version of WordPress, with plugins.
func wordPressFolder(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	writeBelow(t, folder, map[string]string{
		"wp-includes/version.php":       "<?php\n$wp_version = '" + version + "';\n",
		"wp-content/plugins/index.php":  "<?php // Silence is golden.\n",
		"wp-content/mu-plugins/own.php": "<?php // of the site\n",
	})
	return folder
}

func writeBelow(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCompanionIsInstalledAndRemoved(t *testing.T) {
	t.Parallel()
	folder := wordPressFolder(t, "6.1")
	before := filesBelow(t, folder)
	companionCommand := func(args ...string) result {
		return run(t, nil, "", append([]string{"companion"}, append(args, "--wordpress", folder)...)...)
	}
	wantTexts(t, companionCommand("status").want(t, exit.OK).stdout, "There is no companion in", "This program brings version")
	wantTexts(t, companionCommand("remove").want(t, exit.OK).stdout, "There is no companion in")

	wantTexts(t, companionCommand("install").want(t, exit.OK).stdout, "Installed the companion ", "Activate the plugin Bookside")
	ours, err := companionToInstall()
	if err != nil || ours.version == "" || len(ours.files) == 0 {
		t.Fatalf("version %q, %d files, %v", ours.version, len(ours.files), err)
	}
	installed := filesBelow(t, filepath.Join(folder, "wp-content"))
	for name, content := range ours.files {
		if installed[name] != string(content) {
			t.Errorf("%s was not installed", name)
		}
	}
	if extra := len(installed) - len(ours.files); extra != 3 { // two files of the site, and installed.json
		t.Errorf("%d files besides ours", extra)
	}
	wantTexts(t, companionCommand("install").want(t, exit.OK).stdout, "is installed already")
	if diff := cmp.Diff(installed, filesBelow(t, filepath.Join(folder, "wp-content"))); diff != "" {
		t.Errorf("the second time changed files: %s", diff)
	}
	wantTexts(t, companionCommand("status").want(t, exit.OK).stdout, "Installed: "+ours.version, "All files are as this program brings them")

	wantTexts(t, companionCommand("remove").want(t, exit.OK).stdout, "Removed the companion", "wp-config.php", "wp option delete bookside_companion_seen\n")
	if diff := cmp.Diff(before, filesBelow(t, folder)); diff != "" {
		t.Errorf("what is left (-before +after): %s", diff)
	}
	if _, err := os.Stat(filepath.Join(folder, "wp-content", pluginFolder)); !os.IsNotExist(err) {
		t.Error("the directory of the plugin is left")
	}
}

// TestCompanionKeepsChangesOfOthers: a file that differs from what we installed is overwritten or removed
// only by force; a file of an earlier version is replaced.
func TestCompanionKeepsChangesOfOthers(t *testing.T) {
	t.Parallel()
	const changed = "<?php // changed by the site\n"
	for name, prepare := range map[string]func(t *testing.T, content string){
		"a changed file": func(t *testing.T, content string) { writeBelow(t, content, map[string]string{pluginMain: changed}) },
		"a plugin of that name": func(t *testing.T, content string) {
			removeFile(t, content, manifestOfFile)
			writeBelow(t, content, map[string]string{pluginMain: changed})
		},
		"an unreadable manifest": func(t *testing.T, content string) {
			writeBelow(t, content, map[string]string{manifestOfFile: "{", pluginMain: changed})
		},
		"a link": func(t *testing.T, content string) {
			removeFile(t, content, pluginMain)
			writeBelow(t, content, map[string]string{"elsewhere.php": changed})
			if err := os.Symlink("../../elsewhere.php", filepath.Join(content, pluginMain)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := wordPressFolder(t, "7.0.4")
			content := filepath.Join(folder, "wp-content")
			run(t, nil, "", "companion", "install", "--wordpress", folder).want(t, exit.OK)
			prepare(t, content)
			before := filesBelow(t, folder)
			for _, command := range []string{"install", "remove"} {
				run(t, nil, "", "companion", command, "--wordpress", folder).want(t, exit.Failure, pluginMain, "Nothing was done", "--force")
				if diff := cmp.Diff(before, filesBelow(t, folder)); diff != "" {
					t.Errorf("%s changed files: %s", command, diff)
				}
			}
			wantTexts(t, oneSpaced(run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout), pluginMain+" changed")
			run(t, nil, "", "companion", "install", "--wordpress", folder, "--force").want(t, exit.OK)
			wantTexts(t, run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout, "All files are as this program brings them")
			if strings.Contains(filesBelow(t, folder)["wp-content/elsewhere.php"], "Plugin Name") {
				t.Error("wrote through a link")
			}
		})
	}
}

// oneSpaced returns a table without alignment.
func oneSpaced(text string) string { return strings.Join(strings.Fields(text), " ") }

func removeFile(t *testing.T, folder, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(folder, name)); err != nil {
		t.Fatal(err)
	}
}

// TestCompanionReplacesAnEarlierVersion: the manifest identifies its files, and those no longer needed are
// deleted.
func TestCompanionReplacesAnEarlierVersion(t *testing.T) {
	t.Parallel()
	folder := wordPressFolder(t, "6.8.1")
	earlier := companion{version: "0.0.1", files: map[string][]byte{
		pluginMain: []byte("<?php // the first version"), pluginFolder + "/old/page.php": []byte("<?php // no longer there"), pluginFolder + "/kept.php": []byte("<?php // 1"),
	}}
	files := map[string]string{}
	for name, content := range earlier.files {
		files["wp-content/"+name] = string(content)
	}
	manifest, err := earlier.manifest()
	if err != nil {
		t.Fatal(err)
	}
	outside := strings.Replace(string(manifest), `"files": {`, `"files": {"plugins/index.php": "`+hashOf([]byte("<?php // Silence is golden.\n"))+`", "../wp-includes/version.php": "0",`, 1)
	files["wp-content/"+manifestOfFile] = outside
	writeBelow(t, folder, files)

	wantTexts(t, oneSpaced(run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout),
		"Installed: 0.0.1", pluginMain+" of another version", pluginFolder+"/old/page.php of another version, no longer needed")
	run(t, nil, "", "companion", "install", "--wordpress", folder).want(t, exit.OK)
	wantTexts(t, run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout, "All files are as this program brings them")
	after := filesBelow(t, folder)
	if _, there := after["wp-content/"+pluginFolder+"/old/page.php"]; there {
		t.Error("a file of the earlier version is left")
	}
	for _, name := range []string{"wp-content/plugins/index.php", "wp-includes/version.php"} {
		if _, there := after[name]; !there {
			t.Errorf("the manifest made it delete %s", name)
		}
	}
}

func TestCompanionHasTheOwnerAndModeOfItsSurroundings(t *testing.T) {
	t.Parallel()
	folder := wordPressFolder(t, "6.1.9")
	content := filepath.Join(folder, "wp-content")
	if err := os.RemoveAll(filepath.Join(content, mustUseFolder)); err != nil {
		t.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 33, 33 // www-data on Debian
		for _, name := range []string{content, filepath.Join(content, "plugins")} {
			if err := os.Chown(name, uid, gid); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(filepath.Join(content, "plugins"), 0o750); err != nil {
		t.Fatal(err)
	}
	run(t, nil, "", "companion", "install", "--wordpress", folder).want(t, exit.OK)
	for name, mode := range map[string]fs.FileMode{pluginFolder: 0o750, pluginMain: 0o640, manifestOfFile: 0o640} {
		info, err := os.Stat(filepath.Join(content, name))
		if err != nil {
			t.Fatal(err)
		}
		gotUID, gotGID, _ := ownerOf(info)
		if info.Mode().Perm() != mode || gotUID != uid || gotGID != gid {
			t.Errorf("%s: mode %o of %d:%d, want %o of %d:%d", name, info.Mode().Perm(), gotUID, gotGID, mode, uid, gid)
		}
	}
}

func TestCompanionNeedsWordPress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		code int
		text string
	}{
		"no directory":      {nil, exit.Usage, "name the directory of WordPress"},
		"no WordPress":      {[]string{"--wordpress", t.TempDir()}, exit.Failure, "there is no WordPress in"},
		"too old":           {[]string{"--wordpress", wordPressFolder(t, "6.0.11")}, exit.Failure, "is version 6.0.11; the companion needs 6.1"},
		"no wp-content":     {[]string{"--wordpress", wordPressFolder(t, "6.1"), "--content", "/nowhere/app"}, exit.Failure, "--content names another"},
		"another operand":   {[]string{"now"}, exit.Usage, "it takes flags only"},
		"without wordpress": {[]string{"--content", t.TempDir()}, exit.Usage, "name the directory of WordPress"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, command := range []string{"install", "remove", "status"} {
				run(t, nil, "", append([]string{"companion", command}, test.args...)...).want(t, test.code, test.text)
			}
		})
	}
	t.Run("a directory that leads elsewhere", func(t *testing.T) {
		t.Parallel()
		folder, elsewhere := wordPressFolder(t, "6.1"), t.TempDir()
		plugins := filepath.Join(folder, "wp-content", "plugins")
		if err := os.RemoveAll(plugins); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, plugins); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"install", "remove", "status"} {
			run(t, nil, "", "companion", command, "--wordpress", folder).want(t, exit.Failure, plugins, "companion zip")
		}
		_, err := os.Stat(filepath.Join(folder, "wp-content", mustUseFolder, "bookside.php"))
		if files := filesBelow(t, elsewhere); len(files) > 0 || !os.IsNotExist(err) {
			t.Errorf("something was written: %v, %v", files, err)
		}
	})
	t.Run("wp-content elsewhere by wp-config.php", func(t *testing.T) {
		t.Parallel()
		folder, content := wordPressFolder(t, "6.1"), filepath.Join(wordPressFolder(t, "6.1"), "wp-content")
		before := filesBelow(t, folder)
		writeBelow(t, folder, map[string]string{"wp-config.php": "<?php\ndefine('DB_NAME', getenv('DB'));\ndefine('WP_CONTENT_DIR', '" + content + "');\n"})
		run(t, nil, "", "companion", "install", "--wordpress", folder).want(t, exit.OK)
		if _, err := os.Stat(filepath.Join(content, pluginMain)); err != nil {
			t.Error(err)
		}
		wantTexts(t, run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout, "All files are as this program brings them")
		run(t, nil, "", "companion", "remove", "--wordpress", folder).want(t, exit.OK)
		writeBelow(t, folder, map[string]string{"wp-config.php": "<?php\ndefine('WP_CONTENT_DIR', __DIR__ . '/app');\n"})
		for _, command := range []string{"install", "remove", "status"} {
			run(t, nil, "", "companion", command, "--wordpress", folder).want(t, exit.Failure, "WP_CONTENT_DIR is computed", "--content names it")
		}
		run(t, nil, "", "companion", "install", "--wordpress", folder, "--content", content).want(t, exit.OK)
		if err := os.Remove(filepath.Join(folder, "wp-config.php")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, filesBelow(t, folder)); diff != "" {
			t.Errorf("the directory that is not used was changed: %s", diff)
		}
	})
	t.Run("wp-content elsewhere", func(t *testing.T) {
		t.Parallel()
		content := filepath.Join(wordPressFolder(t, "6.1"), "wp-content")
		run(t, nil, "", "companion", "install", "--wordpress", wordPressFolder(t, "6.1"), "--content", content).want(t, exit.OK)
		if _, err := os.Stat(filepath.Join(content, pluginMain)); err != nil {
			t.Error(err)
		}
	})
}

// TestCompanionZip: the uploaded plugin has all files in one directory, and a companion
// installed over it recognises them.
func TestCompanionZip(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "bookside.zip")
	wantTexts(t, run(t, nil, "", "companion", "zip", file).want(t, exit.OK).stdout, "to "+file)
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	run(t, nil, "", "companion", "zip", file).want(t, exit.OK)
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("the second ZIP file differs: %v", err)
	}

	folder := wordPressFolder(t, "6.1")
	archive, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // only read
	unpacked := map[string]string{}
	for _, entry := range archive.File {
		if !strings.HasPrefix(entry.Name, "bookside/") {
			t.Errorf("%s is outside of the plugin's directory", entry.Name)
		}
		reader, err := entry.Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		unpacked["wp-content/plugins/"+entry.Name] = string(content)
	}
	ours, err := companionToInstall()
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range ours.files {
		at := "wp-content/" + name
		if strings.HasPrefix(name, mustUseFolder+"/") {
			at = "wp-content/" + pluginFolder + "/" + name
		}
		if unpacked[at] != string(content) {
			t.Errorf("%s is not in %q", at, slices.Sorted(maps.Keys(unpacked)))
		}
	}
	writeBelow(t, folder, unpacked)
	status := func() string {
		return oneSpaced(run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout)
	}
	wantTexts(t, status(), "Installed: "+ours.version+", as an uploaded plugin", "All files are as this program brings them")
	writeBelow(t, folder, map[string]string{"wp-content/" + pluginFolder + "/mu-plugins/bookside.php": "<?php // changed"})
	wantTexts(t, status(), pluginFolder+"/mu-plugins/bookside.php changed")
	writeBelow(t, folder, unpacked)
	run(t, nil, "", "companion", "install", "--wordpress", folder).want(t, exit.OK)
	wantTexts(t, run(t, nil, "", "companion", "status", "--wordpress", folder).want(t, exit.OK).stdout, "All files are as this program brings them")
	run(t, nil, "", "companion", "remove", "--wordpress", folder).want(t, exit.OK)
	if _, err := os.Stat(filepath.Join(folder, "wp-content", pluginFolder)); !os.IsNotExist(err) {
		t.Error("files are left")
	}
}
