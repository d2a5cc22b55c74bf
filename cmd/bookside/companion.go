package main

import (
	"archive/zip"
	"embed"
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

	"github.com/spf13/cobra"
)

func (p *program) companion() *cobra.Command {
	command := &cobra.Command{
		Use:   "companion FILE",
		Short: "write the companion, a plugin for WordPress, as a ZIP file",
		Long: `Writes the companion as a ZIP file. WordPress takes it in wp-admin under Plugins, Add New, Upload
Plugin; a new version replaces the old one. On the server, wp plugin install FILE --activate does the
same, and so does unpacking it in wp-content/plugins.`,
	}
	command.RunE = func(_ *cobra.Command, operands []string) error {
		ours, err := companionPlugin()
		if err != nil {
			return err
		}
		if err := ours.writeZip(operands[0]); err != nil {
			return fmt.Errorf("write the ZIP file: %w", err)
		}
		return p.print(fmt.Sprintf("Wrote the companion %s to %s. Upload it in wp-admin under Plugins, Add New, Upload Plugin, and activate it.\n", ours.version, operands[0]))
	}
	return command
}

// The companion's files: those of the plugin, and those that it loads before anything else.
//
//go:embed companion
var embeddedCompanion embed.FS

const (
	pluginFolder  = "bookside"
	pluginMain    = pluginFolder + "/bookside.php"
	mustUseFolder = "mu-plugins"
)

// plugin is the companion in one version.
type plugin struct {
	version string
	files   map[string][]byte // by path below WordPress's directory of plugins
}

// pluginVersion matches the version in the plugin's header.
var pluginVersion = regexp.MustCompile(`(?m)^ \* Version:\s*(\S+)$`)

// companionPlugin returns the embedded companion.
func companionPlugin() (plugin, error) {
	c := plugin{files: map[string][]byte{}}
	root, err := fs.Sub(embeddedCompanion, "companion")
	if err != nil {
		return c, err
	}
	err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Dir(name) == "." || path.Ext(name) == ".go" {
			return err
		}
		in, plugin := strings.CutPrefix(name, "plugins/")
		if !plugin {
			in = pluginFolder + "/" + name
		}
		c.files[in], err = fs.ReadFile(root, name)
		return err
	})
	if found := pluginVersion.FindSubmatch(c.files[pluginMain]); found != nil {
		c.version = string(found[1])
	}
	return c, err
}

// writeZip writes a ZIP file that WordPress accepts as a plugin.
func (c plugin) writeZip(name string) (err error) {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return c.zip(file)
}

// zip writes the files as an archive, which depends on nothing but them.
func (c plugin) zip(to io.Writer) error {
	writer := zip.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(c.files)) {
		header := &zip.FileHeader{Name: name, Method: zip.Deflate}
		header.SetMode(0o644)
		entry, err := writer.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(c.files[name]); err != nil {
			return err
		}
	}
	return writer.Close()
}
