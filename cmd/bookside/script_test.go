package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/spf13/pflag"

	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/expect"
)

// TestScripts runs the scripts in testdata/script, each with its own sample site in the directory site, the
// program as bookside, and these commands in addition to testscript's:
//
//	blocks FILE TEXT…    run the blocks of a document that contain the texts, in one shell
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "jq", "mariadb"} {
		fixtures.RequireTool(t, tool)
	}
	testscript.Run(t, testscript.Params{
		Dir:   "testdata/script",
		Setup: setUpMachine,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"blocks": runBlocks,
		},
	})
}

// setUpMachine creates what the documents' commands expect on a machine.
func setUpMachine(env *testscript.Env) error {
	t := env.T().(testing.TB)
	db := fixtures.New(t, fixtures.Small(now))
	account, err := mysql.ParseDSN(db.AdminDSN)
	if err != nil {
		return err
	}
	host, client := account.Addr, "socket="+account.Addr
	if account.Net == "unix" {
		host = "localhost:" + host
	} else if name, port, err := net.SplitHostPort(account.Addr); err == nil {
		client = "host=" + name + "\nport=" + port
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	const pass = "#!/bin/sh\nexec \"$@\"\n"
	const nothing = "#!/bin/sh\n"
	for name, text := range map[string]string{
		"site/wp-config.php": fmt.Sprintf("<?php\ndefine('DB_NAME', '%s');\ndefine('DB_USER', '%s');\ndefine('DB_PASSWORD', '%s');\ndefine('DB_HOST', '%s');\n$table_prefix = '%s';\n",
			account.DBName, account.User, account.Passwd, host, db.Prefix),
		"home/.my.cnf":         fmt.Sprintf("[client]\nskip-ssl\nuser=%s\npassword=%s\n%s\n", account.User, account.Passwd, client),
		"home/.curlrc":         "silent\nfail\nretry = 30\nretry-delay = 1\nretry-connrefused\n",
		"bin/sudo":             pass,
		"bin/systemctl":        nothing,
		"bin/systemd-sysusers": nothing,
		"bin/a2enmod":          nothing,
		"bin/a2enconf":         nothing,
	} {
		path := filepath.Join(env.WorkDir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil { //nolint:gosec // programs
			return err
		}
	}
	for _, name := range []string{"bin/bookside", "bookside"} {
		if err := os.Symlink(program, filepath.Join(env.WorkDir, name)); err != nil {
			return err
		}
	}
	api := freeAddress(t)
	repository, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Values["document"] = strings.NewReplacer(
		"127.0.0.1:8080", api,
		"/var/www/html", filepath.Join(env.WorkDir, "site"), " /etc/", " "+env.WorkDir+"/etc/", " /usr/", " "+env.WorkDir+"/usr/",
		" docker/", " "+repository+"/docker/", " -g bookside docker/", " "+repository+"/docker/", "mariadb wordpress ", "mariadb "+account.DBName+" ",
		"wait=30", "wait=1",
	)
	for name, value := range map[string]string{
		"PATH": filepath.Join(env.WorkDir, "bin") + ":" + os.Getenv("PATH"), "HOME": filepath.Join(env.WorkDir, "home"),
		"BE_BOOKSIDE": "1", "BOOKSIDE_WORDPRESS__CONFIG": filepath.Join(env.WorkDir, "site"), "BOOKSIDE_SERVER__LISTEN": api, "BOOKSIDE_ADMIN__LISTEN": "127.0.0.1:0",
		"LIMIT_DrainDelay": "0s", "LIMIT_ChangesInterval": "1s",
	} {
		env.Setenv(name, value)
	}
	env.Values["environment"] = env.Vars
	return nil
}

// freeAddress returns an address on this machine outside the ports that the system hands out.
func freeAddress(t testing.TB) string {
	t.Helper()
	for range 100 {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000)) //nolint:gosec // no secret
		if listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address); err == nil {
			expect.NoError(t, listener.Close())
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}

// runBlocks runs blocks as printed, except for addresses and paths of the machine. Their output is in the
// file printed; programs in the background append to it until the script ends.
func runBlocks(ts *testscript.TestScript, _ bool, args []string) {
	text, err := os.ReadFile(filepath.Join("../..", args[0]))
	ts.Check(err)
	blocks, script := shellBlocks(string(text)), ""
	for _, part := range args[1:] {
		i := slices.IndexFunc(blocks, func(block string) bool { return strings.Contains(block, part) })
		if i < 0 {
			ts.Fatalf("%s has no block with %q", args[0], part)
		}
		script += blocks[i]
	}
	printed, err := os.Create(ts.MkAbs("printed"))
	ts.Check(err)
	shell := exec.Command("sh", "-e", "-c", ts.Value("document").(*strings.Replacer).Replace(script)) //nolint:noctx // the script's end kills it
	shell.Dir, shell.Stdout, shell.Stderr = ts.MkAbs("."), printed, printed
	shell.Env = ts.Value("environment").([]string)
	shell.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(shell.Start())
	ts.Defer(func() { _ = syscall.Kill(-shell.Process.Pid, syscall.SIGKILL) }) // nothing of it may be left
	err = errors.Join(shell.Wait(), printed.Close())
	output := ts.ReadFile("printed")
	if err != nil {
		ts.Fatalf("%v: %s", err, output)
	}
	_, err = ts.Stdout().Write([]byte(output)) // shown on failure
	ts.Check(err)
}

// shellBlock is a block of commands in a document, with its indent and text.
var shellBlock = regexp.MustCompile("(?ms)^( *)```sh\n(.*?)^ *```")

// shellBlocks returns the blocks of commands in a document, without their indents.
func shellBlocks(text string) (blocks []string) {
	for _, found := range shellBlock.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, strings.ReplaceAll("\n"+found[2], "\n"+found[1], "\n"))
	}
	return blocks
}

// texts returns the texts of the repository's documents by path.
func texts(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS("../.."), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" || strings.Contains(path, "node_modules/") {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../..", path))
		found[path] = string(text)
		return err
	})
	expect.NoError(t, err)
	return found
}

// notRun lists the first words of commands that no script runs, with the reason.
var notRun = map[string]string{
	"go run ./cmd/demo":     "it serves until it is stopped; its own tests run it",
	"go run ./docker/bench": "minutes",
	"BOOKSIDE_TEST_DSN='root@tcp(127.0.0.1:3307)/' go run ./docker/bench": "minutes",
	"CGO_ENABLED=0 go build":  "a build from nothing takes minutes",
	"docker":                  "it needs Docker",
	"docker/release/run":      "minutes, and the key of releases",
	"sudo docker/release/try": "root, and minutes",
	"sudo apt install":        "root; docker/release/try installs the packages",
	"sudo bookside setup":     "root and systemd; TestSetup… run it on machines in a directory",
	"sudo ./bookside setup":   "as above",
	"sudo systemctl enable":   "root and systemd",
	"systemctl enable":        "root and systemd",
	"sudo systemctl reload":   "as above",
	"ssh":                     "another machine",
	"git":                     "it changes the repository",
	"minisign":                "the key of releases",
	"sha256sum":               "a release",
	"gunzip":                  "a release",
	"skopeo":                  "a release, and a registry",
	"claude":                  "a subscription",
	"npx":                     "the network",
	"pipx":                    "as above",
	"go run github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@latest": "the network; .ci/clients/run generates with a fixed version",
	"curl -sN":           "it ends with Ctrl-C",
	"bookside verify":    "the companion in a WordPress; TestCompanionDecidesTimes runs it",
	"./bookside compare": "the PHP extension; TestCompareCommand runs it with a server in its place",
	"./bookside check --grants --wp-config /var/www/html/wp-config.php | grep": "it changes an account of the server; TestCommandsNameWhatTheyLack executes the statements",
	"./bookside serve": "it serves until it is stopped; TestProcess runs it",
}

var (
	scriptBlocks = regexp.MustCompile(`(?m)^blocks (\S+) (.*)$`)
	quotedWords  = regexp.MustCompile(`'([^']*)'|(\S+)`)
	continued    = regexp.MustCompile(`(?s)(\\|\|)\n\s*|\bfor .*?\bdone`)
)

// TestCommandsOfDocuments: a script runs each command in a document, or notRun says why not.
func TestCommandsOfDocuments(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	expect.NoError(t, err)
	run := map[string][]string{} // texts in blocks by document
	for _, path := range scripts {
		script, err := os.ReadFile(path)
		expect.NoError(t, err)
		for _, found := range scriptBlocks.FindAllStringSubmatch(string(script), -1) {
			for _, word := range quotedWords.FindAllStringSubmatch(found[2], -1) {
				run[found[1]] = append(run[found[1]], word[1]+word[2])
			}
		}
	}
	unused := map[string]bool{}
	for words := range notRun {
		unused[words] = true
	}
	for path, text := range texts(t) {
		blocks := shellBlocks(text)
		for i, block := range blocks {
			if slices.ContainsFunc(run[path], func(part string) bool {
				return slices.IndexFunc(blocks, func(block string) bool { return strings.Contains(block, part) }) == i
			}) {
				continue
			}
			whole := continued.ReplaceAllStringFunc(block, func(s string) string { return strings.ReplaceAll(s, "\n", " ") })
			for line := range strings.Lines(whole) {
				line = strings.TrimSpace(line)
				known := line == "" || line[0] == '#' || setsVariable(line)
				for words := range notRun {
					if strings.HasPrefix(line+" ", words+" ") {
						known, unused[words] = true, false
					}
				}
				if !known {
					t.Errorf("%s: neither does a script in testdata/script run this, nor does notRun say why: %s", path, line)
				}
			}
		}
	}
	for words, is := range unused {
		if is {
			t.Errorf("no document has a command %q any more that no script runs", words)
		}
	}
}

// setsVariable reports whether a line exports a variable of a setting.
func setsVariable(line string) bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(line, "export "), "=")
	return strings.HasPrefix(line, "export ") && slices.ContainsFunc(settings.All, func(s settings.Setting) bool {
		return slices.Contains(s.Variables(), strings.TrimSuffix(name, "_FILE"))
	})
}

var (
	codeSpan        = regexp.MustCompile("`([^`\n]+)`")
	bookside        = regexp.MustCompile(`(?:^|\$\(|sudo |[|;&] )(?:\./)?bookside ([a-z-][^|<>&)#]*)`)
	wordsOfCommands = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)
)

// TestCommandLinesOfDocuments: the program has every command, with its flags, that a document names in a
// block or a sentence.
func TestCommandLinesOfDocuments(t *testing.T) {
	t.Parallel()
	found := 0
	check := func(path, line string, operands bool) {
		for _, match := range bookside.FindAllStringSubmatch(line, -1) {
			found++
			words := wordsOfCommands.FindAllString(match[1], -1)
			for i := range words {
				words[i] = strings.Trim(words[i], `'"`)
			}
			command, rest, err := new(program).commands().Find(words)
			if err == nil && isGroup(command) && (len(rest) > 0 || operands) {
				err = errors.New("there is no such command")
			}
			if err == nil {
				err = command.ParseFlags(rest)
			}
			if err == nil && operands {
				err = command.Args(command, command.Flags().Args())
			}
			if err != nil && !errors.Is(err, pflag.ErrHelp) {
				t.Errorf("%s: %s: %v", path, strings.TrimSpace(match[0]), err)
			}
		}
	}
	for path, text := range texts(t) {
		if path == "CHANGELOG.md" { // a list of what the program does, without instructions
			continue
		}
		for _, block := range shellBlocks(text) {
			for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", " ")) {
				check(path, line, true)
			}
		}
		for _, span := range codeSpan.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			check(path, span[1], false)
		}
	}
	if found < 80 {
		t.Errorf("only %d command lines were found", found)
	}
}
