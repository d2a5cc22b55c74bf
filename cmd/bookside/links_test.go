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

// anchorsOf returns the anchors of a document's headings, as GitHub creates them.
func anchorsOf(text string) (anchors []string) {
	for _, found := range heading.FindAllStringSubmatch(text, -1) {
		plain := notInAnchor.ReplaceAllString(strings.ToLower(found[1]), "")
		anchors = append(anchors, strings.ReplaceAll(plain, " ", "-"))
	}
	return anchors
}
