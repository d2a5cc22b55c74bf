package server

import (
	"runtime/debug"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
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
		expect.Equal(t, test.want, commitOf(test.settings), test.name)
	}
}
