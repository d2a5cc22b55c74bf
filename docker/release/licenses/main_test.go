package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestLicensesOfTheBinary: all linked modules are listed with their licences, and so
// are Go and Swagger UI.
func TestLicensesOfTheBinary(t *testing.T) {
	t.Parallel()
	fixtures.RequireThorough(t)
	binary := filepath.Join(t.TempDir(), "bookside")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../../cmd/bookside")
	build.Env = append(os.Environ(), "GOOS=linux")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, output)
	}
	var first, second bytes.Buffer
	for _, b := range []*bytes.Buffer{&first, &second} {
		if err := run(t.Context(), []string{binary}, b); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the text is another one the second time")
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	wanted := []string{
		"\nbookside/LICENSE\n", "\nGo/LICENSE\n", "\nbookside/handlers/openapi/swaggerui/LICENSE\n", "\nbookside/handlers/openapi/swaggerui/NOTICE\n",
		"\nbookside/handlers/openapi/swaggerui/swagger-ui-bundle.js.LICENSE.txt\n",
		"Apache License", "Mozilla Public License Version 2.0", "Redistribution and use in source and binary forms",
	}
	for _, dep := range info.Deps {
		wanted = append(wanted, "  "+dep.Path+" "+dep.Version+" (go mod download "+dep.Path+"@"+dep.Version+")\n", "\n"+dep.Path+"/LICENSE")
	}
	if len(info.Deps) < 20 {
		t.Errorf("only %d modules", len(info.Deps))
	}
	for _, text := range wanted {
		if !strings.Contains(first.String(), text) {
			t.Errorf("%q is missing", text)
		}
	}
}

// TestModuleWithoutLicence: the licence of one package does not count for its module,
// and a Go file is no licence.
func TestModuleWithoutLicence(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inner := filepath.Join(root, "inner")
	for name, content := range map[string]string{"license.go": "package a", "README.md": "MIT", "inner/LICENSE": "of the package"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	modules := map[string]*module{"example.org/a": {name: "example.org/a", version: "v1.0.0", root: root, folders: map[string]bool{inner: true}}}
	if _, err := notice(modules); err == nil || !strings.Contains(err.Error(), "example.org/a v1.0.0 has no licence") {
		t.Errorf("error %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "COPYING.txt"), []byte("of the module\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := notice(modules)
	if err != nil || !strings.Contains(string(text), "\nexample.org/a/COPYING.txt\n\nof the module\n") || !strings.Contains(string(text), "\nexample.org/a/inner/LICENSE\n\nof the package\n") {
		t.Errorf("%v: %s", err, text)
	}
}

// TestOtherBinary: a binary with other modules than the repository's is an error.
func TestOtherBinary(t *testing.T) {
	t.Parallel()
	linked := func(path, version string) *buildinfo.BuildInfo {
		return &buildinfo.BuildInfo{Deps: []*debug.Module{{Path: path, Version: version}}}
	}
	for name, c := range map[string]struct {
		info    *buildinfo.BuildInfo
		modules map[string]*module
		ok      bool
	}{
		"the same":        {linked("a", "v1"), map[string]*module{"a": {version: "v1"}, ownModule: {}, goModule: {}}, true},
		"another version": {linked("a", "v1"), map[string]*module{"a": {version: "v2"}}, false},
		"one more":        {linked("a", "v1"), map[string]*module{}, false},
		"one less":        {linked("a", "v1"), map[string]*module{"a": {version: "v1"}, "b": {version: "v1"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := sameModules(c.info, c.modules); (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
		})
	}
}
