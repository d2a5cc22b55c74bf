package main

import (
	"archive/zip"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The companion's files, laid out as in wp-content.
//
//go:embed companion
var embeddedCompanion embed.FS

const (
	pluginFolder   = "plugins/bookside"
	pluginMain     = pluginFolder + "/bookside.php"
	mustUseFolder  = "mu-plugins"
	mustUseClasses = mustUseFolder + "/bookside" // loaded by the file beside it
	manifestOfFile = pluginFolder + "/installed.json"
)

// companion is the set of files of one version.
type companion struct {
	version string
	files   map[string][]byte // by path below wp-content
}

// installation is the content of installed.json: what was installed, so that files changed since can be
// recognised.
type installation struct {
	Version string            `json:"version"`
	Files   map[string]string `json:"files"` // SHA-256 by path below wp-content
}

// pluginVersion matches the version in the plugin's header.
var pluginVersion = regexp.MustCompile(`(?m)^ \* Version:\s*(\S+)$`)

// companionToInstall returns the files as the command installs them.
func companionToInstall() (companion, error) {
	c := companion{files: map[string][]byte{}}
	root, err := fs.Sub(embeddedCompanion, "companion")
	if err != nil {
		return c, err
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(name) == "." || path.Ext(name) == ".go" {
			return err
		}
		c.files[name], err = fs.ReadFile(root, name)
		return err
	})
	if found := pluginVersion.FindSubmatch(c.files[pluginMain]); found != nil {
		c.version = string(found[1])
	}
	return c, err
}

// companionToUpload returns the files as a single ordinary plugin, which includes the must-use plugin and
// loads it itself.
func companionToUpload() (companion, error) {
	c, err := companionToInstall()
	for name, content := range maps.Clone(c.files) {
		if strings.HasPrefix(name, mustUseFolder+"/") {
			delete(c.files, name)
			c.files[pluginFolder+"/"+name] = content
		}
	}
	return c, err
}

// manifest returns the content of installed.json.
func (c companion) manifest() ([]byte, error) {
	i := installation{Version: c.version, Files: map[string]string{}}
	for name, content := range c.files {
		i.Files[name] = hashOf(content)
	}
	text, err := json.MarshalIndent(i, "", "  ")
	return append(text, '\n'), err
}

func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// writeZip writes a ZIP file that WordPress accepts as a plugin. Its content depends only on the files.
func (c companion) writeZip(name string) error {
	manifest, err := c.manifest()
	if err != nil {
		return err
	}
	files := maps.Clone(c.files)
	files[manifestOfFile] = manifest
	var archive bytes.Buffer
	writer := zip.NewWriter(&archive)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		header := &zip.FileHeader{Name: strings.TrimPrefix(file, "plugins/"), Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)}
		header.SetMode(0o644)
		entry, err := writer.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(files[file]); err != nil {
			return err
		}
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return replaceFileAt(name, 0o644, func(to io.Writer) error {
		_, err := archive.WriteTo(to)
		return err
	})
}

// fileState compares a file of the site with the one in this program.
type fileState string

// The states of files.
const (
	fileCurrent  fileState = "as this program brings it"
	fileOutdated fileState = "of another version"
	fileObsolete fileState = "of another version, no longer needed"
	fileMissing  fileState = "missing"
	fileChanged  fileState = "changed"
)

// comparison is the state of every file that this program has or an earlier one installed.
type comparison struct {
	version string // the installed version; "" if unknown
	files   map[string]fileState
}

// names returns the files in the order in which they are written: last the must-use plugin and the plugin's
// main file, which WordPress loads and which need the others.
func (c comparison) names() []string {
	rank := func(name string) int {
		switch {
		case path.Dir(name) == mustUseFolder:
			return 2
		case name == pluginMain:
			return 1
		default:
			return 0
		}
	}
	return slices.SortedFunc(maps.Keys(c.files), func(a, b string) int {
		if order := rank(a) - rank(b); order != 0 {
			return order
		}
		return strings.Compare(a, b)
	})
}

// in returns the files in a state.
func (c comparison) in(state fileState) []string {
	return slices.DeleteFunc(c.names(), func(name string) bool { return c.files[name] != state })
}

// companionSite is the directory wp-content of a site. Nothing outside it is touched, whatever links it
// contains.
type companionSite struct {
	root *os.Root
	path string
}

// uploaded reports whether the companion was uploaded as a ZIP file: then the ordinary plugin includes the
// must-use plugin, and its usual place is empty.
func (s *companionSite) uploaded() bool {
	const mustUse = mustUseFolder + "/bookside.php"
	_, there := s.root.Lstat(mustUse)
	_, brought := s.root.Lstat(pluginFolder + "/" + mustUse)
	return errors.Is(there, fs.ErrNotExist) && brought == nil
}

// compare compares the site's files with those of a companion. An unreadable manifest is not an error: it
// is then unknown what was installed.
func (s *companionSite) compare(ours companion) (comparison, error) {
	var installed installation
	if text, err := s.root.ReadFile(manifestOfFile); err == nil {
		if json.Unmarshal(text, &installed) != nil {
			installed = installation{}
		}
	}
	there := comparison{version: installed.Version, files: map[string]fileState{}}
	for name, content := range ours.files {
		state, err := s.state(name, hashOf(content), installed.Files[name])
		if err != nil {
			return there, err
		}
		there.files[name] = state
	}
	for name, hash := range installed.Files {
		if _, known := ours.files[name]; known || !belongsToCompanion(name) {
			continue
		}
		switch state, err := s.state(name, "", hash); {
		case err != nil:
			return there, err
		case state == fileOutdated:
			there.files[name] = fileObsolete
		case state == fileChanged:
			there.files[name] = fileChanged
		}
	}
	return there, nil
}

// belongsToCompanion reports whether a path in installed.json can be ours. A user who can write that file
// must not be able to make this program delete other files.
func belongsToCompanion(name string) bool {
	return fs.ValidPath(name) && (strings.HasPrefix(name, pluginFolder+"/") || strings.HasPrefix(name, mustUseClasses))
}

func (s *companionSite) state(name, ours, installed string) (fileState, error) {
	info, err := s.root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileMissing, nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return fileChanged, nil
	}
	content, err := s.root.ReadFile(name)
	if err != nil {
		return "", err
	}
	switch hashOf(content) {
	case ours:
		return fileCurrent, nil
	case installed:
		return fileOutdated, nil
	default:
		return fileChanged, nil
	}
}

// install writes the files that are not current and deletes those that are no longer needed. It returns
// their number.
func (s *companionSite) install(ours companion, there comparison) (changes int, err error) {
	for _, name := range there.names() {
		content, needed := ours.files[name]
		if !needed || there.files[name] == fileCurrent {
			continue
		}
		if err := s.write(name, content); err != nil {
			return changes, err
		}
		changes++
	}
	for _, name := range there.names() {
		if _, needed := ours.files[name]; needed {
			continue
		}
		if err := s.delete(name); err != nil {
			return changes, err
		}
		changes++
	}
	manifest, err := ours.manifest()
	if err != nil {
		return changes, err
	}
	if present, err := s.root.ReadFile(manifestOfFile); err == nil && bytes.Equal(present, manifest) {
		return changes, nil
	}
	return changes + 1, s.write(manifestOfFile, manifest)
}

// remove deletes all files, first those that WordPress loads, and returns their number.
func (s *companionSite) remove(there comparison) (removed int, err error) {
	names := there.names()
	slices.Reverse(names)
	for _, name := range append(names, manifestOfFile) {
		if _, err := s.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err := s.delete(name); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}

// delete deletes a file, and those of our directories that become empty.
func (s *companionSite) delete(name string) error {
	if err := s.root.Remove(name); err != nil {
		return err
	}
	for folder := path.Dir(name); folder == mustUseClasses || folder == pluginFolder || strings.HasPrefix(folder, pluginFolder+"/"); folder = path.Dir(folder) {
		entries, err := fs.ReadDir(s.root.FS(), folder)
		if err != nil || len(entries) > 0 {
			return err
		}
		if err := s.root.Remove(folder); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file as if the owner of its directory had done it.
func (s *companionSite) write(name string, content []byte) error {
	around, err := s.folder(path.Dir(name))
	if err != nil {
		return err
	}
	return replaceFile(s.root, name, content, around.Mode().Perm()&0o666, around)
}

// folder returns a directory, creating it like its parent if it does not exist.
func (s *companionSite) folder(name string) (fs.FileInfo, error) {
	info, err := s.root.Stat(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	around, err := s.folder(path.Dir(name))
	if err != nil {
		return nil, err
	}
	if err := s.root.Mkdir(name, 0o700); err != nil {
		return nil, err
	}
	if err := giveTo(s.root, name, around); err != nil {
		return nil, errors.Join(err, s.root.Remove(name))
	}
	if err := s.root.Chmod(name, around.Mode().Perm()); err != nil {
		return nil, errors.Join(err, s.root.Remove(name))
	}
	return s.root.Stat(name)
}

// replaceFile replaces a file atomically: a reader sees either the old content or the new one. The file
// gets the owner of around, if that is not nil.
func replaceFile(root *os.Root, name string, content []byte, mode fs.FileMode, around fs.FileInfo) error {
	return replaceFileBy(root, name, mode, around, func(to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(content))
		return err
	})
}

// replaceFileBy is like replaceFile, for content that is written in pieces.
func replaceFileBy(root *os.Root, name string, mode fs.FileMode, around fs.FileInfo, write func(io.Writer) error) (err error) {
	temporary := path.Join(path.Dir(name), ".bookside-"+strings.ToLower(rand.Text()))
	file, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Remove(temporary))
		}
	}()
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if around != nil {
		if err := giveTo(root, temporary, around); err != nil {
			return err
		}
	}
	if err := root.Chmod(temporary, mode); err != nil {
		return err
	}
	return root.Rename(temporary, name)
}

// giveTo gives a file the owner and the group of a directory.
func giveTo(root *os.Root, name string, around fs.FileInfo) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	uid, gid, known := ownerOf(around)
	nowUID, nowGID, _ := ownerOf(info)
	if !known || uid == nowUID && gid == nowGID {
		return nil
	}
	if err := root.Lchown(name, uid, gid); err != nil {
		return fmt.Errorf("give it the owner of the directory around it: %w", err)
	}
	return nil
}
