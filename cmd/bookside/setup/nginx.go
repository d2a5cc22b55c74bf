package setup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// nginxDirective is a directive of an nginx configuration, with its block.
type nginxDirective struct {
	name   string
	args   []string
	block  []nginxDirective
	at     int // offset of the name
	inside int // offset after the opening brace; 0 without a block
}

// nginxParser reads directives from the text of one file.
type nginxParser struct {
	text   string
	offset int
}

var errUnfinished = errors.New("ends within a directive")

// next returns the next token, and where it begins: a word, or one of ; { } alone. It is "" at the end of
// the file.
func (p *nginxParser) next() (token string, at int, err error) {
	for p.offset < len(p.text) {
		switch c := p.text[p.offset]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
			p.offset++
		case c == '#':
			p.offset = nextLine(p.text, p.offset)
		case strings.IndexByte(";{}", c) >= 0:
			p.offset++
			return string(c), p.offset - 1, nil
		case c == '"' || c == '\'':
			return p.quoted(c)
		default:
			return p.word()
		}
	}
	return "", p.offset, nil
}

func (p *nginxParser) quoted(quote byte) (string, int, error) {
	var b strings.Builder
	at := p.offset
	for p.offset++; p.offset < len(p.text); p.offset++ {
		switch c := p.text[p.offset]; {
		case c == quote:
			p.offset++
			return b.String(), at, nil
		case c == '\\' && p.offset+1 < len(p.text):
			p.offset++
			b.WriteByte(p.text[p.offset])
		default:
			b.WriteByte(c)
		}
	}
	return "", at, errUnfinished
}

func (p *nginxParser) word() (string, int, error) {
	at := p.offset
	for p.offset < len(p.text) {
		c := p.text[p.offset]
		switch {
		case c == '\\' && p.offset+1 < len(p.text):
			p.offset++
		case c == '{' && p.offset > at && p.text[p.offset-1] == '$': // a variable: ${name}
			end := strings.IndexByte(p.text[p.offset:], '}')
			if end < 0 {
				return "", at, errUnfinished
			}
			p.offset += end
		case strings.IndexByte(" \t\r\n;{}", c) >= 0:
			return p.text[at:p.offset], at, nil
		}
		p.offset++
	}
	return p.text[at:], at, nil
}

// directives returns the directives up to the end of the block or the file.
func (p *nginxParser) directives(inBlock bool) (list []nginxDirective, err error) {
	for {
		token, at, err := p.next()
		switch {
		case err != nil:
			return nil, err
		case token == "" && p.offset >= len(p.text):
			if inBlock {
				return nil, errUnfinished
			}
			return list, nil
		case token == "}":
			if !inBlock {
				return nil, errors.New("has a } too many")
			}
			return list, nil
		case token == ";":
			continue
		}
		d := nginxDirective{name: token, at: at}
		if d, err = p.arguments(d); err != nil {
			return nil, err
		}
		list = append(list, d)
	}
}

func (p *nginxParser) arguments(d nginxDirective) (nginxDirective, error) {
	for {
		token, _, err := p.next()
		switch {
		case err != nil:
			return d, err
		case token == "" && p.offset >= len(p.text), token == "}":
			return d, errUnfinished
		case token == ";":
			return d, nil
		case token == "{" && strings.HasSuffix(d.name, "_by_lua_block"):
			return d, p.skipBlock()
		case token == "{":
			d.inside = p.offset
			d.block, err = p.directives(true)
			return d, err
		}
		d.args = append(d.args, token)
	}
}

// skipBlock skips a block of another language in which braces come in pairs.
func (p *nginxParser) skipBlock() error {
	for depth := 1; p.offset < len(p.text); p.offset++ {
		switch p.text[p.offset] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				p.offset++
				return nil
			}
		}
	}
	return errUnfinished
}

// nginxReader collects the sites of an nginx configuration and the files that it includes.
type nginxReader struct {
	files  fs.FS
	prefix string // the directory of the main file, the base of relative paths
	found  configuration
	open   []string // files being read, to prevent endless includes
}

func parseNginx(files fs.FS, main string) (configuration, error) {
	r := &nginxReader{files: files, prefix: path.Dir(main)}
	err := r.file(main, nil)
	return r.found, err
}

// nginxScope is the server around a directive.
type nginxScope struct {
	server *Server
	nested bool // inside a block of the server
}

func (r *nginxReader) file(name string, in *nginxScope) error {
	content, err := fs.ReadFile(r.files, relative(name))
	if err != nil {
		return nil // nginx itself complains if it is needed
	}
	r.open = append(r.open, name)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	p := &nginxParser{text: string(content)}
	list, err := p.directives(false)
	if err != nil {
		return fmt.Errorf("%s: %w", place(name, lineOf(p.text, min(p.offset, len(p.text)))), err)
	}
	return r.directives(name, p.text, list, in)
}

func (r *nginxReader) directives(file, text string, list []nginxDirective, in *nginxScope) error {
	for _, d := range list {
		if err := r.directive(file, text, d, in); err != nil {
			return err
		}
	}
	return nil
}

func (r *nginxReader) directive(file, text string, d nginxDirective, in *nginxScope) error {
	first := ""
	if len(d.args) > 0 {
		first = d.args[0]
	}
	switch {
	case d.name == "include" && first != "":
		return r.include(place(file, lineOf(text, d.at)), first, in)
	case d.name == "upstream" && first == "bookside":
		r.found.bookside = true
	case d.name == "server" && d.inside > 0 && in == nil:
		at := nextLine(text, d.inside)
		server := Server{File: file, Line: lineOf(text, d.at), At: at}
		if err := r.directives(file, text, d.block, &nginxScope{server: &server}); err != nil {
			return err
		}
		r.found.servers = append(r.found.servers, server)
		return nil
	case in != nil && d.name == "server_name":
		for _, name := range d.args {
			if name != "_" && name != "" {
				in.server.Names = append(in.server.Names, name)
			}
		}
	case in != nil && d.name == "root" && first != "":
		in.server.Roots = append(in.server.Roots, path.Clean(first))
	case d.name == "access_log" && first != "":
		r.log(first, in)
	case in != nil && d.name == "proxy_pass" && strings.HasPrefix(first, "http://bookside"):
		in.server.Bookside = true
	}
	if in != nil && d.inside > 0 {
		in = &nginxScope{server: in.server, nested: true}
	}
	return r.directives(file, text, d.block, in)
}

// log records the first log of a server, or of all. Further logs within a server are for only some of its
// requests.
func (r *nginxReader) log(target string, in *nginxScope) {
	log := &r.found.log
	switch {
	case in != nil && in.nested:
		return
	case in != nil:
		log = &in.server.Log
	}
	if *log == "" || target == logsNothing {
		*log = target
	}
}

func (r *nginxReader) include(from, pattern string, in *nginxScope) error {
	if len(r.open) > maxIncludes {
		return fmt.Errorf("%s: %s includes itself", from, pattern)
	}
	if !path.IsAbs(pattern) {
		pattern = path.Join(r.prefix, pattern)
	}
	if in == nil {
		r.found.included = append(r.found.included, pattern)
	}
	return readAll(r.files, from, pattern, func(name string) error { return r.file(name, in) })
}
