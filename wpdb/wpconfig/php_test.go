package wpconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/bookside/bookside/fixtures"
)

// answer is what WordPress gets from a wp-config.php, as PHP has it.
type answer struct {
	Settings  bool // wp-settings.php was included
	Prefix    any
	Name      any `json:"DB_NAME"`
	User      any `json:"DB_USER"`
	Password  any `json:"DB_PASSWORD"`
	Host      any `json:"DB_HOST"`
	Home      any `json:"WP_HOME"`
	SiteURL   any `json:"WP_SITEURL"`
	Multisite any
}

// runPHP returns the answers of PHP about the directories, nil for one where it ended early.
func runPHP(t *testing.T, directories []string) []*answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	php := exec.CommandContext(ctx, fixtures.RequireTool(t, "php"), "-n", "-d", "display_errors=0", "-d", "log_errors=0", "-d", "short_open_tag=0",
		"-d", "include_path=.:/usr/share/php", filepath.Join("testdata", "run.php"))
	php.Env = append(os.Environ(), "X=x")
	php.Stdin = strings.NewReader(strings.Join(directories, "\n") + "\n")
	if output, err := php.CombinedOutput(); err != nil {
		t.Fatalf("PHP: %v\n%s", err, output)
	}
	answers := make([]*answer, len(directories))
	for i, dir := range directories {
		content, err := os.ReadFile(filepath.Join(dir, "answer.json"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		answers[i] = new(answer)
		if err := errors.Join(err, json.Unmarshal(content, answers[i])); err != nil {
			t.Fatal(err)
		}
	}
	return answers
}

// differences returns what the reader says otherwise than PHP.
func (a *answer) differences(c Config) (list []string) {
	said := func(v any) string {
		if v == nil {
			return ""
		}
		return fmt.Sprint(v)
	}
	for _, setting := range []struct{ name, php, ours string }{
		{"DB_NAME", said(a.Name), c.Name}, {"DB_USER", said(a.User), c.User}, {"DB_PASSWORD", said(a.Password), c.Password},
		{"DB_HOST", said(a.Host), strings.TrimSuffix(c.Address, ":3306")}, {"WP_HOME", said(a.Home), c.Home},
		{"WP_SITEURL", said(a.SiteURL), c.SiteURL}, {"$table_prefix", said(a.Prefix), c.TablePrefix},
	} {
		switch {
		case setting.php == setting.ours:
		case setting.ours == "" && strings.HasPrefix(setting.name, "WP_"): // may be left out
		case setting.name == "DB_HOST" && setting.php == "" && setting.ours == usualSockets[0]:
		case setting.name == "$table_prefix" && a.Prefix == nil && !a.Settings && setting.ours == "wp_":
		default:
			list = append(list, fmt.Sprintf("%s is %q in PHP, %q here", setting.name, setting.php, setting.ours))
		}
	}
	return list
}

// TestAsPHP: PHP says the same of random files, or the reader says what it cannot tell.
func TestAsPHP(t *testing.T) {
	t.Parallel()
	fixtures.RequireTool(t, "php")
	seed := uint64(1)
	if fixtures.Thorough() {
		seed = uint64(time.Now().UnixNano())
	}
	for begun := time.Now(); ; seed++ {
		comparePrograms(t, seed)
		if t.Failed() || !fixtures.Thorough() || time.Since(begun) > thorough {
			return
		}
	}
}

// thorough is how long random files are tried if the tests are thorough; -count=10 tries ten times as long.
const thorough = time.Minute

// comparePrograms compares programs of plain PHP, others, and plain ones with a single oddity each.
func comparePrograms(t *testing.T, seed uint64) {
	t.Helper()
	root, odd := t.TempDir(), oddities()
	count := 120 + len(odd)
	directories := make([]string, count)
	programs := make([]*program, count)
	for i := range directories {
		directories[i] = filepath.Join(root, fmt.Sprint(i))
		programs[i] = &program{random: rand.New(rand.NewPCG(seed, uint64(i))), dir: directories[i], plain: i%2 == 0}
		if i >= 120 {
			programs[i].plain, programs[i].odd = true, odd[i-120]
		}
		programs[i].write(t)
	}
	told, died := 0, 0
	for i, php := range runPHP(t, directories) {
		path := filepath.Join(directories[i], "wp-config.php")
		c, err := read(path, anySocket)
		var unknown *Error
		switch {
		case php == nil, !php.Settings && strings.Contains(programs[i].listing(), "wp-settings.php"): // no WordPress
			died++
		case err == nil:
			told++
			if differences := php.differences(c); len(differences) > 0 {
				t.Errorf("seed %d, program %d: %s\n%s", seed, i, strings.Join(differences, "\n"), programs[i].listing())
			}
		case !errors.As(err, &unknown):
			t.Errorf("seed %d, program %d: %v", seed, i, err)
		case programs[i].plain && programs[i].odd == "" && php.defines(unknown.Name):
			t.Errorf("seed %d, program %d: %v, but nothing in it is unknown\n%s", seed, i, err, programs[i].listing())
		}
	}
	if told < count/6 || died > count/2 {
		t.Errorf("seed %d: %d of %d programs were told, and PHP ended early in %d", seed, told, count, died)
	}
}

// defines reports whether PHP has a usable value.
func (a *answer) defines(name string) bool {
	value := map[string]any{"DB_NAME": a.Name, "DB_USER": a.User, "DB_PASSWORD": a.Password, "DB_HOST": a.Host, TablePrefix: a.Prefix, Multisite: a.Multisite}[name]
	text, ok := value.(string)
	return name == "" || ok && text != "" || name == Multisite && value != nil
}
