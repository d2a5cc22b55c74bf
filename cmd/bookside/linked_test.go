package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// TestLinkerDropsUnusedMethods: who looks up methods by a name that is known at
// run time only, as templates do when they are executed, makes the linker keep
// every exported method of every type, which is half a program more. Some
// modules have functions that execute templates; they are dropped as long as
// nothing is looked up so, and kept by anything that does.
func TestLinkerDropsUnusedMethods(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "bookside")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Env = append(os.Environ(), "GOOS=linux") // for its format
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
