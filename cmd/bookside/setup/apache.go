package setup

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// apacheReader collects the sites of an Apache configuration and the files that it includes.
type apacheReader struct {
	files fs.FS
	root  string // ServerRoot, the base of relative paths
	found configuration
	depth int
}

func parseApache(files fs.FS, main string) (configuration, error) {
	root := path.Dir(main)
	if path.Base(root) == "conf" { // Red Hat's /etc/httpd/conf
		root = path.Dir(root)
	}
	r := &apacheReader{files: files, root: root}
	err := r.file(main, nil)
	return r.found, err
}

func (r *apacheReader) file(name string, in *Server) error {
	r.depth++
	defer func() { r.depth-- }()
	content, err := fs.ReadFile(r.files, relative(name))
	if err != nil {
		return nil // Apache itself complains if it is needed
	}
	text, offset := string(content), 0
	for offset < len(text) {
		at := offset
		offset = nextLine(text, at)
		line := text[at:offset]
		for strings.HasSuffix(strings.TrimRight(line, "\r\n"), `\`) && offset < len(text) { // continues on the next line
			end := nextLine(text, offset)
			line = strings.TrimSuffix(strings.TrimRight(line, "\r\n"), `\`) + text[offset:end]
			offset = end
		}
		words := apacheWords(line)
		if len(words) == 0 {
			continue
		}
		switch strings.ToLower(words[0]) {
		case "<virtualhost":
			in = &Server{File: name, Line: lineOf(text, at), At: offset}
		case "</virtualhost>":
			if in != nil {
				r.found.servers = append(r.found.servers, *in)
			}
			in = nil
		case "include", "includeoptional":
			if len(words) < 2 {
				continue
			}
			if err := r.include(place(name, lineOf(text, at)), words[1], in); err != nil {
				return err
			}
		default:
			r.directive(words, in)
		}
	}
	return nil
}

func (r *apacheReader) include(from, pattern string, in *Server) error {
	if r.depth > maxIncludes {
		return fmt.Errorf("%s: %s includes itself", from, pattern)
	}
	if !path.IsAbs(pattern) {
		pattern = path.Join(r.root, pattern)
	}
	if in == nil {
		r.found.included = append(r.found.included, pattern)
	}
	return readAll(r.files, from, pattern, func(name string) error { return r.file(name, in) })
}

func (r *apacheReader) directive(words []string, in *Server) {
	if len(words) < 2 {
		return
	}
	value := words[1]
	switch strings.ToLower(words[0]) {
	case "serverroot":
		if path.IsAbs(value) {
			r.root = value
		}
	case "setenvifexpr":
		r.found.bookside = r.found.bookside || in == nil && strings.Contains(strings.Join(words, " "), "bookside_request")
	}
	if in == nil {
		return
	}
	switch strings.ToLower(words[0]) {
	case "servername", "serveralias":
		in.Names = append(in.Names, words[1:]...)
	case "documentroot":
		in.Roots = append(in.Roots, path.Clean(value))
	case "customlog":
		in.Log = value
	case "proxypass":
		in.Bookside = in.Bookside || strings.Contains(value, "/latepoint-api/v1")
	}
}

// apacheWords splits a line of a configuration into its words; a comment has none.
func apacheWords(line string) (words []string) {
	line = strings.TrimSpace(line)
	if strings.HasPrefix(line, "#") {
		return nil
	}
	for line != "" {
		word, rest := line, ""
		if quote := line[0]; quote == '"' || quote == '\'' {
			word, rest, _ = strings.Cut(line[1:], string(quote))
		} else if i := strings.IndexAny(line, " \t"); i >= 0 {
			word, rest = line[:i], line[i:]
		}
		words = append(words, word)
		line = strings.TrimSpace(rest)
	}
	return words
}
