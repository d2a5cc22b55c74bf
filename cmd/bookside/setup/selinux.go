package setup

import (
	"context"
	"strings"
)

const (
	selinuxFolder = "/sys/fs/selinux"
	// selinuxBoolean controls whether web servers may connect to other programs. Where SELinux is enforced,
	// as on Fedora, they may not by default.
	selinuxBoolean = "httpd_can_network_connect"
)

// planSELinux plans to let the web server connect to Bookside. On most machines there is nothing to do.
func (s *Setup) planSELinux(context.Context) (Step, error) {
	step := Step{Name: "SELinux"}
	if s.unrouted || s.has(step.Name) {
		return step, nil
	}
	confined, err := s.Host.confinesWebServers()
	if err != nil || !confined {
		return step, err
	}
	step.Title = "SELinux, which keeps web servers from connecting to other programs"
	step.Optional = "the web server cannot reach Bookside unless another rule of SELinux allows it"
	step.Changes = []Change{&Run{
		do:   []Command{command("setsebool", "-P", selinuxBoolean, "1")},
		Back: []Command{command("setsebool", "-P", selinuxBoolean, "0")},
	}}
	return step, nil
}

// confinesWebServers reports whether SELinux keeps web servers from connecting to other programs.
func (h *Host) confinesWebServers() (bool, error) {
	enforced, _, err := h.read(selinuxFolder + "/enforce")
	if err != nil || strings.TrimSpace(string(enforced)) != "1" {
		return false, err
	}
	values, _, err := h.read(selinuxFolder + "/booleans/" + selinuxBoolean) // the present value and a pending one
	return strings.HasPrefix(string(values), "0"), err
}
