package server

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/outbox"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/wpdb"
)

// mailConfig returns a configuration for a mail server of the test.
func mailConfig(t *testing.T, s *fixtures.SMTPServer) settings.Config {
	t.Helper()
	c := settings.Default()
	port, err := strconv.Atoi(s.Port())
	if err != nil {
		t.Fatal(err)
	}
	c.Mail.Enabled = true
	c.Mail.From, c.Mail.FromName = "office@practice.example", "Praxis Müller"
	c.Mail.SMTP.Host, c.Mail.SMTP.Port, c.Mail.SMTP.TLS = "127.0.0.1", port, settings.MailPlain
	return c
}

func confirmation() outbox.Message {
	return outbox.Message{
		ID: "0123456789abcdef", To: mail.Address{Name: "Zoë Doe", Address: "zoe@example.com"}, Subject: "Ihr Termin: Größe 🎁",
		Content: "<p>Liebe Zoë,</p>\n.\n<p>" + strings.Repeat("bis bald ", 50) + "</p>", Queued: now,
	}
}

// wantMail compares a received message with the one that was sent.
func wantMail(t *testing.T, got fixtures.SentMail, want outbox.Message) {
	t.Helper()
	parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
	if err != nil {
		t.Fatalf("%v in:\n%s", err, got.Data)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(parsed.Header.Get("Subject"))
	if err != nil {
		t.Error(err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(parsed.Body))
	if err != nil {
		t.Error(err)
	}
	head := map[string]string{"Subject": subject, "Content": strings.TrimRight(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n")}
	for _, name := range []string{"From", "To"} {
		address, err := mail.ParseAddress(parsed.Header.Get(name))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		head[name] = address.Name + " " + address.Address
		parsed.Header[name] = nil
	}
	for _, name := range []string{"Date", "Message-Id", "Auto-Submitted", "Content-Type", "Bcc", "Cc", "User-Agent", "X-Mailer"} {
		head[name] = parsed.Header.Get(name)
	}
	wantHead := map[string]string{
		"From": "Praxis Müller office@practice.example", "To": want.To.Name + " " + want.To.Address, "Subject": want.Subject, "Content": want.Content,
		"Date": "Sat, 21 Nov 2026 09:30:00 +0000", "Message-Id": "<" + want.ID + "@practice.example>",
		"Auto-Submitted": "auto-generated", "Content-Type": "text/html; charset=UTF-8", "Bcc": "", "Cc": "", "User-Agent": "", "X-Mailer": "",
	}
	if diff := cmp.Diff(wantHead, head); diff != "" {
		t.Errorf("%s\n%s", diff, got.Data)
	}
	if got.Hello != "practice.example" || got.From != "FROM:<office@practice.example> BODY=8BITMIME" || !slices.Equal(got.To, []string{"TO:<" + want.To.Address + ">"}) {
		t.Errorf("hello %s, from %s, to %v", got.Hello, got.From, got.To)
	}
}

func TestMailer(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, tls, auth, user string
		want                  string // user that logged in
	}{
		{"plain", settings.MailPlain, "AUTH PLAIN", "", ""},
		{"STARTTLS", settings.MailStartTLS, "AUTH PLAIN", "", ""},
		{"TLS", settings.MailTLS, "AUTH PLAIN", "", ""},
		{"STARTTLS and login", settings.MailStartTLS, "AUTH CRAM-MD5 LOGIN PLAIN", "office", "office s3cret"},
		{"TLS and login", settings.MailTLS, "AUTH PLAIN", "office", "office s3cret"},
		{"STARTTLS and the other way of login", settings.MailStartTLS, "AUTH LOGIN XOAUTH2", "office", "office s3cret"},
		{"TLS and the other way of login", settings.MailTLS, "AUTH LOGIN", "office", "office s3cret"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := fixtures.NewSMTPServer(t, func(s *fixtures.SMTPServer) {
				s.Encrypts = test.tls == settings.MailTLS
				s.Offers = []string{"8BITMIME", "SMTPUTF8", "STARTTLS", test.auth}
			})
			c := mailConfig(t, server)
			c.Mail.SMTP.TLS, c.Mail.SMTP.User = test.tls, test.user
			if test.user != "" {
				c.Mail.SMTP.Password = "s3cret"
			}
			if err := newMailer(c, server.Roots, nil).Send(t.Context(), confirmation()); err != nil {
				t.Fatal(err)
			}
			got := server.Received()
			if len(got) != 1 {
				t.Fatalf("%d messages", len(got))
			}
			wantMail(t, got[0], confirmation())
			if got[0].User != test.want {
				t.Errorf("logged in: %q, want %q", got[0].User, test.want)
			}
		})
	}
}

// TestMailerAttachesCalendar: the calendar file is an attachment, as mail clients
// expect.
func TestMailerAttachesCalendar(t *testing.T) {
	t.Parallel()
	server := fixtures.NewSMTPServer(t)
	message := confirmation()
	message.Calendar = outbox.Attachment{Name: "Größe.ics", Content: "BEGIN:VCALENDAR\r\nSUMMARY:Zoë\r\nEND:VCALENDAR\r\n"}
	if err := newMailer(mailConfig(t, server), server.Roots, nil).Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	parsed, err := mail.ReadMessage(strings.NewReader(server.Received()[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(parsed.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" {
		t.Fatalf("%s, %v", kind, err)
	}
	parts := multipart.NewReader(parsed.Body, parameters["boundary"])
	text, err := parts.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	if got := text.Header.Get("Content-Type"); got != "text/html; charset=UTF-8" {
		t.Errorf("first part is %s", got)
	}
	file, err := parts.NextPart()
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err = mime.ParseMediaType(file.Header.Get("Content-Type"))
	if err != nil || kind != "text/calendar" || parameters["method"] != "PUBLISH" || parameters["charset"] != "UTF-8" {
		t.Errorf("second part is %s, %v, %v", kind, parameters, err)
	}
	content, err := io.ReadAll(base64.NewDecoder(base64.StdEncoding, file))
	if err != nil || string(content) != message.Calendar.Content {
		t.Errorf("the file is %q, %v", content, err)
	}
	_, parameters, err = mime.ParseMediaType(file.Header.Get("Content-Disposition"))
	name, wordErr := new(mime.WordDecoder).DecodeHeader(parameters["filename"])
	if err != nil || wordErr != nil || name != message.Calendar.Name {
		t.Errorf("the file is called %q, %v, %v", name, err, wordErr)
	}
}

// TestMailerInjection: no field of a message can add a header line or a recipient.
func TestMailerInjection(t *testing.T) {
	t.Parallel()
	const inject = "x\r\nBcc: all@example.com\r\n\r\nbody"
	tests := []struct {
		name   string
		change func(*outbox.Message)
	}{
		{"name", func(m *outbox.Message) { m.To.Name = inject }},
		{"subject", func(m *outbox.Message) { m.Subject = inject }},
		{"id", func(m *outbox.Message) { m.ID = inject }},
		{"address", func(m *outbox.Message) { m.To.Address = "zoe@example.com>\r\nRCPT TO:<all@example.com" }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := fixtures.NewSMTPServer(t)
			m := confirmation()
			test.change(&m)
			if err := newMailer(mailConfig(t, server), nil, nil).Send(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			for _, got := range server.Received() {
				parsed, err := mail.ReadMessage(strings.NewReader(got.Data))
				if err != nil {
					t.Fatal(err)
				}
				if parsed.Header.Get("Bcc") != "" || len(got.To) != 1 {
					t.Errorf("recipients %v in:\n%s", got.To, got.Data)
				}
			}
			if _, lines := server.Conversation(); strings.Contains(lines, "all@example.com") {
				t.Errorf("commands:\n%s", lines)
			}
		})
	}
}

func TestMailerReportsRejections(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		line   string // the line that the server rejects
		answer string
		want   error  // expected class; nil for an error about the server itself
		text   string // "" if the mail was sent
	}{
		{"greeting", "", "421 4.3.2 too busy for zoe@example.com", nil, `mail server: dial failed: 421 "4.3.2 too busy`},
		{"login", "AUTH", "535 5.7.8 wrong password", nil, `535 "5.7.8 wrong password"`},
		{"sender", "MAIL", "550 5.7.1 <office@practice.example> not yours", nil, "mail server: sending SMTP MAIL FROM command: 550 5.7.1"},
		{"recipient", "RCPT", "550 5.1.1 <zoe@example.com> unknown", outbox.ErrMailRejected, "mail rejected: mail server: sending SMTP RCPT TO command: 550 5.1.1"},
		{"recipient for now", "RCPT", "450 4.2.0 <zoe@example.com> greylisted", outbox.ErrMailDeferred, "mail deferred: mail server: sending SMTP RCPT TO command: 450 4.2.0"},
		{"data", "DATA", "554 5.7.1 no", outbox.ErrMailRejected, "mail rejected: mail server: sending SMTP DATA command: 554 5.7.1"},
		{"content", ".", "552 5.3.4 too big for zoe@example.com", outbox.ErrMailRejected, "mail rejected: mail server: closing SMTP DATA writer: 552 5.3.4"},
		{"content for now", ".", "451 4.3.0 come back", outbox.ErrMailDeferred, "mail deferred: mail server: closing SMTP DATA writer: 451 4.3.0"},
		{"lost before the answer", ".", fixtures.HangUp, nil, "mail server: closing SMTP DATA writer: no response"},
		{"lost at the recipient", "RCPT", fixtures.HangUp, nil, "mail server: sending SMTP RCPT TO command: no response"},
		{"lost after the answer", "QUIT", fixtures.HangUp, nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := fixtures.NewSMTPServer(t, func(s *fixtures.SMTPServer) {
				s.Encrypts = true
				s.Answer = func(line string) string {
					if verb, _, _ := strings.Cut(line, " "); verb == test.line {
						return test.answer
					}
					return ""
				}
			})
			c := mailConfig(t, server)
			c.Mail.SMTP.TLS, c.Mail.SMTP.User, c.Mail.SMTP.Password = settings.MailTLS, "office", "s3cret"
			err := newMailer(c, server.Roots, nil).Send(t.Context(), confirmation())
			if test.text == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("sent")
			}
			for _, about := range []error{outbox.ErrMailRejected, outbox.ErrMailDeferred} {
				if errors.Is(err, about) != errors.Is(test.want, about) {
					t.Errorf("error %v, want %v", err, test.want)
				}
			}
			wantTexts(t, err.Error(), test.text)
			if test.line != "" && strings.Contains(err.Error(), "zoe") || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("told: %v", err)
			}
			if len(server.Received()) > 0 {
				t.Error("a message was taken")
			}
		})
	}
}

// TestMailerRequiresEncryption: without the configured encryption nothing is sent.
func TestMailerRequiresEncryption(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		tls    string
		server func(*fixtures.SMTPServer)
		trust  bool
		want   string
	}{
		{"no STARTTLS", settings.MailStartTLS, func(s *fixtures.SMTPServer) { s.Offers = []string{"AUTH PLAIN LOGIN"} }, true, "does not support STARTTLS"},
		{"certificate not trusted, STARTTLS", settings.MailStartTLS, func(*fixtures.SMTPServer) {}, false, "certificate"},
		{"certificate not trusted, TLS", settings.MailTLS, func(s *fixtures.SMTPServer) { s.Encrypts = true }, false, "certificate"},
		{"no login", settings.MailStartTLS, func(s *fixtures.SMTPServer) { s.Offers = []string{"STARTTLS"} }, true, "does not support SMTP AUTH"},
		{"no way of login that is known", settings.MailStartTLS, func(s *fixtures.SMTPServer) { s.Offers = []string{"STARTTLS", "AUTH XOAUTH2"} }, true, "mail server: dial failed: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := fixtures.NewSMTPServer(t, test.server)
			c := mailConfig(t, server)
			c.Mail.SMTP.TLS, c.Mail.SMTP.User, c.Mail.SMTP.Password = test.tls, "office", "s3cret"
			roots := server.Roots
			if !test.trust {
				roots = x509.NewCertPool()
			}
			err := newMailer(c, roots, nil).Send(t.Context(), confirmation())
			if err == nil {
				t.Fatal("sent")
			}
			wantTexts(t, err.Error(), test.want)
			if _, lines := server.Conversation(); strings.Contains(lines, "AUTH") || strings.Contains(lines, "MAIL") {
				t.Errorf("commands:\n%s", lines)
			}
		})
	}
}

// TestMailerTimesOut: a server that does not answer cannot block longer than the
// context.
func TestMailerTimesOut(t *testing.T) {
	t.Parallel()
	for _, silentAt := range []string{"", "EHLO", "."} {
		t.Run("at "+strconv.Quote(silentAt), func(t *testing.T) {
			t.Parallel()
			reached, end := make(chan struct{}), make(chan struct{})
			server := fixtures.NewSMTPServer(t, func(s *fixtures.SMTPServer) {
				s.Answer = func(line string) string {
					if verb, _, _ := strings.Cut(line, " "); verb != silentAt {
						return ""
					}
					close(reached)
					<-end
					return fixtures.HangUp
				}
			})
			defer close(end)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-reached
				cancel()
			}()
			err := newMailer(mailConfig(t, server), nil, nil).Send(ctx, confirmation())
			if !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
		})
	}
}

// TestSenderOfTheSite: what the configuration does not say about the sender comes from the plugin.
func TestSenderOfTheSite(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	server := fixtures.NewSMTPServer(t)
	site, err := wpdb.Open(t.Context(), wpdb.Config{DSN: db.DSN, Prefix: db.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = site.Close() })
	const name, address = "INSERT INTO wp_latepoint_settings (name, value) VALUES ('notification_email_setting_from_name', '%s')", "INSERT INTO wp_latepoint_settings (name, value) VALUES ('notification_email_setting_from_email', '%s')"
	execute(t, db.SQL, "REPLACE INTO wp_options (option_name, option_value) VALUES ('blogname', 'Haut &amp; Haar'), ('admin_email', 'boss@site.example')")
	for _, step := range []struct {
		statement, from, fromName string
		want                      string // "" for a failure
	}{
		{"", "", "", "Haut & Haar boss@site.example"},
		{"", "office@practice.example", "Praxis", "Praxis office@practice.example"},
		{"", "office@practice.example", "", "Haut & Haar office@practice.example"},
		{fmt.Sprintf(name, "Termine"), "", "", "Termine boss@site.example"},
		{fmt.Sprintf(address, "termine@site.example"), "", "", "Termine termine@site.example"},
		{"", "", "Praxis", "Praxis termine@site.example"},
		{"UPDATE wp_latepoint_settings SET value = '' WHERE name = 'notification_email_setting_from_email'", "", "", "Haut & Haar boss@site.example"},
		{"UPDATE wp_options SET option_value = 'nobody' WHERE option_name = 'admin_email'", "", "", ""},
	} {
		if step.statement != "" {
			execute(t, db.SQL, step.statement)
		}
		c := mailConfig(t, server)
		c.Mail.From, c.Mail.FromName = step.from, step.fromName
		before := len(server.Received())
		err := newMailer(c, nil, func(ctx context.Context) (mail.Address, error) { return session.MailSender(ctx, site) }).Send(t.Context(), confirmation())
		if step.want == "" {
			if err == nil || !strings.Contains(err.Error(), "set mail.from") {
				t.Errorf("%+v: error %v", step, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%+v: %v", step, err)
		}
		parsed, err := mail.ReadMessage(strings.NewReader(server.Received()[before].Data))
		if err != nil {
			t.Fatal(err)
		}
		from, err := mail.ParseAddress(parsed.Header.Get("From"))
		if err != nil || from.Name+" "+from.Address != step.want {
			t.Errorf("%+v: from %v, %v", step, from, err)
		}
	}
}

// TestMailServerDownAndUp: mails are kept while the mail server is down.
func TestMailServerDownAndUp(t *testing.T) {
	t.Parallel()
	db := fixtures.New(t, fixtures.Small(now))
	server := fixtures.NewSMTPServer(t)
	server.Stop()
	site, err := wpdb.Open(t.Context(), wpdb.Config{DSN: db.DSN, Prefix: db.Prefix})
	if err != nil {
		t.Fatal(err)
	}
	if err := site.CreateOwnTables(t.Context()); err != nil {
		t.Fatal(err)
	}
	queued := now.Format(time.DateTime)
	for _, subject := range []string{"a", "b"} {
		execute(t, db.SQL, "INSERT INTO wp_bookside_outbox (name, address, subject, content, status, tries, due_at, failure, created_at)"+
			" VALUES ('Zoë Doe', 'zoe@example.com', ?, '<p>Grüße</p>', 'waiting', 0, ?, '', ?)", subject, queued, queued)
	}
	var passed atomic.Int64
	var log fixtures.Buffer
	outbox := outbox.NewRelay(site, func() time.Time { return now.Add(time.Duration(passed.Load())) },
		newMailer(mailConfig(t, server), nil, nil), slog.New(slog.NewJSONHandler(&log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		outbox.Run(ctx, 0)
		ended <- site.Close()
	}()
	eventually := func(want string, also func() bool) {
		t.Helper()
		var got string
		for deadline := time.Now().Add(30 * time.Second); !also() || got != want; time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("still %s, want %s\n%s", got, want, &log)
			}
			if err := db.SQL.QueryRowContext(t.Context(), "SELECT GROUP_CONCAT(status, ', ', tries ORDER BY id SEPARATOR '; ') FROM wp_bookside_outbox").Scan(&got); err != nil {
				t.Fatal(err)
			}
		}
	}
	// An attempt is counted before it begins, and logged when it has ended.
	eventually("waiting, 1; waiting, 0", func() bool { return strings.Contains(log.String(), `"msg":"mail not sent yet"`) })
	server.Start(server.Address)
	passed.Store(int64(time.Minute))
	eventually("sent, 2; sent, 1", func() bool { outbox.Wake(); return true })
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var subjects []string
	for _, m := range server.Received() {
		_, subject, _ := strings.Cut(m.Data, "Subject: ")
		subject, _, _ = strings.Cut(subject, "\r\n")
		subjects = append(subjects, subject)
	}
	slices.Sort(subjects)
	if diff := cmp.Diff([]string{"a", "b"}, subjects); diff != "" {
		t.Error(diff)
	}
	wantTexts(t, log.String(), "connection refused")
}
