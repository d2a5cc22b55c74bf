package wpconfig

import (
	"os"
	"path/filepath"
	"testing"
)

func TestLocate(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, file := range []string{"a/wp-config.php", "a/wp-settings.php", "a/copy/wp-settings.php", "b/wp-config.php", "b/wp/wp-settings.php", "c/wp-config.php", "c/wp/wp-config.php", "d/other.php"} {
		name := filepath.Join(root, file)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ about, path, want string }{
		{"a file", "a/wp-config.php", "a/wp-config.php"},
		{"its directory", "a", "a/wp-config.php"},
		{"another WordPress within", "a/copy", "a/copy/wp-config.php"},
		{"above WordPress", "b/wp", "b/wp-config.php"},
		{"above and within", "c/wp", "c/wp/wp-config.php"},
		{"nowhere", "d", "d/wp-config.php"},
		{"what does not exist", "e", "e"},
	} {
		if got := Locate(filepath.Join(root, c.path)); got != filepath.Join(root, c.want) {
			t.Errorf("%s: %s", c.about, got)
		}
	}
	if got := Locate(""); got != "" {
		t.Errorf("no path: %q", got)
	}
}
