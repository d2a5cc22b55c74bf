// Command licenses prints the licences of everything in a bookside binary: linked modules, Go's standard
// library, and embedded files. It fails if a module has no licence.
//
//	go run ./docker/release/licenses dist/bookside-linux-amd64
//
// Run it in the repository from which the binary was built.
package main

import (
	"bytes"
	"cmp"
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("name one binary of bookside")
	}
	info, err := buildinfo.ReadFile(args[0])
	if err != nil {
		return err
	}
	modules, err := linkedModules(ctx, info)
	if err != nil {
		return err
	}
	if err := sameModules(info, modules); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	text, err := notice(modules)
	if err != nil {
		return err
	}
	_, err = stdout.Write(text)
	return err
}

// module is a module with packages in a binary.
type module struct {
	name, version string
	root          string          // its directory
	folders       map[string]bool // directories below root of packages and of their embedded files
}

// source returns where to get a module's source code, which some licences require to be stated.
func (m *module) source() string {
	switch m.name {
	case goModule:
		return "https://go.dev/dl/"
	case ownModule:
		return "from the same place as this program"
	default:
		return "go mod download " + m.name + "@" + m.version
	}
}

const (
	ownModule = "bookside"
	goModule  = "Go" // the standard library, which has no module
)

// listedPackage is a package in the output of go list.
type listedPackage struct {
	Dir, ImportPath string
	Standard        bool
	EmbedFiles      []string
	Module          *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Version string }
	}
}

// linkedModules returns the modules of the packages that a binary is built from.
func linkedModules(ctx context.Context, info *buildinfo.BuildInfo) (map[string]*module, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,ImportPath,Standard,EmbedFiles,Module", info.Path)
	list.Env = os.Environ()
	for _, setting := range info.Settings {
		if setting.Key == "GOOS" || setting.Key == "GOARCH" || setting.Key == "CGO_ENABLED" {
			list.Env = append(list.Env, setting.Key+"="+setting.Value)
		}
	}
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", info.Path, err)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	modules := map[string]*module{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p listedPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return modules, nil
		case err != nil:
			return nil, fmt.Errorf("go list %s: %w", info.Path, err)
		}
		m := &module{name: goModule, version: strings.TrimPrefix(info.GoVersion, "go"), root: strings.TrimSpace(string(root)), folders: map[string]bool{}}
		if !p.Standard {
			m.name, m.version, m.root = p.Module.Path, p.Module.Version, p.Module.Dir
			if r := p.Module.Replace; r != nil {
				m.name, m.version = r.Path, r.Version
			}
			if p.Module.Main {
				m.name = ownModule
			}
		}
		if known, ok := modules[m.name]; ok {
			m = known
		}
		modules[m.name] = m
		m.folders[p.Dir] = true
		for _, file := range p.EmbedFiles {
			m.folders[filepath.Dir(filepath.Join(p.Dir, file))] = true
		}
	}
}

// sameModules returns an error if the binary was built from other modules.
func sameModules(info *buildinfo.BuildInfo, modules map[string]*module) error {
	linked := map[string]bool{goModule: true, ownModule: true}
	for _, dep := range info.Deps {
		if dep.Replace != nil {
			dep = dep.Replace
		}
		linked[dep.Path] = true
		if m, ok := modules[dep.Path]; !ok || m.version != dep.Version {
			return fmt.Errorf("the binary was built from another state of the repository: it contains %s %s", dep.Path, dep.Version)
		}
	}
	for name := range modules {
		if !linked[name] {
			return fmt.Errorf("the binary was built from another state of the repository: it lacks %s", name)
		}
	}
	return nil
}

// licenseFile matches names like LICENSE, COPYING.txt or bundle.js.LICENSE.txt.
var licenseFile = regexp.MustCompile(`(?i)^(.*[._-])?(un)?(licen[cs]es?|copying|copyright|notice|patents)([._-].*)?$`)

// texts returns the licences of a module by path: those in its directories and in
// their parents up to root.
func (m *module) texts() (map[string]string, error) {
	found := map[string]string{}
	visited := map[string]bool{}
	for folder := range m.folders {
		for !visited[folder] {
			visited[folder] = true
			entries, err := os.ReadDir(folder)
			if err != nil {
				return nil, err
			}
			for _, entry := range entries {
				if !entry.Type().IsRegular() || !licenseFile.MatchString(entry.Name()) || filepath.Ext(entry.Name()) == ".go" {
					continue
				}
				path := filepath.Join(folder, entry.Name())
				content, err := os.ReadFile(path)
				if err != nil {
					return nil, err
				}
				below, err := filepath.Rel(m.root, path)
				if err != nil {
					return nil, err
				}
				found[filepath.ToSlash(below)] = strings.TrimSpace(string(bytes.ReplaceAll(content, []byte("\r\n"), []byte("\n"))))
			}
			if folder == m.root {
				break
			}
			folder = filepath.Dir(folder)
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(path string) bool { return !strings.Contains(path, "/") }) {
		return nil, fmt.Errorf("%s %s has no licence in %s", m.name, m.version, m.root)
	}
	return found, nil
}

// notice returns the list of modules, followed by each licence once, below the names
// of its modules.
func notice(modules map[string]*module) ([]byte, error) {
	sorted := slices.SortedFunc(maps.Values(modules), func(a, b *module) int {
		return cmp.Or(cmp.Compare(rank(a.name), rank(b.name)), cmp.Compare(a.name, b.name))
	})
	var b bytes.Buffer
	b.WriteString("Bookside is made of the following; behind each is where its source can be had.\n\n")
	var order []string
	uses := map[string][]string{}
	for _, m := range sorted {
		fmt.Fprintf(&b, "  %s (%s)\n", strings.TrimSpace(m.name+" "+m.version), m.source())
		texts, err := m.texts()
		if err != nil {
			return nil, err
		}
		for _, path := range slices.Sorted(maps.Keys(texts)) {
			text := texts[path]
			if uses[text] == nil {
				order = append(order, text)
			}
			uses[text] = append(uses[text], m.name+"/"+path)
		}
	}
	for _, text := range order {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(uses[text], "\n"), text)
	}
	return b.Bytes(), nil
}

// rank sorts the program itself first, then Go.
func rank(name string) int {
	switch name {
	case ownModule:
		return 0
	case goModule:
		return 1
	default:
		return 2
	}
}
