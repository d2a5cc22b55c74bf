package server

import (
	"runtime/debug"
	"testing"
)

func TestCommitOf(t *testing.T) {
	t.Parallel()
	const revision = "0123456789abcdef0123456789abcdef01234567"
	tests := []struct {
		name     string
		settings []debug.BuildSetting
		want     string
	}{
		{"unknown", nil, ""},
		{"clean", []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "false"}}, "0123456789ab"},
		{"changed", []debug.BuildSetting{{Key: "vcs.revision", Value: revision}, {Key: "vcs.modified", Value: "true"}}, "0123456789ab, changed"},
		{"short", []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}}, "abc"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := commitOf(test.settings); got != test.want {
				t.Errorf("%s: %q, want %q", test.name, got, test.want)
			}
		})
	}
}
