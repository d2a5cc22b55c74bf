package setup

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bookside/bookside/docker"
)

// Where setup writes.
const (
	configFile  = "/etc/bookside/config.yaml"
	dsnFile     = "/etc/bookside/dsn" // the address of the database with its password
	unitFolder  = "/etc/systemd/system"
	serviceUser = "bookside"
)

// The program's defaults, which the samples have too.
const (
	defaultListen = "127.0.0.1:8080"
	defaultAdmin  = "127.0.0.1:8081"
	apiPath       = "/wp-json/latepoint-api/v1"
)

// planAccount plans a database account for Bookside alone.
func (s *Setup) planAccount(ctx context.Context) (Step, error) {
	step := Step{Name: "account", Title: "An account of the database for Bookside alone"}
	if s.has(step.Name) {
		return step, nil
	}
	db, err := s.open(ctx)
	if err != nil {
		return step, err
	}
	account, dsn, reason, err := s.accountFor(ctx, db)
	if err = errors.Join(err, db.Close()); err != nil {
		return step, err
	}
	site := "Bookside uses the account of the site itself, " + s.wordpress.User
	if account == nil {
		step.Notes = []string{
			"Not possible here: " + reason + ".",
			site + ". If its password is changed, change it in " + dsnFile + " too.",
			"An administrator of the database can create one later: bookside check --grants prints the statements.",
		}
		return step, nil
	}
	step.Changes = []Change{account}
	step.Optional = site
	step.Verify = func(ctx context.Context) error {
		s.dsn = dsn
		return s.Check(ctx, s.database(), true)
	}
	return step, nil
}

// planConfiguration plans the configuration and the user that reads it.
func (s *Setup) planConfiguration(ctx context.Context) (Step, error) {
	step := Step{Name: "configuration", Title: "The configuration"}
	if s.has(step.Name) {
		return step, nil
	}
	present, _, err := s.Host.read(configFile)
	if err != nil {
		return step, err
	}
	if err := unconfigured(string(present), s.Host.exists(dsnFile)); err != nil {
		return step, err
	}
	assignments := []assignment{
		{"db", "dsn", nil}, {"wordpress", "config", nil}, {"db", "prefix", s.wordpress.TablePrefix}, {"db", "dsn_file", dsnFile},
		{"server", "trusted_proxies", []string{"127.0.0.1", "::1"}},
	}
	if s.SiteID > 1 {
		assignments = append(assignments, assignment{"wordpress", "site_id", s.SiteID})
	}
	if s.wordpress.Home != "" {
		assignments = append(assignments, assignment{"wordpress", "home", s.wordpress.Home})
	}
	if s.wordpress.SiteURL != "" {
		assignments = append(assignments, assignment{"wordpress", "site_url", s.wordpress.SiteURL})
	}
	if content := cmp.Or(s.wordpress.Content, path.Join(s.site.Dir, "wp-content")); s.Host.exists(content) {
		assignments = append(assignments, assignment{"wordpress", "content", content})
	}
	if s.Listen != defaultListen {
		assignments = append(assignments, assignment{"server", "listen", s.Listen})
	}
	if s.AdminListen != defaultAdmin {
		assignments = append(assignments, assignment{"admin", "listen", s.AdminListen})
	}
	if s.home.Path != "" { // WordPress is not at the root of its host
		assignments = append(assignments, assignment{"server", "base_paths", []string{s.home.Path + apiPath, apiPath, "/v1"}})
	}
	text, err := configure(string(present), assignments)
	if err != nil {
		return step, errorf("%s: %v", configFile, err)
	}
	// At the end of an undo, what ran before runs again with its previous configuration.
	if active := s.unitsThat(ctx, "is-active"); len(active) > 0 {
		step.Changes = append(step.Changes, &Run{Back: []Command{stopUnits, command(append([]string{"systemctl", "start"}, active...)...)}})
	}
	if !s.hasUser() {
		step.Changes = append(step.Changes, &Run{
			do:   []Command{command("useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", serviceUser)},
			Back: []Command{command("userdel", serviceUser)},
		})
	}
	step.Changes = append(step.Changes,
		&File{Path: dsnFile, Mode: 0o640, Group: serviceUser, content: []byte(s.dsn + "\n")},
		&File{Path: configFile, Mode: 0o640, Group: serviceUser, content: []byte(text)},
	)
	return step, nil
}

// unitNames are the units of the service, in the order in which they are started: the socket first.
var unitNames = []string{"bookside.socket", "bookside.service"}

// stopUnits stops the service before its socket, so that no client can start it again.
var stopUnits = command("systemctl", "stop", "bookside.service", "bookside.socket")

// unitsThat returns the units that systemctl reports as active or enabled.
func (s *Setup) unitsThat(ctx context.Context, verb string) (found []string) {
	if !s.Host.systemd() {
		return nil
	}
	for _, unit := range unitNames {
		if s.commandWorks(ctx, "systemctl", verb, "--quiet", unit) {
			found = append(found, unit)
		}
	}
	return found
}

// hasUser reports whether the service's user exists.
func (s *Setup) hasUser() bool {
	users, _, err := s.Host.read("/etc/passwd")
	return err == nil && strings.Contains("\n"+string(users), "\n"+serviceUser+":")
}

// planService plans to start the service.
func (s *Setup) planService(ctx context.Context) (Step, error) {
	step := Step{Name: "service", Title: "The service"}
	if s.has(step.Name) {
		return step, nil
	}
	if !s.Host.systemd() {
		step.Title += ", which somebody else has to start: systemd does not run here"
		step.Verify = func(ctx context.Context) error {
			if s.ready(ctx, 0) != nil {
				return errWaiting
			}
			return nil
		}
		return step, nil
	}
	socket := s.commandWorks(ctx, "systemctl", "is-active", "bookside.socket")
	if !socket {
		for _, address := range []string{s.Listen, s.AdminListen} {
			if conn, err := s.Host.Dial(ctx, "tcp", address); err == nil {
				_ = conn.Close()
				return step, errorf("another program listens at %s; name a free address: --listen 127.0.0.1:PORT, or --admin-listen", address)
			}
		}
	}
	// Runs at the end of an undo, after the files are gone.
	reload := command("systemctl", "daemon-reload")
	step.Changes = append(step.Changes, &Run{Back: []Command{reload}})
	unit, err := s.Host.Run(ctx, command("systemctl", "cat", "bookside.service"))
	var written []string
	if err != nil {
		units, err := s.units()
		if err != nil {
			return step, err
		}
		step.Changes = append(step.Changes, units...)
		unit, written = "", writtenBy(units)
	}
	step.Notes = s.Host.describeProgram(unit, written)
	if s.Listen != defaultListen {
		step.Changes = append(step.Changes, &File{Path: unitFolder + "/bookside.socket.d/setup.conf", Mode: 0o644,
			content: []byte("[Socket]\nListenStream=\nListenStream=" + s.Listen + "\n")})
	}
	back := []Command{stopUnits}
	enabled := s.unitsThat(ctx, "is-enabled")
	if disabled := slices.DeleteFunc(slices.Clone(unitNames), func(unit string) bool { return slices.Contains(enabled, unit) }); len(disabled) > 0 {
		back = append([]Command{command(append([]string{"systemctl", "disable", "--quiet"}, disabled...)...)}, back...)
	}
	step.Changes = append(step.Changes, &Run{
		do: []Command{
			reload, command("systemctl", "enable", "--quiet", "bookside.socket", "bookside.service"),
			stopUnits, command("systemctl", "start", "bookside.socket", "bookside.service"),
		},
		Back: back,
	})
	step.Verify = func(ctx context.Context) error {
		err := s.ready(ctx, s.Host.Patience)
		if err != nil {
			output, _ := s.Host.Run(ctx, command("journalctl", "--unit=bookside.service", "--lines=10", "--no-pager", "--output=cat"))
			return errorf("the service does not become ready: %v\n%s", err, strings.TrimSpace(output))
		}
		return nil
	}
	return step, nil
}

func (s *Setup) commandWorks(ctx context.Context, args ...string) bool {
	_, err := s.Host.Run(ctx, command(args...))
	return err == nil
}

// programs are the possible paths of the program, without a package and with one, in systemd's search
// order.
var programs = []string{localProgram, packagedProgram}

const (
	localProgram    = "/usr/local/bin/bookside"
	packagedProgram = "/usr/bin/bookside"
)

// writtenBy returns the paths of the files that changes write.
func writtenBy(changes []Change) (paths []string) {
	for _, c := range changes {
		if file, ok := c.(*File); ok {
			paths = append(paths, file.Path)
		}
	}
	return paths
}

// describeProgram says which program a unit runs, and whether there is another. written are files that will
// exist.
func (h *Host) describeProgram(unit string, written []string) []string {
	var present []string
	for _, program := range programs {
		if h.exists(program) || slices.Contains(written, program) {
			present = append(present, program)
		}
	}
	runs := programOf(unit, present)
	notes := []string{"It runs " + runs + "."}
	for _, other := range present {
		if other != runs && !h.same(other, runs) {
			notes = append(notes, "! There is "+other+" as well, which it does not run. Remove one of them: an upgrade of the package renews "+packagedProgram+" only.")
		}
	}
	return notes
}

// programOf returns the program that a unit with its drop-ins runs; if it names no directory, one of those
// present.
func programOf(unit string, present []string) string {
	name := path.Base(localProgram)
	for line := range strings.Lines(unit) {
		value, starts := strings.CutPrefix(strings.TrimSpace(line), "ExecStart=")
		if words := strings.Fields(strings.TrimLeft(value, "@-:+!|")); starts && len(words) > 0 {
			name = words[0] // the last one counts
		}
	}
	if name == path.Base(localProgram) && len(present) > 0 {
		return present[0]
	}
	return name
}

// units returns the sample units, for a program that was not installed by a package. They find the program
// in two directories, one of which is for programs without a package.
func (s *Setup) units() ([]Change, error) {
	var changes []Change
	if !slices.Contains(programs, s.Program) {
		content, err := os.ReadFile(s.Host.path(s.Program))
		if err != nil {
			return nil, err
		}
		if present, _, err := s.Host.read(localProgram); err != nil || !bytes.Equal(present, content) {
			changes = append(changes, &File{Path: localProgram, Mode: 0o755, content: content})
		}
	}
	for _, name := range []string{"bookside.service", "bookside.socket"} {
		unit, err := sample(name)
		if err != nil {
			return nil, err
		}
		changes = append(changes, &File{Path: unitFolder + "/" + name, Mode: 0o644, content: []byte(unit)})
	}
	return changes, nil
}

// sample returns a file of docker with some texts replaced; it must contain all of them.
func sample(name string, replaced ...string) (string, error) {
	content, err := fs.ReadFile(docker.Samples, name)
	if err != nil {
		return "", err
	}
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(string(content), replaced[i]) {
			return "", fmt.Errorf("the sample %s has no %q", name, replaced[i])
		}
	}
	return strings.NewReplacer(replaced...).Replace(string(content)), nil
}

// ready waits until the server is ready.
func (s *Setup) ready(ctx context.Context, patience time.Duration) error {
	web := client(s.Host.Dial)
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		err := s.probe(ctx, web)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func (s *Setup) probe(ctx context.Context, web *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.AdminListen+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := web.Do(request)
	if err != nil {
		return err
	}
	if err := response.Body.Close(); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s/readyz answers %d", s.AdminListen, response.StatusCode)
	}
	return nil
}

// planKey plans the first key, and a test request with it through the site's own address.
func (s *Setup) planKey(ctx context.Context) (Step, error) {
	key := &Key{Name: "setup, " + s.record.Begun.Format(time.DateTime), Prefix: s.prefix, DSNFile: dsnFile, now: s.Now}
	step := Step{
		Name: "key", Title: "A key, tried through the site's address", Changes: []Change{key},
		Notes:    []string{"and ask for " + s.apiURL() + "/services with it"},
		Optional: "no request was tried through the site's address",
	}
	step.Verify = func(ctx context.Context) error {
		s.secret = key.secret
		return s.try(ctx, key.secret)
	}
	if s.unrouted {
		step.Title = "A key, tried at " + s.apiURL()
	}
	return step, nil
}

// apiURL returns the address of the API: the site's, or Bookside's own if the web server does not forward
// there.
func (s *Setup) apiURL() string {
	if s.unrouted {
		return "http://" + s.Listen + "/v1"
	}
	return s.home.String() + apiPath
}

// try sends a request through the site's own address.
func (s *Setup) try(ctx context.Context, secret string) error {
	err := s.tryOver(ctx, secret, client(s.Host.Dial))
	var unreachable *url.Error
	switch {
	case err == nil:
		s.say("  %s/services answers.\n", s.apiURL())
		return nil
	case s.unrouted || !errors.As(err, &unreachable):
		return err
	}
	// The name may resolve to this machine only elsewhere, or not yet, and the certificate may be one that
	// only the site's clients trust.
	local := client(func(ctx context.Context, network, address string) (net.Conn, error) {
		_, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		return s.Host.Dial(ctx, network, net.JoinHostPort("127.0.0.1", port))
	})
	local.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // to this machine only
	if failed := s.tryOver(ctx, secret, local); failed != nil {
		return errors.Join(err, failed)
	}
	s.say("  The web server of this machine answers, but from here %s does not: %v\n", s.home, unreachable.Err)
	return nil
}

// tryOver repeats a request until it is answered. The error of a failed connection is an *url.Error.
func (s *Setup) tryOver(ctx context.Context, secret string, web *http.Client) error {
	address := s.apiURL() + "/services"
	deadline := time.NewTimer(s.Host.Patience)
	defer deadline.Stop()
	for redirects := 0; ; {
		status, location, err := s.ask(ctx, web, address, secret)
		switch {
		case err != nil:
			return err
		case status == answered:
			return nil
		case location != nil && location.Hostname() == s.home.Hostname() && redirects < 3: // such as from http to https
			redirects++
			address = location.String()
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return errorf("%s answers with the status %d, and not as Bookside does: the request did not reach it", address, status)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// answered is the status that stands for a response of Bookside.
const answered = -1

// ask sends a request and returns the status, or answered, and the location of a redirect. A WordPress page
// may have the status 200 too.
func (s *Setup) ask(ctx context.Context, web *http.Client, address, secret string) (status int, location *url.URL, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("X-API-Key", secret)
	response, err := web.Do(request)
	if err != nil {
		return 0, nil, err
	}
	if err := response.Body.Close(); err != nil {
		return 0, nil, err
	}
	if location, err = response.Location(); err != nil {
		location = nil
	}
	if response.StatusCode == http.StatusOK && response.Header.Get("X-Request-Id") != "" && strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return answered, nil, nil
	}
	return response.StatusCode, location, nil
}

// serving returns the site's servers in the configuration of the web server to change.
func (s *Setup) serving() (configuration, []Server, error) {
	var names []string
	var software Software
	for _, server := range s.site.Servers {
		if !slices.Contains(names, string(server.Software)) {
			names = append(names, string(server.Software))
			software = server.Software
		}
	}
	if s.WebServer != "" {
		names = slices.DeleteFunc(names, func(name string) bool { return !strings.EqualFold(name, s.WebServer) })
		if len(names) == 0 {
			return configuration{}, nil, &Error{Text: fmt.Sprintf("--web-server: %s does not serve %s", s.WebServer, s.site.Dir), Usage: true}
		}
		software = Software(names[0])
	}
	if len(names) > 1 {
		return configuration{}, nil, &Error{Text: fmt.Sprintf("%s serve the site; name the one that gets the requests: --web-server %s", strings.Join(names, " and "), strings.ToLower(names[0])), Usage: true}
	}
	var servers []Server
	for _, server := range s.site.Servers {
		if server.Software == software {
			servers = append(servers, server)
		}
	}
	if named := serversOf(servers, s.home.Hostname()); len(named) > 0 {
		servers = named
	}
	for _, c := range s.configurations {
		if c.software == software {
			return c, servers, nil
		}
	}
	return configuration{}, nil, nil
}

// planWebServer plans the forwarding from the site's address to Bookside.
func (s *Setup) planWebServer(ctx context.Context) (Step, error) {
	step := Step{
		Name: "web server", Title: "The web server", Optional: "calls of the site's address do not reach Bookside; INSTALL.md tells how to change the web server",
		Declined: func() { s.unrouted = true },
	}
	if s.has(step.Name) {
		return step, nil
	}
	if s.WebServer == None {
		s.unrouted = true
		step.Notes = []string{"It is left alone: " + step.Optional + "."}
		return step, nil
	}
	c, servers, err := s.serving()
	switch {
	case err != nil:
		return step, err
	case len(servers) == 0:
		step.Notes = []string{"No site of nginx, Apache or Caddy was found that serves " + s.site.Dir + ".", step.Optional + "."}
		s.unrouted = true
		return step, nil
	case slices.ContainsFunc(servers, func(server Server) bool { return server.Bookside }):
		step.Notes = []string{"Calls go to Bookside already."}
		return step, nil
	}
	step.Title += ", " + string(c.software)
	commands := s.commandsOf(c)
	if err := s.Host.run(ctx, commands.test); err != nil {
		return step, errorf("the configuration of %s is invalid already; correct it first.\n%v", c.software, err)
	}
	step.Changes = []Change{&Run{Back: []Command{commands.test, commands.reload}}}
	var changes []Change
	switch c.software {
	case Nginx:
		changes, err = s.nginxChanges(c, servers)
	case Apache:
		changes, err = s.apacheChanges(c, servers)
		if slices.ContainsFunc(changes, func(c Change) bool { return strings.Contains(c.Describe(), "a2enmod") }) {
			step.Notes = append(step.Notes, "The modules stay enabled after an undo: others may use them by then.")
		}
	case Caddy:
		changes, err = s.caddyChanges(c, servers)
		if c.logs {
			step.Notes = append(step.Notes, "It has a log of its own format. Keys that are sent in URLs stay in it, unless it gets the fields of docker/caddy/bookside-log.caddy.")
		}
	}
	for _, c := range changes {
		if file, ok := c.(*File); ok {
			file.Test = commands.test
		}
	}
	step.Changes = append(append(step.Changes, changes...), &Run{do: []Command{commands.test, commands.reload}})
	return step, err
}

// serverCommands test the configuration of a web server and make it take effect.
type serverCommands struct{ test, reload Command }

func (s *Setup) commandsOf(c configuration) serverCommands {
	var found serverCommands
	var unit string
	switch c.software {
	case Nginx:
		found, unit = serverCommands{command("nginx", "-t", "-q"), command("nginx", "-s", "reload")}, "nginx.service"
	case Caddy:
		found, unit = serverCommands{command("caddy", "validate", "--config", c.main), command("caddy", "reload", "--config", c.main)}, "caddy.service"
	default:
		control, service := "apache2ctl", "apache2.service"
		if !s.Host.Has(control) {
			control, service = "apachectl", "httpd.service"
		}
		found, unit = serverCommands{command(control, "configtest"), command(control, "graceful")}, service
	}
	if s.Host.systemd() {
		found.reload = command("systemctl", "try-reload-or-restart", unit)
	}
	return found
}

// adapted returns a sample adapted to this site.
func (s *Setup) adapted(name string, replaced ...string) (*File, error) {
	text, err := sample(name, replaced...)
	text = strings.ReplaceAll(text, defaultListen, s.Listen)
	if s.home.Path != "" {
		text = strings.ReplaceAll(text, apiPath, s.home.Path+apiPath)
	}
	return &File{Mode: 0o644, content: []byte(text)}, err
}

// blocks plans lines inside servers, from the end of a file to its beginning, so that insertions do not
// move what is inserted later.
func blocks(servers []Server, line string) (changes []Change) {
	slices.SortFunc(servers, func(a, b Server) int { return b.At - a.At })
	for _, server := range servers {
		changes = append(changes, &Block{
			Path: server.File, at: server.At, lines: []string{line},
			place: fmt.Sprintf("in the site at line %d", server.Line),
		})
	}
	return changes
}

func (s *Setup) nginxChanges(c configuration, servers []Server) ([]Change, error) {
	const routes = "/etc/nginx/snippets/bookside-routes.conf"
	general := "/etc/nginx/conf.d/00-bookside.conf" // read before the sites, which use its log format
	var changes []Change
	if !c.bookside {
		if !c.includes(general) {
			return nil, errorf("%s does not include the files of /etc/nginx/conf.d; INSTALL.md tells how to change nginx by hand", c.main)
		}
		file, err := s.adapted("nginx/bookside.conf")
		if err != nil {
			return nil, err
		}
		file.Path = general
		changes = append(changes, file)
	}
	const logged = "access_log /var/log/nginx/access.log bookside;"
	line := logged
	switch log := c.logOf(servers); log {
	case "":
	case logsNothing:
		line = "access_log off;"
	default:
		line = "access_log " + log + " bookside;"
	}
	file, err := s.adapted("nginx/bookside-routes.conf", logged, line)
	file.Path = routes
	return append(append(changes, file), blocks(servers, "include "+routes+";")...), err
}

func (s *Setup) apacheChanges(c configuration, servers []Server) ([]Change, error) {
	debian := strings.HasPrefix(c.main, "/etc/apache2/")
	routes, general := "/etc/httpd/bookside-routes.conf", "/etc/httpd/conf.d/bookside.conf"
	if debian {
		routes, general = "/etc/apache2/bookside-routes.conf", "/etc/apache2/conf-available/bookside.conf"
	}
	var changes []Change
	if debian {
		for _, module := range []string{"proxy", "proxy_http", "rewrite", "headers"} {
			if !s.Host.exists("/etc/apache2/mods-enabled/" + module + ".load") {
				changes = append(changes, &Run{
					do: []Command{command("a2enmod", "--quiet", module)}, Stays: "Apache's module " + module + ", which others may use by now", Removal: command("a2dismod", module),
				})
			}
		}
	}
	if !c.bookside {
		file, err := s.adapted("apache/bookside.conf")
		if err != nil {
			return nil, err
		}
		file.Path = general
		changes = append(changes, file)
		if debian {
			changes = append(changes, &Run{do: []Command{command("a2enconf", "--quiet", "bookside")}, Back: []Command{command("a2disconf", "--quiet", "bookside")}})
		}
	}
	file, err := s.adapted("apache/bookside-routes.conf")
	file.Path = routes
	return append(append(changes, file), blocks(servers, "IncludeOptional "+routes)...), err
}

func (s *Setup) caddyChanges(c configuration, servers []Server) ([]Change, error) {
	const routes, log = "/etc/caddy/bookside-routes.caddy", "/etc/caddy/bookside-log.caddy"
	file, err := s.adapted("caddy/bookside-routes.caddy")
	if err != nil {
		return nil, err
	}
	file.Path = routes
	changes := append([]Change{file}, blocks(servers, "import "+routes)...)
	if c.logs || c.bookside {
		return changes, nil
	}
	general, err := s.adapted("caddy/bookside-log.caddy")
	general.Path = log
	lines := []string{"import " + log}
	at := c.global
	if at < 0 { // there are no global options yet
		at, lines = 0, []string{"{", "\timport " + log, "}"}
	}
	return append(changes, general, &Block{Path: c.main, at: at, lines: lines, place: "in the global options"}), err
}
