package main

import "testing"

// TestLibrary: the console of a server has the documents of all packages that have some.
func TestLibrary(t *testing.T) {
	t.Parallel()
	l, err := library()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"install", "api", "agents", "permissions", "webhooks"} {
		if _, ok := l.Document(name); !ok {
			t.Errorf("there is no document %s", name)
		}
	}
}
