package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/bookside/bookside/fixtures"
)

// TestLinkerDropsUnusedMethods: code that looks up methods by a name known only at run time, as executing a
// template does, makes the linker keep every exported method of every type, which adds half the program's
// size. Some modules contain functions that execute templates; the linker drops those functions as long as
// nothing reachable looks up methods in this way.
func TestLinkerDropsUnusedMethods(t *testing.T) {
	t.Parallel()
	fixtures.RequireTime(t)
	program := filepath.Join(t.TempDir(), "bookside")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=linux") // the test reads the ELF format
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, output)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	symbols, err := file.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	linked := func(name string) bool {
		return slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	}
	if !linked("main.main") {
		t.Fatal("the program has no symbols")
	}
	if linked("text/template.(*Template).Execute") {
		t.Error("the program can execute templates, and so has all methods; for what looks them up: go build -ldflags=-dumpdep -o /dev/null ./cmd/bookside 2>&1 | grep '<ReflectMethod>'")
	}
}
