package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"math/big"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// smtpServer is a mail server for tests. It stores the messages it gets and rejects what
// a test says.
type smtpServer struct {
	t        *testing.T
	address  string
	roots    *x509.CertPool
	identity *tls.Config
	encrypts bool // TLS from the start
	offers   []string
	// answer replaces the reply to a line, or to the end of a message, which is passed
	// as "."; "" keeps it. It may block.
	answer func(line string) string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	dialed   int
	lines    []string // commands received
	messages []smtpMessage
	handlers sync.WaitGroup
}

// smtpMessage is a message that a client has sent.
type smtpMessage struct {
	hello, user, from string
	to                []string
	data              string
}

// hangUp as an answer closes the connection instead.
const hangUp = "hang up"

// newSMTPServer listens on a free port of the loopback interface.
func newSMTPServer(t *testing.T, change ...func(*smtpServer)) *smtpServer {
	t.Helper()
	s := &smtpServer{
		t: t, open: map[net.Conn]bool{}, answer: func(string) string { return "" },
		offers: []string{"8BITMIME", "SMTPUTF8", "ENHANCEDSTATUSCODES", "STARTTLS", "AUTH PLAIN LOGIN"},
	}
	s.identity, s.roots = newIdentity(t)
	for _, c := range change {
		c(s)
	}
	s.start("127.0.0.1:0")
	t.Cleanup(s.stop)
	return s
}

// newIdentity returns a certificate for 127.0.0.1 and a pool that trusts it.
func newIdentity(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS12}, roots
}

func (s *smtpServer) start(address string) {
	s.t.Helper()
	listener, err := listen(s.t.Context(), "the test's mail server", address)
	if err != nil {
		s.t.Fatal(err)
	}
	s.mu.Lock()
	s.listener, s.address = listener, listener.Addr().String()
	s.mu.Unlock()
	s.handlers.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.dialed++
			s.open[conn] = true
			s.mu.Unlock()
			s.handlers.Go(func() {
				s.serve(conn)
				s.mu.Lock()
				delete(s.open, conn)
				s.mu.Unlock()
				_ = conn.Close()
			})
		}
	})
}

// stop closes the listener and all connections; start listens again.
func (s *smtpServer) stop() {
	s.mu.Lock()
	_ = s.listener.Close()
	for conn := range s.open {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.handlers.Wait()
}

// port returns the port as in the configuration.
func (s *smtpServer) port() string { return s.address[strings.LastIndexByte(s.address, ':')+1:] }

// received returns the messages accepted so far.
func (s *smtpServer) received() []smtpMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]smtpMessage{}, s.messages...)
}

// conversation returns the number of connections and the commands so far.
func (s *smtpServer) conversation() (dialed int, lines string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dialed, strings.Join(s.lines, "\n")
}

// smtpSession is one connection.
type smtpSession struct {
	*smtpServer
	conn    net.Conn
	in      *bufio.Reader
	secure  bool
	message smtpMessage
}

func (s *smtpServer) serve(conn net.Conn) {
	session := &smtpSession{smtpServer: s, conn: conn, in: bufio.NewReader(conn)}
	if s.encrypts {
		session.encrypt()
	}
	if !session.say("", "220 mail.test") {
		return
	}
	for {
		line, err := session.in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		if !session.obey(line) {
			return
		}
	}
}

func (s *smtpSession) encrypt() {
	s.conn = tls.Server(s.conn, s.identity)
	s.in = bufio.NewReader(s.conn)
	s.secure = true
}

// say sends a reply; it returns false if the connection is to be closed.
func (s *smtpSession) say(line, usual string) bool {
	answer := s.answer(line)
	if answer == "" {
		answer = usual
	}
	if answer == hangUp {
		return false
	}
	_, err := fmt.Fprintf(s.conn, "%s\r\n", answer)
	return err == nil && !strings.HasPrefix(answer, "221") && !strings.HasPrefix(answer, "421")
}

func (s *smtpSession) obey(line string) bool {
	verb, argument, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "EHLO":
		s.message.hello = argument
		return s.say(line, "250-mail.test\r\n250-"+strings.Join(s.extensions(), "\r\n250-")+"\r\n250 SIZE")
	case "STARTTLS":
		ok := s.say(line, "220 go on")
		s.encrypt()
		return ok
	case "AUTH":
		return s.login(line, argument)
	case "MAIL":
		s.message.from = argument
		return s.say(line, "250 ok")
	case "RCPT":
		s.message.to = append(s.message.to, argument)
		return s.say(line, "250 ok")
	case "DATA":
		return s.take(line)
	case "QUIT":
		return s.say(line, "221 bye")
	default:
		return s.say(line, "250 ok")
	}
}

func (s *smtpSession) extensions() []string {
	var offered []string
	for _, extension := range s.offers {
		if !s.secure || extension != "STARTTLS" {
			offered = append(offered, extension)
		}
	}
	return offered
}

func (s *smtpSession) login(line, argument string) bool {
	method, initial, _ := strings.Cut(argument, " ")
	user := initial
	if method == "LOGIN" {
		user = s.ask("Username:") + " " + s.ask("Password:")
	} else if plain, err := base64.StdEncoding.DecodeString(initial); err == nil {
		user = strings.TrimPrefix(strings.ReplaceAll(string(plain), "\x00", " "), " ")
	}
	s.message.user = user
	return s.say(line, "235 welcome")
}

func (s *smtpSession) ask(question string) string {
	if _, err := fmt.Fprintf(s.conn, "334 %s\r\n", base64.StdEncoding.EncodeToString([]byte(question))); err != nil {
		return ""
	}
	line, err := s.in.ReadString('\n')
	if err != nil {
		return ""
	}
	answer, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
	if err != nil {
		return ""
	}
	return string(answer)
}

func (s *smtpSession) take(line string) bool {
	answer := s.answer(line)
	if answer != "" {
		return s.say(line, answer)
	}
	if !s.say(line, "354 go on") {
		return false
	}
	var data strings.Builder
	for {
		text, err := s.in.ReadString('\n')
		if err != nil {
			return false
		}
		if text == ".\r\n" {
			break
		}
		data.WriteString(strings.TrimPrefix(text, "."))
	}
	answer = s.answer(".")
	if answer == "" {
		s.message.data = data.String()
		s.mu.Lock()
		s.messages = append(s.messages, s.message)
		s.mu.Unlock()
		answer = "250 taken"
	}
	if answer == hangUp {
		return false
	}
	_, err := fmt.Fprintf(s.conn, "%s\r\n", answer)
	return err == nil
}
