package settings

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// rule returns what is wrong with a value, given all others, or "".
type rule[T any] func(value T, c *Config) string

// unless returns text if the value is not ok given the others.
func unless[T any](ok func(T, *Config) bool, text string) rule[T] {
	return func(value T, c *Config) string {
		if ok(value, c) {
			return ""
		}
		return text
	}
}

// must returns text if the value is not ok.
func must[T any](ok func(T) bool, text string) rule[T] {
	return unless(func(value T, _ *Config) bool { return ok(value) }, text)
}

func emptyOr(ok func(string) bool) func(string) bool {
	return func(text string) bool { return text == "" || ok(text) }
}

func oneOf(text string, words ...string) rule[string] {
	return must(func(word string) bool { return slices.Contains(words, word) }, text)
}

// each returns format for each element that is not ok.
func each(ok func(string) bool, format string) rule[[]string] {
	return func(list []string, _ *Config) string {
		var wrong []string
		for _, element := range list {
			if !ok(element) {
				wrong = append(wrong, fmt.Sprintf(format, element))
			}
		}
		return strings.Join(wrong, "; ")
	}
}

func unique(list []string, _ *Config) string {
	for i, element := range list {
		if slices.Contains(list[:i], element) {
			return fmt.Sprintf("%q is listed twice", element)
		}
	}
	return ""
}

func between(least, most int, text string) rule[int] {
	return must(func(n int) bool { return n >= least && n <= most }, text)
}

func atLeastNumber(least int, text string) rule[int] {
	return must(func(n int) bool { return n >= least }, text)
}

func atLeast(least time.Duration, example string) rule[time.Duration] {
	return must(func(d time.Duration) bool { return d >= least }, fmt.Sprintf("write a duration of at least %v%s", least, example))
}

func isListenAddress(text string) bool {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return false
	}
	_, err = strconv.ParseUint(port, 10, 16)
	return err == nil && !strings.ContainsAny(host, " /@")
}

func isOrigin(text string) bool {
	u, _ := url.Parse(text)
	return text == "*" || isWebAddress(text) && text == u.Scheme+"://"+u.Host
}

func isWebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// ParseNetwork parses a network, or a single address as a network.
func ParseNetwork(text string) (*net.IPNet, error) {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		text = netip.PrefixFrom(address, address.BitLen()).String()
	}
	_, network, err := net.ParseCIDR(text)
	return network, err
}
