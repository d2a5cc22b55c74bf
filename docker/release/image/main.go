// Command image writes a container image that has nothing but a program and its licences, as an archive that
// docker load, podman load and skopeo read. Version, commit and platform are those in the program, and all
// times are the commit's, so that the same program always becomes the same image.
//
//	go run ./docker/release/image dist/bookside dist/licenses.txt LICENSE >bookside.image.tar
package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// programs are the settings of the images, by the programs' names.
var programs = map[string]struct {
	title, licenses string
	config          v1.Config
}{
	"bookside": {
		title: "REST API for the LatePoint booking plugin of WordPress", licenses: "Apache-2.0 AND GPL-2.0-or-later",
		config: v1.Config{
			// The probes listen on the container's loopback interface, where the health check calls them.
			Env:          []string{"BOOKSIDE_SERVER__LISTEN=0.0.0.0:8080", "GOMEMLIMIT=192MiB"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/bookside", "check", "--live"}, Interval: 10 * time.Second, Timeout: 6 * time.Second, StartPeriod: 40 * time.Second},
			Cmd:          []string{"serve"},
		},
	},
	"bookside-demo": {
		title: "Bookside with a sample site, or one that fixtures describe, for tests", licenses: "Apache-2.0 AND GPL-2.0-or-later",
		config: v1.Config{
			Env:          []string{"BOOKSIDE_SERVER__LISTEN=0.0.0.0:8080", "BOOKSIDE_ADMIN__LISTEN=0.0.0.0:8081"},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}},
			Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/bookside-demo", "check"}, Interval: time.Second, Timeout: 6 * time.Second, StartPeriod: 40 * time.Second},
		},
	},
}

// user is who runs the programs: nobody that any image or machine knows.
const user = "65532:65532"

func run(args []string, stdout io.Writer) error {
	if len(args) == 0 {
		return errors.New("name a program, and what else belongs into its image")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	image, tags, err := build(info, args)
	if err != nil {
		return err
	}
	return write(stdout, image, filepath.Base(args[0]), tags)
}

// build returns the image of a program, with files beside it in its root directory, and its tags.
func build(info *buildinfo.BuildInfo, files []string) (v1.Image, []string, error) {
	name := filepath.Base(files[0])
	program, ok := programs[name]
	if !ok {
		return nil, nil, fmt.Errorf("there is no image of %q", name)
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	version := strings.TrimPrefix(info.Main.Version, "v")
	created, err := time.Parse(time.RFC3339, settings["vcs.time"])
	if err != nil || version == "" {
		return nil, nil, fmt.Errorf("%s was not built from a commit", files[0])
	}
	layer, err := pack(files, created)
	if err != nil {
		return nil, nil, err
	}
	config := program.config
	config.Entrypoint, config.User, config.WorkingDir = []string{"/" + name}, user, "/"
	config.Labels = map[string]string{
		"org.opencontainers.image.title":       name,
		"org.opencontainers.image.description": program.title,
		"org.opencontainers.image.version":     version,
		"org.opencontainers.image.revision":    settings["vcs.revision"],
		"org.opencontainers.image.created":     created.UTC().Format(time.RFC3339),
		"org.opencontainers.image.source":      "https://" + info.Main.Path,
		"org.opencontainers.image.licenses":    program.licenses,
	}
	image, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: settings["GOOS"], Architecture: settings["GOARCH"], Created: v1.Time{Time: created}, Config: config, RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: created}, CreatedBy: "docker/release/image"}})
	return image, []string{strings.ReplaceAll(version, "+", "-"), "latest"}, err
}

// rootCertificates is where Go looks for those that TLS connections to the database and to receivers of
// webhooks need. They are Mozilla's, as of the module's version.
const rootCertificates = "etc/ssl/certs/ca-certificates.crt"

// pack returns the only layer: files in the root directory, and the root certificates.
func pack(files []string, created time.Time) (v1.Layer, error) {
	content := map[string][]byte{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		content[filepath.Base(file)] = text
	}
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // it is trusted for some certificates only, which the file cannot say
		}
		if err := pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	content[rootCertificates] = roots.Bytes()
	var packed bytes.Buffer
	err := writeTar(&packed, content, map[string]int64{filepath.Base(files[0]): 0o755}, created)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression))
}

// writeTar writes files by path, and their directories, as a tar file. They can be read by everybody; modes
// has those that are not 0644.
func writeTar(to io.Writer, content map[string][]byte, modes map[string]int64, modified time.Time) error {
	out := tar.NewWriter(to)
	made := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(content)) {
		for i, letter := range name {
			if folder := name[:i]; letter == '/' && !made[folder] {
				made[folder] = true
				if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o755, ModTime: modified}); err != nil {
					return err
				}
			}
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content[name])), Mode: cmp.Or(modes[name], 0o644), ModTime: modified}
		if err := out.WriteHeader(header); err != nil {
			return err
		}
		if _, err := out.Write(content[name]); err != nil {
			return err
		}
	}
	return out.Close()
}

// write writes an image as an archive that is both an OCI image layout and what Docker before version 25
// loads, as docker save does.
func write(to io.Writer, image v1.Image, name string, tags []string) (err error) {
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	for _, tag := range tags {
		named := layout.WithAnnotations(map[string]string{"io.containerd.image.name": "docker.io/library/" + name + ":" + tag, "org.opencontainers.image.ref.name": tag})
		if err := written.AppendImage(image, named); err != nil {
			return err
		}
	}
	content := map[string][]byte{}
	err = fs.WalkDir(os.DirFS(folder), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content[path], err = os.ReadFile(filepath.Join(folder, path))
		return err
	})
	if err != nil {
		return err
	}
	if content["manifest.json"], err = dockerManifest(image, name, tags); err != nil {
		return err
	}
	return writeTar(to, content, nil, time.Unix(0, 0))
}

// dockerManifest names the parts of the image as Docker before version 25 does.
func dockerManifest(image v1.Image, name string, tags []string) ([]byte, error) {
	manifest, err := image.Manifest()
	if err != nil {
		return nil, err
	}
	blob := func(d v1.Descriptor) string { return "blobs/" + d.Digest.Algorithm + "/" + d.Digest.Hex }
	described := tarball.Descriptor{Config: blob(manifest.Config)}
	for _, layer := range manifest.Layers {
		described.Layers = append(described.Layers, blob(layer))
	}
	for _, tag := range tags {
		described.RepoTags = append(described.RepoTags, name+":"+tag)
	}
	return json.Marshal(tarball.Manifest{described})
}
