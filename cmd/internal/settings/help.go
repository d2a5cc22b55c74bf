package settings

import (
	"fmt"
	"strings"
	"time"
)

// DefaultText returns the default of a setting as written in the environment,
// and its note; both are empty for a setting without a default.
func (s Setting) DefaultText() (value, note string) {
	switch v := s.Default.(type) {
	case []string:
		value = strings.Join(v, ",")
	case time.Duration:
		value = shortDuration(v)
	default:
		value = fmt.Sprint(v)
	}
	return value, s.Note
}

// Description says what the setting is for, and gives its default.
func (s Setting) Description() string {
	value, note := s.DefaultText()
	if value+note == "" {
		return s.About
	}
	return s.About + "; default " + strings.TrimSpace(value+" "+note)
}

// shortDuration omits trailing zeros: 5m, not 5m0s.
func shortDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Variables returns the names of a setting in the environment.
func (s Setting) Variables() []string {
	names := []string{EnvName(s.Key)}
	if s.Secret() {
		names = append(names, EnvName(s.Key)+fileSuffix)
	}
	return names
}

// Sources explains where settings come from.
const Sources = `Settings come from four sources. Later ones override earlier ones:
  1. the defaults below
  2. a YAML file named by --config or BOOKSIDE_CONFIG, with sections and names as below; if none is
     named, /etc/bookside/config.yaml
  3. the environment: db.dsn is BOOKSIDE_DB__DSN, and so on; lists are separated by commas.
     BOOKSIDE_DB__DSN_FILE, or db.dsn_file in the YAML file, names a file that contains the value;
     so it is with every secret.
  4. flags: --set db.max_open=20, and the short forms listed in the help of a command.
     All users of the machine can see the flags of a program, so keep secrets out of them.

Either db.dsn or wordpress.config is required. bookside serve --print-config prints the result.
`

// Help is the text of help config.
func Help() string {
	var b strings.Builder
	b.WriteString(Sources)
	section := ""
	for _, s := range All {
		name, _, _ := strings.Cut(s.Key, ".")
		if name != section {
			b.WriteByte('\n')
			section = name
		}
		for i, line := range WrapWords(s.Description(), 90) {
			key := ""
			if i == 0 {
				key = s.Key
			}
			fmt.Fprintf(&b, "%s\n", strings.TrimRight(fmt.Sprintf("%-28s %s", key, line), " "))
		}
	}
	return b.String()
}

// WrapWords breaks a text into lines of at most width bytes, unless a word is
// longer.
func WrapWords(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
