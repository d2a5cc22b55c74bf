package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock    = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	documentLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestLinksOfDocuments: every link in a document leads to an existing file, and to a heading in it.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	texts := texts(t)
	for path, text := range texts {
		texts[path] = codeBlock.ReplaceAllString(text, "")
	}
	links := 0
	for path, text := range texts {
		for _, found := range documentLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(found[1], "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Errorf("%s links to %s: %v", path, found[1], err)
			} else if anchor != "" && !slices.Contains(anchorsOf(texts[to]), anchor) {
				t.Errorf("%s links to %s, which has no such heading", path, found[1])
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
}

// printedCode matches a block of Go in a document that begins with the name of its file.
var printedCode = regexp.MustCompile("(?ms)^```go\n// (\\S+\\.go)\n(.*?)^```")

// TestPrintedCode: the code printed in CONTRIBUTING.md is in its file.
func TestPrintedCode(t *testing.T) {
	t.Parallel()
	read := func(path string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	blocks := printedCode.FindAllStringSubmatch(read("CONTRIBUTING.md"), -1)
	if len(blocks) == 0 {
		t.Error("no code is printed")
	}
	for _, block := range blocks {
		if !strings.Contains(read(block[1]), block[2]) {
			t.Errorf("%s has no longer:\n%s", block[1], block[2])
		}
	}
}

// anchorsOf returns the anchors of a document's headings, as GitHub creates them.
func anchorsOf(text string) (anchors []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		plain := notInAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	return anchors
}
