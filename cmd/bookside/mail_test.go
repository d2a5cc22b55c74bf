package main

import (
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/fixtures"
)

// mailSettings returns the settings of a program that sends through the server.
func mailSettings(db *fixtures.Database, s *fixtures.SMTPServer, more ...string) []string {
	return settingsFor(db, append([]string{
		"BOOKSIDE_MAIL__ENABLED=true", "BOOKSIDE_MAIL__FROM=office@practice.example", "BOOKSIDE_MAIL__FROM_NAME=Praxis Müller",
		"BOOKSIDE_MAIL__SMTP__HOST=127.0.0.1", "BOOKSIDE_MAIL__SMTP__PORT=" + s.Port(), "BOOKSIDE_MAIL__SMTP__TLS=none",
	}, more...)...)
}

// queueMails adds mails to the outbox, as the writes of another process would.
func queueMails(t *testing.T, db *fixtures.Database, subjects ...string) {
	t.Helper()
	newKey(t, settingsFor(db)) // creates the tables
	for _, subject := range subjects {
		_, err := db.SQL.ExecContext(t.Context(), "INSERT INTO "+db.Prefix+"bookside_outbox"+
			" (name, address, subject, content, status, tries, due_at, failure, created_at) VALUES ('Zoë Doe', 'zoe@example.com', ?, '<p>Grüße</p>', 'waiting', 0, ?, '', ?)",
			subject, now.Format(time.DateTime), now.Format(time.DateTime))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// outboxStates returns "status, tries" of each mail.
func outboxStates(t *testing.T, db *fixtures.Database) []string {
	t.Helper()
	rows, err := db.SQL.QueryContext(t.Context(), "SELECT CONCAT(status, ', ', tries) FROM "+db.Prefix+"bookside_outbox ORDER BY id")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var states []string
	for rows.Next() {
		var state string
		if err := rows.Scan(&state); err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return states
}

func subjectsOf(t *testing.T, messages []fixtures.SentMail) []string {
	t.Helper()
	var subjects []string
	for _, m := range messages {
		parsed, err := mail.ReadMessage(strings.NewReader(m.Data))
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, parsed.Header.Get("Subject"))
	}
	slices.Sort(subjects)
	return subjects
}

// TestServeSendsMails: two programs on one database send each mail once.
func TestServeSendsMails(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	server := fixtures.NewSMTPServer(t)
	var want, sent []string
	for i := range 20 {
		want = append(want, fmt.Sprintf("mail %02d", i))
		sent = append(sent, "sent, 1")
	}
	queueMails(t, db, want...)
	programs := []*testServer{serve(t, mailSettings(db, server)), serve(t, mailSettings(db, server))}
	programs[0].eventually("all mails", func() bool { return slices.Equal(outboxStates(t, db), sent) })
	for _, p := range programs {
		if err := p.stop(); err != nil {
			t.Error(err)
		}
		wantTexts(t, p.stderr.String(), `"msg":"sending mail","server":"127.0.0.1:`+server.Port()+`"`)
		if strings.Contains(p.stderr.String(), "zoe") {
			t.Errorf("log: %s", p.stderr)
		}
	}
	if diff := cmp.Diff(want, subjectsOf(t, server.Received())); diff != "" {
		t.Error(diff)
	}
}

func TestServeWithoutMail(t *testing.T) {
	t.Parallel()
	db := small(t)
	server := fixtures.NewSMTPServer(t)
	queueMails(t, db, "a")
	s := serve(t, lastWins(mailSettings(db, server, "BOOKSIDE_MAIL__ENABLED=false")))
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"waiting, 0"}, outboxStates(t, db)); diff != "" {
		t.Error(diff)
	}
	if dialed, _ := server.Conversation(); dialed != 0 {
		t.Errorf("%d connections", dialed)
	}
}

// TestServeResumesMails: a stopped program cancels a hanging attempt, and the next program sends the mail
// with the same id.
func TestServeResumesMails(t *testing.T) {
	t.Parallel()
	db := small(t)
	var silent atomic.Bool
	silent.Store(true)
	reached, end := make(chan string, 1), make(chan struct{})
	server := fixtures.NewSMTPServer(t, func(s *fixtures.SMTPServer) {
		s.Answer = func(line string) string {
			if line != "." || !silent.Load() {
				return ""
			}
			reached <- line
			<-end
			return fixtures.HangUp
		}
	})
	defer close(end)
	queueMails(t, db, "a", "b")
	first := serve(t, mailSettings(db, server, "BOOKSIDE_SERVER__SHUTDOWN_TIMEOUT=1ms"))
	<-reached
	if err := first.stop(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"waiting, 1", "waiting, 0"}, outboxStates(t, db)); diff != "" {
		t.Error(diff)
	}
	silent.Store(false)
	execute(t, db.SQL, "UPDATE "+db.Prefix+"bookside_outbox SET due_at = created_at")
	second := serve(t, mailSettings(db, server))
	second.eventually("both mails", func() bool { return slices.Equal(outboxStates(t, db), []string{"sent, 2", "sent, 1"}) })
	if diff := cmp.Diff([]string{"a", "b"}, subjectsOf(t, server.Received())); diff != "" {
		t.Error(diff)
	}
}

// TestMailWithoutTable: a user who may not create the outbox cannot send mails.
func TestMailWithoutTable(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	db := small(t)
	server := fixtures.NewSMTPServer(t)
	newKey(t, settingsFor(db))
	execute(t, db.SQL, "DROP TABLE "+db.Prefix+"bookside_outbox")
	env := append(reader(t, db), slices.DeleteFunc(mailSettings(db, server), func(entry string) bool { return !strings.HasPrefix(entry, "BOOKSIDE_MAIL__") })...)
	run(t, env, "", "serve").want(t, exit.Refused, "mail.enabled: the database user may not create the table wp_bookside_outbox; run keys create once as one that may")
}

func TestMailPasswordIsHidden(t *testing.T) {
	t.Parallel()
	path := fixtures.WriteFile(t, "password", "s3cret\n")
	env := []string{
		"BOOKSIDE_DB__DSN=u:p@tcp(h)/d", "BOOKSIDE_MAIL__SMTP__USER=office", "BOOKSIDE_MAIL__SMTP__PASSWORD_FILE=" + path,
	}
	c, err := configFrom(t, "", env)
	if err != nil || c.Mail.SMTP.Password != "s3cret" {
		t.Errorf("password %q, error %v", c.Mail.SMTP.Password, err)
	}
	got := run(t, env, "", "serve", "--print-config").want(t, exit.OK)
	wantTexts(t, got.stdout, "password: '***'\n", "user: office\n")
	if strings.Contains(got.stdout+got.stderr, "s3cret") {
		t.Error("the password is printed")
	}
}
