package setup

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// assignment is a setting to write into the configuration or, with a nil value, to remove from it.
type assignment struct {
	section, name string
	value         any // a string, an int or a list of strings
}

func (a assignment) key() string { return a.section + "." + a.name }

// line returns the setting as written below its section.
func (a assignment) line() (string, error) {
	node := &yamlv3.Node{}
	if err := node.Encode(a.value); err != nil {
		return "", err
	}
	node.Style |= yamlv3.FlowStyle
	text, err := yamlv3.Marshal(node)
	return "  " + a.name + ": " + strings.TrimSpace(string(text)), err
}

var (
	topLevel = regexp.MustCompile(`^[^\s#]`)
	indented = regexp.MustCompile(`^\s+[^\s#]`)
)

// configure returns the text of a configuration with some settings assigned. Everything else in it,
// including comments, is kept.
func configure(content string, assignments []assignment) (string, error) {
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	if content == "" {
		lines = []string{`# Written by "bookside setup"; "bookside help config" lists all settings.`}
	}
	for _, a := range assignments {
		var err error
		if lines, err = a.apply(lines); err != nil {
			return "", err
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	return text, verify(text, assignments)
}

// unconfigured returns an error if a configuration already names a database. What an earlier run of setup
// left there, because the file was changed by hand, does not count.
func unconfigured(content string, hasDSNFile bool) error {
	var sections map[string]any
	if err := yamlv3.Unmarshal([]byte(content), &sections); err != nil {
		return errorf("%s is not valid YAML; correct it first: %v", configFile, err)
	}
	for _, a := range []assignment{{section: "db", name: "dsn"}, {section: "db", name: "dsn_file"}, {section: "wordpress", name: "config"}} {
		section, _ := sections[a.section].(map[string]any)
		value := section[a.name]
		if value == nil {
			value = sections[a.key()]
		}
		left := a.name == "dsn_file" && value == dsnFile && !hasDSNFile
		if value != nil && value != "" && !left {
			return errorf("%s names a database already, with %s: Bookside was configured by hand. To have setup do it, remove the setting first", configFile, a.key())
		}
	}
	return nil
}

// apply writes a setting into the lines of a configuration.
func (a assignment) apply(lines []string) ([]string, error) {
	header := regexp.MustCompile(`^` + regexp.QuoteMeta(a.section) + `:\s*(#.*)?$`)
	begin := slices.IndexFunc(lines, header.MatchString)
	if begin < 0 {
		if a.value == nil {
			return lines, nil
		}
		line, err := a.line()
		return append(lines, "", a.section+":", line), err
	}
	end := begin + 1
	for end < len(lines) && !topLevel.MatchString(lines[end]) {
		end++
	}
	present := regexp.MustCompile(`^\s+` + regexp.QuoteMeta(a.name) + `:`)
	if at := slices.IndexFunc(lines[begin:end], present.MatchString); at >= 0 {
		at += begin
		until := at + 1
		for until < end && indented.MatchString(lines[until]) && indentOf(lines[until]) > indentOf(lines[at]) {
			until++ // the lines of a list or a text
		}
		lines = slices.Delete(lines, at, until)
		end -= until - at
	}
	if a.value == nil {
		return lines, nil
	}
	line, err := a.line()
	if err != nil {
		return nil, err
	}
	// The packages' configuration has every setting commented out with its default.
	placeholder := regexp.MustCompile(`^\s+#\s?` + regexp.QuoteMeta(strings.TrimSuffix(a.name, "_file")) + `:`)
	at := begin + 1
	if i := slices.IndexFunc(lines[begin:end], placeholder.MatchString); i >= 0 {
		at = begin + i + 1
	}
	if i := slices.IndexFunc(lines[begin:end], indented.MatchString); i >= 0 { // indent like the others
		line = lines[begin+i][:indentOf(lines[begin+i])] + strings.TrimLeft(line, " ")
	}
	return slices.Insert(lines, at, line), nil
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// verify reports whether a YAML parser finds the settings in a text.
func verify(text string, assignments []assignment) error {
	var sections map[string]any
	if err := yamlv3.Unmarshal([]byte(text), &sections); err != nil {
		return fmt.Errorf("the configuration is not of the form that setup can edit: %w", err)
	}
	for _, a := range assignments {
		section, _ := sections[a.section].(map[string]any)
		if !same(section[a.name], a.value) || sections[a.key()] != nil {
			return fmt.Errorf("the configuration is not of the form that setup can edit: set %s to %v yourself", a.key(), a.value)
		}
	}
	return nil
}

func same(got, want any) bool {
	if list, ok := want.([]string); ok {
		var wanted []any
		for _, element := range list {
			wanted = append(wanted, element)
		}
		want = wanted
	}
	return reflect.DeepEqual(got, want)
}
