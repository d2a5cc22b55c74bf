package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/mail"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	sq "github.com/Masterminds/squirrel"
	"github.com/google/go-cmp/cmp"

	"github.com/bookside/bookside/adapter/domain"
	"github.com/bookside/bookside/adapter/sanitize"
	"github.com/bookside/bookside/fixtures"
	"github.com/bookside/bookside/fixtures/wpdbtest"
	"github.com/bookside/bookside/wpdb"
)

func TestMain(m *testing.M) { os.Exit(fixtures.RunLimited(m, wpdb.GrantStatements)) }

func TestRecipients(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, to string
		want     []mail.Address
	}{
		{"none", "", nil},
		{"address", "jane@example.com", []mail.Address{{Address: "jane@example.com"}}},
		{"address in brackets", " <jane@example.com> ", []mail.Address{{Address: "jane@example.com"}}},
		{"name", "Jane Doe <jane@example.com>", []mail.Address{{Name: "Jane Doe", Address: "jane@example.com"}}},
		{"name without a space", "Jane<jane@example.com>", []mail.Address{{Name: "Jane", Address: "jane@example.com"}}},
		{"quoted name", `"Doe, Jane" <jane@example.com>`, []mail.Address{{Name: "Doe, Jane", Address: "jane@example.com"}}},
		{"name with a comma", "Doe, Jane <jane@example.com>", []mail.Address{{Name: "Doe, Jane", Address: "jane@example.com"}}},
		{"name beyond ASCII", "Zoë Müller 🎁 <zoe@example.com>", []mail.Address{{Name: "Zoë Müller 🎁", Address: "zoe@example.com"}}},
		{"name with brackets", "Jane <JD> Doe <jane@example.com>", []mail.Address{{Name: "Jane <JD> Doe", Address: "jane@example.com"}}},
		{"list", "Jane Doe <jane@example.com>, bob@example.com,Al <al@example.com>",
			[]mail.Address{{Name: "Jane Doe", Address: "jane@example.com"}, {Address: "bob@example.com"}, {Name: "Al", Address: "al@example.com"}}},
		{"twice", "Jane <jane@example.com>, JANE@example.com", []mail.Address{{Name: "Jane", Address: "jane@example.com"}}},
		{"name alone", "Jane Doe", nil},
		{"no address", "Jane Doe <>, bob@example.com", []mail.Address{{Address: "bob@example.com"}}},
		{"somebody without an address", "Doe, Jane <>, Bob <bob@example.com>", []mail.Address{{Name: "Bob", Address: "bob@example.com"}}},
		{"variable that is not known", "{{agent_email}}", nil},
		{"line breaks", "Jane\r\nBcc: all@example.com <jane@example.com>", []mail.Address{{Name: "Jane Bcc: all@example.com", Address: "jane@example.com"}}},
		{"line break in the address", "<jane@example.com\r\nBcc:all@example.com>", nil},
		{"address beyond ASCII", "zoë@example.com", nil},
		{"address that WordPress takes", "<.a..b.@1.2>", []mail.Address{{Address: ".a..b.@1.2"}}},
		{"address beyond the limit of mail", strings.Repeat("a", 250) + "@b.co", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, Mail{To: test.to}.Recipients()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func FuzzRecipients(f *testing.F) {
	f.Add(`"Doe, Jane" <jane@example.com>, bob@example.com, <>, x <y@z>`)
	f.Add("A\r\nBcc: b@example.com <a@example.com>,,<\x00@>")
	f.Fuzz(func(t *testing.T, to string) {
		for _, r := range (Mail{To: to}).Recipients() {
			if strings.ContainsFunc(r.Name, unicode.IsControl) {
				t.Errorf("%q: name %q", to, r.Name)
			}
			if !sanitize.ValidEmail(r.Address) || !strings.Contains(to, r.Address) {
				t.Errorf("%q: address %q", to, r.Address)
			}
			back, err := mail.ParseAddress(r.String())
			if err != nil || back.Address != r.Address {
				t.Errorf("%q: %q reads back as %v, %v", to, r.String(), back, err)
			}
		}
	})
}

// postOffice is a site with an outbox, and a mail server whose replies a test sets.
type postOffice struct {
	t        *testing.T
	database *fixtures.Database
	db       *wpdb.DB
	log      *fixtures.Buffer
	*fixtures.Clock

	mu       sync.Mutex
	reply    func(ctx context.Context, m Message) error // nil accepts everything
	messages []Message                                  // accepted
}

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	p := &postOffice{t: t, database: fixtures.New(t, fixtures.Legacy()), log: &fixtures.Buffer{}, Clock: fixtures.NewClock(time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC))}
	p.db = wpdbtest.Open(t, p.database, 2)
	return p
}

// Send implements Sender.
func (p *postOffice) Send(ctx context.Context, m Message) error {
	p.mu.Lock()
	reply := p.reply
	p.mu.Unlock()
	var err error
	if reply != nil {
		err = reply(ctx, m)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.messages = append(p.messages, m)
	}
	return err
}

// subjects returns the subjects of the messages accepted since the last call.
func (p *postOffice) subjects() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	subjects := []string{}
	for _, m := range p.messages {
		subjects = append(subjects, m.Subject)
	}
	p.messages = nil
	return subjects
}

// relay returns the relay of another process.
func (p *postOffice) relay() *Relay {
	return NewRelay(p.db, p.Now, p, slog.New(slog.NewTextHandler(p.log, nil)))
}

// add adds mails to the outbox, in one transaction.
func (p *postOffice) add(mails []Mail) error {
	return p.db.Transact(p.t.Context(), "queue", func(tx *wpdb.DB) error { return Add(p.t.Context(), tx, p.Now(), mails) })
}

// queue stores one mail for each subject.
func (p *postOffice) queue(subjects ...string) {
	p.t.Helper()
	mails := make([]Mail, len(subjects))
	for i, subject := range subjects {
		mails[i] = Mail{To: "Jane Doe <jane@example.com>", Subject: subject, Content: "<p>Hello</p>"}
	}
	if err := p.add(mails); err != nil {
		p.t.Fatal(err)
	}
}

func TestCalendarFileIsSent(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	file := Attachment{Name: "visit.ics", Content: "BEGIN:VCALENDAR\r\n"}
	if err := p.add([]Mail{{To: "jane@example.com", Subject: "with", Content: "C", Calendar: file}, {To: "jane@example.com", Subject: "without", Content: "C"}}); err != nil {
		t.Fatal(err)
	}
	sent := map[string]Attachment{}
	p.reply = func(_ context.Context, m Message) error {
		sent[m.Subject] = m.Calendar
		return nil
	}
	p.deliver("with", "without")
	if diff := cmp.Diff(map[string]Attachment{"with": file, "without": {}}, sent); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// deliver sends the mails that are due and compares their subjects.
func (p *postOffice) deliver(want ...string) {
	p.t.Helper()
	if err := p.relay().deliver(p.t.Context(), 0); err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(append([]string{}, want...), p.subjects()); diff != "" {
		p.t.Errorf("sent at %s (-want +got):\n%s", p.Now(), diff)
	}
}

// reject makes the server reply with an error to mails with a subject; "" matches
// all.
func (p *postOffice) reject(subject string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reply = func(_ context.Context, m Message) error {
		if subject == "" || m.Subject == subject {
			return err
		}
		return nil
	}
}

type storedMail struct {
	Address, Subject, Status, Due, Failure, Finished string
	Tries                                            int
}

func (p *postOffice) stored() []storedMail {
	p.t.Helper()
	stmt := sq.Select("address", "subject", "status", "due_at", "failure", "finished_at", "tries").From(p.db.Name(wpdb.Outbox)).OrderBy("id")
	rows, err := wpdb.All(p.t.Context(), p.db, "read outbox", stmt, func(row wpdb.Scanner) (m storedMail, err error) {
		var finished sql.NullString
		err = row.Scan(&m.Address, &m.Subject, &m.Status, &m.Due, &m.Failure, &finished, &m.Tries)
		m.Finished = finished.String
		return m, err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return rows
}

func (p *postOffice) wantStored(want ...storedMail) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.stored()); diff != "" {
		p.t.Errorf("outbox (-want +got):\n%s", diff)
	}
}

func TestMailsAreQueuedPerRecipient(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	mails := []Mail{
		{To: "Jane <jane@example.com>, Bob <bob@example.com>", Subject: "Two\r\nBcc: all@example.com", Content: "<p>1</p>"},
		{To: "Nobody <>", Subject: "none", Content: "<p>2</p>"},
		{To: "al@example.com", Subject: strings.Repeat("ä", 40_000), Content: strings.Repeat("ü", 70_000)},
	}
	rollback := errors.New("rolled back")
	err := p.db.Transact(t.Context(), "queue and roll back", func(tx *wpdb.DB) error {
		if err := Add(t.Context(), tx, p.Now(), mails); err != nil {
			return err
		}
		return rollback
	})
	if !errors.Is(err, rollback) {
		t.Errorf("error %v, want %v", err, rollback)
	}
	p.wantStored()
	p.deliver()

	if err := p.add(mails); err != nil {
		t.Fatal(err)
	}
	waiting := storedMail{Subject: "Two Bcc: all@example.com", Status: "waiting", Due: "2026-11-21 09:30:00"}
	jane, bob, al := waiting, waiting, waiting
	jane.Address, bob.Address, al.Address, al.Subject = "jane@example.com", "bob@example.com", "al@example.com", mails[2].Subject
	p.wantStored(jane, bob, al)
	if err := p.add(mails[1:2]); err != nil {
		t.Errorf("without recipients: %v", err)
	}
	if err := p.add(nil); err != nil {
		t.Errorf("without mails: %v", err)
	}
}

func TestMailIsSentOnce(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	if err := p.add([]Mail{{To: "Zoë <zoe@example.com>", Subject: "Größe 🎁", Content: "<p>é</p>"}}); err != nil {
		t.Fatal(err)
	}
	p.Pass(time.Minute)
	if err := p.relay().deliver(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	want := []Message{{
		ID: p.messages[0].ID, To: mail.Address{Name: "Zoë", Address: "zoe@example.com"}, Subject: "Größe 🎁", Content: "<p>é</p>",
		Queued: time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC),
	}}
	if diff := cmp.Diff(want, p.messages); diff != "" {
		t.Error(diff)
	}
	if id := p.messages[0].ID; len(id) != 32 {
		t.Errorf("id %q", id)
	}
	p.subjects()
	p.wantStored(storedMail{Address: "zoe@example.com", Subject: "Größe 🎁", Status: "sent", Tries: 1, Due: "2026-12-21 09:31:00", Finished: "2026-11-21 09:31:00"})
	p.Pass(48 * time.Hour)
	p.deliver()
}

func TestRetriesEndAfterADay(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a")
	p.reject("", fmt.Errorf("%w: 450", ErrMailDeferred))
	for i, pause := range []time.Duration{0, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 12 * time.Hour} {
		if pause > 0 {
			p.Pass(pause - time.Second)
			p.deliver()
			if tries := p.stored()[0].Tries; tries != i {
				t.Errorf("%d attempts before a delay of %s has passed, want %d", tries, pause, i)
			}
			p.Pass(time.Second)
		}
		p.deliver()
		if tries := p.stored()[0].Tries; tries != i+1 {
			t.Errorf("%d attempts, want %d", tries, i+1)
		}
	}
	end := domain.Stamp(p.Now())
	p.wantStored(storedMail{Address: "jane@example.com", Subject: "a", Status: "failed", Tries: 9, Failure: "mail deferred: 450", Due: domain.Stamp(p.Now().Add(retention)), Finished: end})
	p.reject("nothing", nil)
	p.Pass(time.Hour)
	p.deliver()
}

func TestRejectedMailIsNotRetried(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a", "b", "c")
	p.reject("b", fmt.Errorf("%w: 550 5.1.1", ErrMailRejected))
	p.deliver("a", "c")
	if got := p.stored()[1]; got.Status != "failed" || got.Tries != 1 || got.Failure != "mail rejected: 550 5.1.1" {
		t.Errorf("refused mail: %+v", got)
	}
	p.reject("nothing", nil)
	p.Pass(time.Hour)
	p.deliver()
}

func TestDeferredMailIsRetried(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a", "b", "c")
	p.reject("b", fmt.Errorf("%w: 451", ErrMailDeferred))
	p.deliver("a", "c")
	p.reject("nothing", nil)
	p.deliver()
	p.Pass(time.Minute)
	p.deliver("b")
}

// TestServerThatIsDownIsTriedOnce: a failure of the server ends the round, so that
// it is not tried for each mail.
func TestServerThatIsDownIsTriedOnce(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a", "b")
	p.reject("", errors.New("connection refused"))
	p.deliver()
	if rows := p.stored(); rows[0].Tries != 1 || rows[1].Tries != 0 {
		t.Errorf("attempts %d and %d, want only one, for the first mail", rows[0].Tries, rows[1].Tries)
	}
	p.reject("nothing", nil)
	p.deliver("b")
	p.Pass(time.Minute)
	p.deliver("a")
}

// TestMailOfDeadProcessIsSentByAnother: a mail whose process died while sending it
// is sent again, with the same id, when the claim has expired.
func TestMailOfDeadProcessIsSentByAnother(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a")
	lost := p.relay()
	claimed, ok, err := lost.claim(t.Context())
	if err != nil || !ok {
		t.Fatalf("claimed: %t, error %v", ok, err)
	}
	p.deliver()
	p.Pass(claimTime - time.Second)
	p.deliver()
	p.Pass(time.Second)
	if err := p.relay().deliver(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if len(p.messages) != 1 || p.messages[0].ID != claimed.ID {
		t.Errorf("sent %+v, want one with the id %s", p.messages, claimed.ID)
	}
	// If the first process was only slow, its late outcome changes nothing.
	if err := lost.storeOutcome(t.Context(), claimed, lost.outcomeOf(claimed, errors.New("connection lost"))); err != nil {
		t.Fatal(err)
	}
	if got := p.stored()[0]; got.Status != "sent" || got.Tries != 2 {
		t.Errorf("stored %+v", got)
	}
}

func TestEachMailIsSentByOneProcess(t *testing.T) {
	t.Parallel()
	fixtures.RequireServer(t)
	p := newPostOffice(t)
	var want []string
	for i := range 60 {
		want = append(want, fmt.Sprintf("%02d", i))
	}
	p.queue(want...)
	var processes sync.WaitGroup
	var senders sync.Map // by subject
	for process := range 3 {
		db := wpdbtest.Open(t, p.database, 2)
		sender := senderFunc(func(_ context.Context, m Message) error {
			if other, twice := senders.LoadOrStore(m.Subject, process); twice {
				t.Errorf("%s was sent by process %d and by %v", m.Subject, process, other)
			}
			return nil
		})
		outbox := NewRelay(db, p.Now, sender, slog.New(slog.NewTextHandler(io.Discard, nil)))
		processes.Go(func() {
			if err := outbox.deliver(t.Context(), 0); err != nil {
				t.Error(err)
			}
		})
	}
	processes.Wait()
	var got []string
	senders.Range(func(subject, _ any) bool {
		got = append(got, subject.(string))
		return true
	})
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, m := range p.stored() {
		if m.Status != "sent" || m.Tries != 1 {
			t.Errorf("stored %+v", m)
		}
	}
}

type senderFunc func(ctx context.Context, m Message) error

func (f senderFunc) Send(ctx context.Context, m Message) error { return f(ctx, m) }

// TestSuccessIsStoredWhenDatabaseReturns loses the database while a mail is sent.
func TestSuccessIsStoredWhenDatabaseReturns(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a")
	table := p.database.Prefix + string(wpdb.Outbox)
	rename := func(from, to string) {
		if _, err := p.database.SQL.ExecContext(t.Context(), "RENAME TABLE "+from+" TO "+to); err != nil {
			t.Error(err)
		}
	}
	back := make(chan struct{})
	p.reply = func(context.Context, Message) error {
		rename(table, table+"_away")
		time.AfterFunc(10*time.Millisecond, func() {
			defer close(back)
			rename(table+"_away", table)
		})
		return nil
	}
	p.deliver("a")
	<-back
	if got := p.stored()[0]; got.Status != "sent" {
		t.Errorf("stored %+v", got)
	}
}

func TestExpiredMailIsNotSent(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("a")
	p.Pass(48 * time.Hour)
	p.queue("b")
	p.deliver("a", "b")
	p.queue("c")
	p.Pass(48*time.Hour + time.Second)
	p.deliver()
	if got := p.stored()[2]; got.Status != "failed" || got.Failure != "mail rejected: it is older than 48h0m0s" {
		t.Errorf("stored %+v", got)
	}
}

func TestOldMailsAreSelected(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("sent", "rejected")
	p.reject("rejected", ErrMailRejected)
	p.deliver("sent")
	p.Pass(retention - time.Second)
	p.queue("waiting")
	old := func(want ...int64) {
		t.Helper()
		var got []int64
		for _, which := range []sq.SelectBuilder{Finished(p.db, p.Now()), Abandoned(p.db, p.Now())} {
			ids, err := wpdb.All(t.Context(), p.db, "find old mails", which, wpdb.Value[int64])
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, ids...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	old()
	p.Pass(time.Second)
	old(1, 2)
	p.Pass(expiry + retention)
	old(1, 2, 3)
}

// running starts a Relay that runs until cancel is called; then ended is closed.
func (p *postOffice) running(grace time.Duration) (relay *Relay, cancel func(), ended <-chan struct{}) {
	ctx, cancel := context.WithCancel(p.t.Context())
	relay = p.relay()
	done := make(chan struct{})
	go func() {
		defer close(done)
		relay.Run(ctx, grace)
	}()
	p.t.Cleanup(func() {
		cancel()
		<-done
	})
	return relay, cancel, done
}

func TestRunSendsUntilCanceled(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	sent := make(chan string)
	p.reply = func(_ context.Context, m Message) error {
		sent <- m.Subject
		return nil
	}
	p.queue("before the start")
	relay, cancel, ended := p.running(time.Hour)
	if got := <-sent; got != "before the start" {
		t.Errorf("sent %q", got)
	}
	p.queue("later")
	relay.Wake()
	relay.Wake()
	if got := <-sent; got != "later" {
		t.Errorf("sent %q", got)
	}
	cancel()
	<-ended
	p.queue("after the end")
	relay.Wake()
	for i, want := range []string{"sent", "sent", "waiting"} {
		if got := p.stored()[i].Status; got != want {
			t.Errorf("mail %d is %s, want %s", i, got, want)
		}
	}
}

func TestRunEndsWithinGrace(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		grace       time.Duration
		finish      bool // the server answers within the grace
		wantStatus  string
		wantFailure string
	}{
		{"when the server has answered", time.Hour, true, "sent", ""},
		{"at the end of the grace", time.Millisecond, false, "waiting", "context canceled"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := newPostOffice(t)
			p.queue("a", "b")
			sending, answer := make(chan struct{}), make(chan struct{})
			p.reply = func(ctx context.Context, _ Message) error {
				close(sending)
				select {
				case <-answer:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			_, cancel, ended := p.running(test.grace)
			<-sending
			cancel()
			if test.finish {
				close(answer)
			}
			<-ended
			rows := p.stored()
			if rows[0].Status != test.wantStatus || rows[0].Failure != test.wantFailure || rows[0].Tries != 1 || rows[1].Status != "waiting" || rows[1].Tries != 0 {
				t.Errorf("stored %+v", rows)
			}
		})
	}
}

// TestLogHasNoContentOfMails: the log has the outcome of each mail, but none of its content.
func TestLogHasNoContentOfMails(t *testing.T) {
	t.Parallel()
	p := newPostOffice(t)
	p.queue("sent", "deferred", "rejected")
	p.reply = func(_ context.Context, m Message) error {
		return map[string]error{"deferred": ErrMailDeferred, "rejected": ErrMailRejected}[m.Subject]
	}
	p.deliver("sent")
	table := p.database.Prefix + string(wpdb.Outbox)
	p.database.Execute(t, "DROP TABLE "+table)
	p.relay().round(t.Context(), 0)
	log := p.log.String()
	for _, want := range []string{
		`level=INFO msg="mail sent" outbox_id=1 tries=1`,
		`level=WARN msg="mail not sent yet" outbox_id=2 tries=1 error="mail deferred" next_try="2026-11-21 09:31:00"`,
		`level=ERROR msg="mail failed" outbox_id=3 tries=1 error="mail rejected"`,
		`level=ERROR msg="mail delivery interrupted" error="find mail to send: unknown table or column (error 1146)"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("no line with %s in:\n%s", want, log)
		}
	}
	for _, personal := range []string{"jane", "Doe", "Hello"} {
		if strings.Contains(log, personal) {
			t.Errorf("%q is in the log:\n%s", personal, log)
		}
	}
}
