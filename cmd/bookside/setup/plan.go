package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/docker"
)

// Where setup writes, and what a package writes.
const (
	configFile      = "/etc/bookside/config.yaml"
	dsnFile         = "/etc/bookside/dsn" // the address of the database with its password
	unitFolder      = "/etc/systemd/system/"
	localProgram    = "/usr/local/bin/bookside"
	packagedProgram = "/usr/bin/bookside"
	serviceUser     = "bookside"
)

// The program's defaults, which the samples have too.
const (
	defaultListen = "127.0.0.1:8080"
	defaultAdmin  = "127.0.0.1:8081"
	apiPath       = "/wp-json/latepoint-api/v1"
)

// action is something that setup does, in words without secrets and as a function that records each change
// before making it; nil for a remark.
type action struct {
	what string
	do   func(context.Context, *record) error
}

// plan returns what setup does for a site. Planning changes nothing.
func (s *Setup) plan(ctx context.Context, i *installation) ([]action, error) {
	account, reason, err := s.newAccount(ctx, i)
	if err != nil {
		return nil, err
	}
	actions := []action{{"use the database account of the site itself, because " + reason, nil}}
	dsn := i.wordpress.FormatDSN()
	if account != nil {
		dsn = account.dsn
		actions[0] = action{
			fmt.Sprintf("create the account %s of the database, with a password of its own, and GRANT it what Bookside needs on %d tables", account.name, len(account.statements)-1),
			func(ctx context.Context, r *record) error {
				return errors.Join(account.create(ctx, s.Host, r), s.Check(ctx, s.database(i, dsn), true))
			},
		}
	}
	configuration, err := s.planConfiguration(i, dsn)
	if err != nil {
		return nil, err
	}
	service, err := s.planService(ctx)
	if err != nil {
		return nil, err
	}
	routes, err := s.planRoutes(i)
	return slices.Concat(actions, configuration, service, routes), err
}

// writing returns the action that writes a file.
func (s *Setup) writing(name string, content []byte, mode fs.FileMode, group string) action {
	what := "write " + name
	if group != "" {
		what += ", readable by root and the group " + group + " only"
	}
	return action{what, func(ctx context.Context, r *record) error { return r.write(ctx, s.Host, name, content, mode, group) }}
}

// planConfiguration plans the configuration and the user that reads it.
func (s *Setup) planConfiguration(i *installation, dsn string) (actions []action, err error) {
	present, _, err := s.Host.read(configFile)
	if err != nil {
		return nil, err
	}
	assignments := []assignment{
		{"db", "prefix", i.wordpress.TablePrefix}, {"db", "dsn_file", dsnFile}, {"server", "trusted_proxies", []string{"127.0.0.1", "::1"}},
	}
	assign := func(needed bool, section, name string, value any) {
		if needed {
			assignments = append(assignments, assignment{section, name, value})
		}
	}
	content := cmp.Or(i.wordpress.Content, path.Join(i.Dir, "wp-content"))
	assign(s.SiteID > 1, "wordpress", "site_id", s.SiteID)
	assign(i.wordpress.Home != "", "wordpress", "home", i.wordpress.Home)
	assign(i.wordpress.SiteURL != "", "wordpress", "site_url", i.wordpress.SiteURL)
	assign(s.Host.exists(content), "wordpress", "content", content)
	assign(s.Listen != defaultListen, "server", "listen", s.Listen)
	assign(s.AdminListen != defaultAdmin, "admin", "listen", s.AdminListen)
	// WordPress may be below the root of its host.
	assign(i.home.Path != "", "server", "base_paths", []string{i.home.Path + apiPath, apiPath, "/v1"})
	text, err := configure(string(present), assignments)
	if err != nil {
		return nil, err
	}
	users, _, err := s.Host.read("/etc/passwd")
	if err != nil {
		return nil, err
	}
	if !strings.Contains("\n"+string(users), "\n"+serviceUser+":") {
		actions = append(actions, action{"create the user " + serviceUser, func(ctx context.Context, r *record) error {
			r.User = true
			if err := r.save(ctx, s.Host); err != nil {
				return err
			}
			return s.Host.run(ctx, "", "useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", serviceUser)
		}})
	}
	return append(actions, s.writing(dsnFile, []byte(dsn+"\n"), 0o640, serviceUser), s.writing(configFile, []byte(text), 0o640, serviceUser)), nil
}

// planService plans to start the service, which somebody else has to do where systemd does not run.
func (s *Setup) planService(ctx context.Context) (actions []action, err error) {
	for _, address := range []string{s.Listen, s.AdminListen} {
		if conn, err := s.Host.Dial(ctx, "tcp", address); err == nil {
			_ = conn.Close()
			return nil, errorf("another program listens at %s; name a free address: --listen 127.0.0.1:PORT, or --admin-listen", address)
		}
	}
	key := action{"create an API key, which may read", s.createKey}
	if !s.Host.systemd() {
		return []action{{s.startYourself(), nil}, key}, nil
	}
	if _, err := s.Host.Run(ctx, "", "systemctl", "cat", "bookside.service"); err != nil {
		if actions, err = s.units(); err != nil {
			return nil, err
		}
	}
	if s.Listen != defaultListen {
		actions = append(actions, s.writing(unitFolder+"bookside.socket.d/setup.conf", []byte("[Socket]\nListenStream=\nListenStream="+s.Listen+"\n"), 0o644, ""))
	}
	start := action{"start the service, also at each start of the machine", s.startService}
	return append(actions, start, key, action{"try the key at http://" + s.Listen, s.try}), nil
}

// startYourself says what to do where systemd does not run.
func (s *Setup) startYourself() string {
	return fmt.Sprintf("let whatever starts services here, because systemd does not, run as the user %s: %s serve", serviceUser, s.Program)
}

// units plans the sample units, for a program that was not installed by a package. They find the program in
// the directories of both.
func (s *Setup) units() (actions []action, err error) {
	if s.Program != localProgram && s.Program != packagedProgram {
		content, err := os.ReadFile(s.Host.path(s.Program))
		if err != nil {
			return nil, err
		}
		actions = append(actions, s.writing(localProgram, content, 0o755, ""))
	}
	for _, name := range []string{"bookside.service", "bookside.socket"} {
		unit, err := fs.ReadFile(docker.Samples, name)
		if err != nil {
			return nil, err
		}
		actions = append(actions, s.writing(unitFolder+name, unit, 0o644, ""))
	}
	return actions, nil
}

// startService starts the service and waits until it is ready.
func (s *Setup) startService(ctx context.Context, r *record) error {
	r.Service = true
	if err := r.save(ctx, s.Host); err != nil {
		return err
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", "--quiet", "--now", "bookside.socket", "bookside.service"}} {
		if err := s.Host.run(ctx, "", slices.Concat([]string{"systemctl"}, args)...); err != nil {
			return err
		}
	}
	patience, cancel := context.WithTimeout(ctx, s.Host.Patience)
	defer cancel()
	for {
		err := s.probe(ctx, s.AdminListen)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(s.Host.Pause):
		case <-patience.Done():
			output, _ := s.Host.Run(ctx, "", "journalctl", "--unit=bookside.service", "--lines=10", "--no-pager", "--output=cat")
			return errorf("the service does not become ready: %v\n%s", err, strings.TrimSpace(output))
		}
	}
}

func (s *Setup) createKey(ctx context.Context, r *record) (err error) {
	r.Key = "setup, " + r.Begun.Format(time.DateTime)
	if err := r.save(ctx, s.Host); err != nil {
		return err
	}
	r.secret, err = r.createKey(ctx, s.Host, s.Now)
	return err
}

// try sends a request with the key to Bookside itself.
func (s *Setup) try(ctx context.Context, r *record) error {
	got, err := ask(ctx, client(s.Host.Dial), http.MethodGet, "http://"+s.Listen+"/v1/services", r.secret)
	if err == nil && got.status != http.StatusOK {
		err = errorf("a request with the new key is answered with status %d", got.status)
	}
	return err
}

// planRoutes plans the files that the administrator includes in the web server's configuration.
func (s *Setup) planRoutes(i *installation) (actions []action, err error) {
	for _, name := range slices.Sorted(maps.Keys(i.web.files)) {
		text, err := fs.ReadFile(docker.Samples, name)
		if err != nil {
			return nil, err
		}
		adapted := strings.ReplaceAll(string(text), defaultListen, s.Listen)
		if i.home.Path != "" {
			adapted = strings.ReplaceAll(adapted, apiPath, i.home.Path+apiPath)
		}
		actions = append(actions, s.writing(i.web.files[name], []byte(adapted), 0o644, ""))
	}
	return append(actions, action{"wait until you have made the web server forward calls; setup changes none of its files", nil}), nil
}
