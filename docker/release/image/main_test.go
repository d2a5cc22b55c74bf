package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/buildinfo"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var built = &buildinfo.BuildInfo{
	Main: debug.Module{Path: "example.com/bookside", Version: "v1.2.3"},
	Settings: []debug.BuildSetting{
		{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.time", Value: "2027-01-11T08:00:00Z"},
	},
}

// TestImage: both ways to read the archive give the same image, in which everybody can run the program.
func TestImage(t *testing.T) {
	t.Parallel()
	for program := range programs {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			archive := archived(t, program)
			if !bytes.Equal(archive, archived(t, program)) {
				t.Error("the same files give different archives")
			}
			unpacked, opener := t.TempDir(), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }
			for path, text := range untar(t, bytes.NewReader(archive)) {
				put(t, filepath.Join(unpacked, path), text.content)
			}
			opened, err := layout.ImageIndexFromPath(unpacked)
			if err != nil {
				t.Fatal(err)
			}
			index, err := opened.IndexManifest()
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, listed := range index.Manifests {
				names = append(names, listed.Annotations["io.containerd.image.name"])
			}
			if want := []string{"docker.io/library/" + program + ":1.2.3", "docker.io/library/" + program + ":latest"}; !slices.Equal(names, want) {
				t.Errorf("names %q, want %q", names, want)
			}
			image, err := opened.Image(index.Manifests[0].Digest)
			if err != nil {
				t.Fatal(err)
			}
			tag, err := name.NewTag(program + ":latest")
			if err != nil {
				t.Fatal(err)
			}
			docker, err := tarball.Image(opener, &tag)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(validate.Image(image), validate.Image(docker)); err != nil {
				t.Fatal(err)
			}
			if id, same := configName(t, image), configName(t, docker); id != same {
				t.Errorf("the images are %s and %s", id, same)
			}
			wantConfig(t, image, program)
			wantFiles(t, image, program)
		})
	}
}

func wantConfig(t *testing.T, image v1.Image, program string) {
	t.Helper()
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if got := file.Created.UTC().String() + " " + file.Platform().String(); got != "2027-01-11 08:00:00 +0000 UTC linux/arm64" {
		t.Errorf("created %s", got)
	}
	if file.Config.User != user || !slices.Equal(file.Config.Entrypoint, []string{"/" + program}) || len(file.Config.Healthcheck.Test) < 3 {
		t.Errorf("config %+v", file.Config)
	}
	for label, want := range map[string]string{"title": program, "version": "1.2.3", "revision": "abc", "created": "2027-01-11T08:00:00Z", "source": "https://example.com/bookside"} {
		if got := file.Config.Labels["org.opencontainers.image."+label]; got != want {
			t.Errorf("label %s is %q, want %q", label, got, want)
		}
	}
}

func wantFiles(t *testing.T, image v1.Image, program string) {
	t.Helper()
	files := untar(t, mutate.Extract(image))
	var listed []string
	for path, f := range files {
		listed = append(listed, path+" "+f.mode)
	}
	slices.Sort(listed)
	if want := []string{"LICENSE -rw-r--r--", program + " -rwxr-xr-x", rootCertificates + " -rw-r--r--"}; !slices.Equal(listed, want) {
		t.Errorf("files %q, want %q", listed, want)
	}
	if !x509.NewCertPool().AppendCertsFromPEM(files[rootCertificates].content) {
		t.Error("there are no root certificates")
	}
}

// TestNoImage: what has no version and no settings becomes no image.
func TestNoImage(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for what, args := range map[string][]string{"nothing": nil, "no program": {"main.go"}, "another program": {self}} {
		if err := run(args, io.Discard); err == nil {
			t.Errorf("%s becomes an image", what)
		}
	}
	if _, _, err := build(&buildinfo.BuildInfo{}, []string{"bookside"}); err == nil || !strings.Contains(err.Error(), "not built from a commit") {
		t.Errorf("without a commit: %v", err)
	}
}

// archived returns the archive of an image.
func archived(t *testing.T, program string) []byte {
	t.Helper()
	folder := t.TempDir()
	files := []string{filepath.Join(folder, program), filepath.Join(folder, "LICENSE")}
	for _, file := range files {
		put(t, file, []byte("content of "+filepath.Base(file)))
	}
	image, tags, err := build(built, files)
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := write(&archive, image, program, tags); err != nil {
		t.Fatal(err)
	}
	return archive.Bytes()
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, content, 0o600)); err != nil {
		t.Fatal(err)
	}
}

type file struct {
	mode    string
	content []byte
}

// untar returns the regular files of a tar file by path.
func untar(t *testing.T, packed io.Reader) map[string]file {
	t.Helper()
	found := map[string]file{}
	for reader := tar.NewReader(packed); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			found[header.Name] = file{header.FileInfo().Mode().String(), content}
		}
	}
}

func configName(t *testing.T, image v1.Image) v1.Hash {
	t.Helper()
	hash, err := image.ConfigName()
	if err != nil {
		t.Fatal(err)
	}
	return hash
}
