package setup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
)

// assignment is a setting to write into the configuration.
type assignment struct {
	section, name string
	value         any // a string, an int or a list of strings
}

// configure returns the text of a configuration with some settings assigned. Everything else in it,
// including comments, is kept. A configuration that names a database already was made by hand.
func configure(content string, assignments []assignment) (string, error) {
	if err := unconfigured(content); err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimRight(content, "\n"), "\n")
	if content == "" {
		lines = []string{`# Written by "bookside setup"; "bookside help config" lists all settings.`}
	}
	for _, a := range assignments {
		node := &yamlv3.Node{}
		if err := node.Encode(a.value); err != nil {
			return "", err
		}
		node.Style |= yamlv3.FlowStyle
		value, err := yamlv3.Marshal(node)
		if err != nil {
			return "", err
		}
		line := "  " + a.name + ": " + strings.TrimSpace(string(value))
		header := regexp.MustCompile(`^` + regexp.QuoteMeta(a.section) + `:\s*(?:#.*)?$`)
		if at := slices.IndexFunc(lines, header.MatchString); at >= 0 {
			lines = slices.Insert(lines, at+1, line)
		} else {
			lines = append(lines, "", a.section+":", line)
		}
	}
	text := strings.Join(lines, "\n") + "\n"
	return text, verify(text, assignments)
}

// verify reports whether a YAML parser finds the settings in a text. It does not if one of them was there
// already, or if the text has another form.
func verify(text string, assignments []assignment) error {
	var sections map[string]map[string]any
	err := yamlv3.Unmarshal([]byte(text), &sections)
	for _, a := range assignments {
		if err != nil || fmt.Sprint(sections[a.section][a.name]) != fmt.Sprint(a.value) {
			return errorf("setup cannot write %s.%s into %s, perhaps because it is there already; remove it first (%v)", a.section, a.name, configFile, err)
		}
	}
	return nil
}

// unconfigured returns an error if a configuration already names a database.
func unconfigured(content string) error {
	var sections map[string]any
	if err := yamlv3.Unmarshal([]byte(content), &sections); err != nil {
		return errorf("%s is not valid YAML; correct it first: %v", configFile, err)
	}
	for _, name := range []string{"db.dsn", "db.dsn_file", "wordpress.config"} {
		outer, inner, _ := strings.Cut(name, ".")
		section, _ := sections[outer].(map[string]any)
		for _, value := range []any{section[inner], sections[name]} {
			if value != nil && value != "" {
				return errorf("%s names a database already, with %s: Bookside was configured by hand. To have setup do it, remove the setting first", configFile, name)
			}
		}
	}
	return nil
}
