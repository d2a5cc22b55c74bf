package main

import (
	"bytes"
	"debug/buildinfo"
	"runtime/debug"
	"slices"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	info := &buildinfo.BuildInfo{
		GoVersion: "go1.26.1",
		Main:      debug.Module{Path: "bookside", Version: "v1.2.3+dirty"},
		Deps: []*debug.Module{
			{Path: "example.com/plain", Version: "v0.1.0"},
			{Path: "example.com/old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/new", Version: "v2.0.0"}},
		},
	}
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).Encode(document(info, "5.35.0")); err != nil {
		t.Fatal(err)
	}
	var got cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(&text, cyclonedx.BOMFileFormatJSON).Decode(&got); err != nil {
		t.Fatal(err)
	}
	var urls []string
	for _, c := range *got.Components {
		urls = append(urls, c.PackageURL)
	}
	want := []string{"pkg:golang/std@1.26.1", "pkg:golang/example.com/plain@v0.1.0", "pkg:golang/example.com/new@v2.0.0", "pkg:npm/swagger-ui-dist@5.35.0"}
	if !slices.Equal(urls, want) {
		t.Errorf("components %q, want %q", urls, want)
	}
	if url := got.Metadata.Component.PackageURL; url != "pkg:golang/bookside@v1.2.3%2Bdirty" {
		t.Errorf("program %q", url)
	}
	if dependencies := *(*got.Dependencies)[0].Dependencies; !slices.Equal(dependencies, want) {
		t.Errorf("dependencies %q, want %q", dependencies, want)
	}
}

func TestUnreadable(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{"nothing": nil, "two": {"a", "b"}, "no binary": {"main.go"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout bytes.Buffer
			if err := run(args, &stdout); err == nil || stdout.Len() > 0 {
				t.Errorf("error %v, printed %q", err, stdout.String())
			}
		})
	}
}
