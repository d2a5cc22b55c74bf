package settings

import (
	"strings"
	"testing"

	"github.com/bookside/bookside/fixtures/expect"
)

func TestMaskDSN(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, dsn, want string }{
		{"none", "", ""},
		{"usual", "wp:secret@tcp(db:3306)/site", "wp:***@tcp(db:3306)/site"},
		{"with parameters", "wp:secret@tcp(db)/site?tls=true", "wp:***@tcp(db)/site?tls=true"},
		{"socket", "wp:secret@unix(/run/mysqld/mysqld.sock)/site", "wp:***@unix(/run/mysqld/mysqld.sock)/site"},
		{"IPv6", "wp:secret@tcp([::1]:3306)/site", "wp:***@tcp([::1]:3306)/site"},
		{"no password", "wp@tcp(db)/site", "wp@tcp(db)/site"},
		{"no user", "tcp(db)/site", "tcp(db)/site"},
		{"database only", "/site", "/site"},
		{"password only", ":secret@tcp(db)/site", ":***@tcp(db)/site"},
		{"signs in the password", "wp:se@c/r:e(t)?@tcp(db)/site", "wp:***@tcp(db)/site"},
		{"user with @", "wp@host:secret@tcp(db)/site", "wp@host:***@tcp(db)/site"},
		{"password like an address", "wp:x@tcp(secret)/y@tcp(db)/site", "wp:***@tcp(db)/site"},
		{"no database", "wp:secret@tcp(db:3306)/", "***"},
		{"no slash", "wp:secret@tcp(db:3306)", "***"},
		{"slash in the password only", "wp:sec/ret@tcp(db:3306)", "***"},
		{"URL", "mysql://wp:secret@db:3306/site", "***"},
		{"no network", "wp:secret@db:3306/site", "***"},
		{"only a secret", "secret", "***"},
	}
	for _, test := range tests {
		expect.Equal(t, test.want, maskDSN(test.dsn), test.name, ": maskDSN(", test.dsn, ")")
	}
}

func TestParseDSN(t *testing.T) {
	t.Parallel()
	got, ok := ParseDSN("wp:secret@tcp(db.example:3307)/site?tls=true")
	want := Source{Address: "db.example:3307", Database: "site", masked: "wp:***@tcp(db.example:3307)/site?tls=true"}
	if !ok || got != want {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
}

// FuzzMaskDSN: the whole password is masked, and nothing else.
func FuzzMaskDSN(f *testing.F) {
	f.Add("wp", "secret")
	f.Add("", "x@unix(/s)/site?x=a@b/c")
	f.Add("a@b", "")
	f.Add("/", "/@\n")
	f.Fuzz(func(t *testing.T, user, password string) {
		user, _, _ = strings.Cut(user, ":") // a colon ends the user
		const rest = "@tcp(db:3306)/site"
		if got, want := maskDSN(user+":"+password+rest), user+":***"+rest; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestMaskRedis(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"redis://h:6379/0":                       "redis://h:6379/0",
		"redis://:s3cret@h":                      "redis://:***@h",
		"redis://u:s3cret@h:1/2?read_timeout=1s": "redis://u:***@h:1/2",
		"redis://u:s3%40cret@h":                  "redis://u:***@h",
		"rediss://u:s3cret@[::1]:1":              "rediss://u:***@[::1]:1",
		"unix://u:s3cret@/run/socket?db=1":       "unix://u:***@/run/socket",
		"redis://u:s3#cret@h":                    "***",
		"redis://h/0?password=s3cret":            "***",
		"u:s3cret@h":                             "***",
		"redis://u:s3cret":                       "***",
		"http://u:s3cret@h":                      "***",
		"redis://u:s3cret@h/not-a-number":        "***",
		"redis://u:s3cret@h?read_timeout=soon":   "***",
	} {
		expect.Equal(t, want, maskRedis(text), text, " is shown as")
	}
}
