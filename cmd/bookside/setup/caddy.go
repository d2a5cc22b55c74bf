package setup

import (
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"strings"
)

// caddyToken is a word of a Caddyfile.
type caddyToken struct {
	text string
	line int
	end  int // offset after it
}

// caddyTokens splits a file with a name into words, without comments.
func caddyTokens(name, text string) (tokens []caddyToken, err error) {
	line := 1
	for i := 0; i < len(text); {
		switch text[i] {
		case '\n':
			line++
			i++
		case ' ', '\t', '\r':
			i++
		case '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case '"', '`':
			word, end, ok := caddyQuoted(text, i)
			if !ok {
				return nil, fmt.Errorf("%s: a quote has no end", place(name, line))
			}
			tokens = append(tokens, caddyToken{word, line, end})
			line += strings.Count(text[i:end], "\n")
			i = end
		default:
			end := i
			for end < len(text) && !strings.ContainsRune(" \t\r\n", rune(text[end])) {
				end++
			}
			tokens = append(tokens, caddyToken{text[i:end], line, end})
			i = end
		}
	}
	return tokens, nil
}

// caddyQuoted returns the quoted word that begins at an offset, and where it ends.
func caddyQuoted(text string, at int) (word string, end int, ok bool) {
	quote := text[at]
	var b strings.Builder
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == quote:
			return b.String(), i + 1, true
		case quote == '"' && text[i] == '\\' && i+1 < len(text) && text[i+1] == '"':
			i++
			b.WriteByte('"')
		default:
			b.WriteByte(text[i])
		}
	}
	return "", 0, false
}

// caddyReader collects the sites of a Caddyfile and the files that it imports.
type caddyReader struct {
	files fs.FS
	found configuration
	depth int
}

func parseCaddy(files fs.FS, main string) (configuration, error) {
	r := &caddyReader{files: files, found: configuration{global: -1}}
	err := r.file(main, true)
	return r.found, err
}

// file reads the blocks of a file; in the first file, a leading block without an address holds the global
// options.
func (r *caddyReader) file(name string, first bool) error {
	r.depth++
	defer func() { r.depth-- }()
	content, err := fs.ReadFile(r.files, relative(name))
	if err != nil {
		return nil // Caddy itself complains if it is needed
	}
	text := string(content)
	tokens, err := caddyTokens(name, text)
	if err != nil {
		return err
	}
	var head []caddyToken
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		switch {
		case t.text == "import" && len(head) == 0 && i+1 < len(tokens) && tokens[i+1].line == t.line:
			i++
			if err := r.imported(name, tokens[i]); err != nil {
				return err
			}
		case t.text == "{":
			end := caddyBlockEnd(tokens, i)
			if end < 0 {
				return fmt.Errorf("%s: a block has no end", place(name, t.line))
			}
			r.block(name, text, head, tokens[i:end], first && len(r.found.servers) == 0)
			head, i = nil, end
		default:
			head = append(head, t)
		}
	}
	// A file with a single site needs no braces, so its end is unknown.
	return nil
}

// caddyBlockEnd returns the index of the brace that closes the one at open, or -1.
func caddyBlockEnd(tokens []caddyToken, open int) int {
	depth := 0
	for i := open; i < len(tokens); i++ {
		switch tokens[i].text {
		case "{":
			depth++
		case "}":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (r *caddyReader) imported(file string, imported caddyToken) error {
	from, pattern := place(file, imported.line), imported.text
	if r.depth > maxIncludes {
		return fmt.Errorf("%s: %s imports itself", from, pattern)
	}
	if !path.IsAbs(pattern) {
		pattern = path.Join(path.Dir(file), pattern)
	}
	return readAll(r.files, from, pattern, func(name string) error { return r.file(name, false) })
}

// block adds a block with the words before it; its first token is the brace.
func (r *caddyReader) block(file, text string, head, tokens []caddyToken, first bool) {
	inside := nextLine(text, tokens[0].end)
	if len(head) == 0 {
		if first {
			r.found.global = inside
			r.found.logs = hasDirective(tokens, "log")
			r.found.bookside = strings.Contains(text, "bookside-log.caddy")
		}
		return
	}
	if strings.HasPrefix(head[0].text, "(") { // a snippet
		return
	}
	server := Server{File: file, Line: head[0].line, At: inside}
	for _, t := range head {
		for _, address := range strings.Split(strings.TrimSuffix(t.text, ","), ",") {
			if name := caddyHost(address); name != "" {
				server.Names = append(server.Names, name)
			}
		}
	}
	for i, t := range tokens {
		next := func(n int) string {
			if i+n < len(tokens) && tokens[i+n].line == t.line {
				return tokens[i+n].text
			}
			return ""
		}
		begins := i == 0 || tokens[i-1].line != t.line || tokens[i-1].text == "{"
		switch {
		case !begins:
		case t.text == "root":
			root := next(1)
			if next(2) != "" {
				root = next(2) // root * DIRECTORY
			}
			server.Roots = append(server.Roots, path.Clean(root))
		case t.text == "import" && strings.Contains(next(1), "bookside-routes.caddy"), t.text == "@bookside":
			server.Bookside = true
		}
	}
	r.found.servers = append(r.found.servers, server)
}

// hasDirective reports whether a line begins with a word.
func hasDirective(tokens []caddyToken, name string) bool {
	for i, t := range tokens {
		if t.text == name && i > 0 && tokens[i-1].line != t.line {
			return true
		}
	}
	return false
}

// caddyHost returns the host name in a site's address, or "" if it has none.
func caddyHost(address string) string {
	if address == "" {
		return ""
	}
	if !strings.Contains(address, "://") {
		address = "//" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
