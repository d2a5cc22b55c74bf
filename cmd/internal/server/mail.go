package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"

	"github.com/bookside/bookside/adapter/outbox"
	"github.com/bookside/bookside/adapter/session"
	"github.com/bookside/bookside/cmd/internal/exit"
	"github.com/bookside/bookside/cmd/internal/settings"
	"github.com/bookside/bookside/wpdb"
)

// mailer sends messages through the configured mail server, each over a new
// connection.
type mailer struct {
	host      string
	port      int
	tls       string // one of the constants above
	tlsConfig *tls.Config
	login     []gomail.Option // empty for a server without login
	// sender is the sender of the next mail.
	sender func(context.Context) (mail.Address, error)
}

// newMailer requires a valid configuration. Nil roots stand for those of the system; site supplies what the
// configuration does not say about the sender.
func newMailer(c settings.Config, roots *x509.CertPool, site func(context.Context) (mail.Address, error)) *mailer {
	smtp := c.Mail.SMTP
	m := &mailer{
		host: smtp.Host, port: smtp.Port, tls: smtp.TLS,
		tlsConfig: &tls.Config{ServerName: smtp.Host, RootCAs: roots, MinVersion: tls.VersionTLS12},
	}
	m.sender = func(ctx context.Context) (mail.Address, error) {
		from := mail.Address{Name: c.Mail.FromName, Address: c.Mail.From}
		if from.Name != "" && from.Address != "" {
			return from, nil
		}
		sites, err := site(ctx)
		if err != nil {
			return from, fmt.Errorf("read the sender of the site's mails: %w", err)
		}
		from = mail.Address{Name: cmp.Or(from.Name, sites.Name), Address: cmp.Or(from.Address, sites.Address)}
		if !settings.PlainAddress(from.Address) {
			return from, errors.New("the site's settings have no plain sender address; set mail.from")
		}
		return from, nil
	}
	if smtp.User != "" {
		// The connection is encrypted, so the methods that most servers support come first.
		m.login = []gomail.Option{
			gomail.WithUsername(smtp.User), gomail.WithPassword(smtp.Password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthCramMD5),
		}
	}
	return m
}

// Send implements outbox.Sender. The server's response to the recipient or the content concerns the
// message; earlier responses, to the login or the sender, concern the configuration.
func (m *mailer) Send(ctx context.Context, message outbox.Message) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	from, err := m.sender(ctx)
	if err != nil {
		return err
	}
	domain := from.Address[strings.LastIndexByte(from.Address, '@')+1:]
	client, err := gomail.NewClient(m.host, m.options(ctx, domain)...)
	if err != nil {
		return fmt.Errorf("configure the mail client: %w", err)
	}
	composed := compose(message, from, domain)
	err = client.DialAndSendWithContext(ctx, composed)
	if composed.IsDelivered() {
		return nil // an error after the delivery does not matter
	}
	return explainSending(ctx, err)
}

func (m *mailer) options(ctx context.Context, domain string) []gomail.Option {
	policy := gomail.NoTLS // even with settings.MailTLS, for which the dialer encrypts
	if m.tls == settings.MailStartTLS {
		policy = gomail.TLSMandatory
	}
	return append([]gomail.Option{
		gomail.WithDialContextFunc(func(dialing context.Context, _, _ string) (net.Conn, error) { return m.dial(ctx, dialing) }),
		gomail.WithTLSPolicy(policy), gomail.WithTLSConfig(m.tlsConfig),
		gomail.WithTimeout(time.Hour), // ctx ends sooner
		gomail.WithHELO(domain),       // many servers reject the name of a container
		gomail.WithoutNoop(), gomail.WithoutRset(),
		gomail.WithoutSMTPUTF8(), // addresses are ASCII, and not every server on the way supports it
	}, m.login...)
}

// dial opens a connection that is closed when ctx ends. The library closes it only on success, and respects
// its context only while dialing.
func (m *mailer) dial(ctx, dialing context.Context) (net.Conn, error) {
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	if m.tls == settings.MailTLS {
		dialer = &tls.Dialer{Config: m.tlsConfig}
	}
	conn, err := dialer.DialContext(dialing, "tcp", net.JoinHostPort(m.host, strconv.Itoa(m.port)))
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() }) // it may already be closed
	return conn, nil
}

func compose(message outbox.Message, from mail.Address, domain string) *gomail.Msg {
	composed := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	composed.FromMailAddress(&from)
	composed.ToMailAddress(&message.To)
	composed.Subject(message.Subject)
	composed.SetDateWithValue(message.Queued)
	composed.SetMessageIDWithValue(message.ID + "@" + domain)
	composed.SetGenHeader("Auto-Submitted", "auto-generated") // prevents out-of-office replies
	composed.SetBodyString(gomail.TypeTextHTML, message.Content)
	if file := message.Calendar; file.Name != "" {
		composed.AttachReadSeeker(file.Name, strings.NewReader(file.Content), gomail.WithFileContentType("text/calendar; charset=UTF-8; method=PUBLISH"))
	}
	return composed
}

// explainSending omits the text of the server's response, which may quote an
// address.
func explainSending(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("gave up waiting for the mail server: %w", ctx.Err())
	}
	var failure *gomail.SendError
	if !errors.As(err, &failure) {
		return fmt.Errorf("mail server: %w", err)
	}
	response := "no response"
	if failure.ErrorCode() != 0 {
		response = strings.TrimSpace(fmt.Sprintf("%d %s", failure.ErrorCode(), failure.EnhancedStatusCode()))
	}
	err = fmt.Errorf("mail server: %v: %s", failure.Reason, response)
	switch failure.Reason {
	case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
	default:
		return err
	}
	switch failure.ErrorCode() / 100 {
	case 4:
		return fmt.Errorf("%w: %w", outbox.ErrMailDeferred, err)
	case 5:
		return fmt.Errorf("%w: %w", outbox.ErrMailRejected, err)
	default:
		return err
	}
}

// newOutbox returns nil if mail is disabled.
func (s *Server) newOutbox(ctx context.Context, db *wpdb.DB) (*outbox.Relay, error) {
	if !s.Config.Mail.Enabled {
		return nil, nil
	}
	schema, err := db.Schema(ctx, "")
	if err != nil {
		return nil, s.target.Explain(err)
	}
	if !schema.Has(wpdb.Outbox) {
		return nil, exit.Errorf(exit.Refused, nil, "mail.enabled: the database user may not create the table %s%s; run keys create once as one that may, or disable mail", db.Prefix(), wpdb.Outbox)
	}
	sender := func(ctx context.Context) (mail.Address, error) { return session.MailSender(ctx, db) }
	return outbox.NewRelay(db, s.Now, newMailer(s.Config, nil, sender), s.Log), nil
}

// sendMails sends queued messages until ctx ends.
func (s *Server) sendMails(ctx context.Context, outbox *outbox.Relay) {
	s.Log.Info("sending mail", "server", net.JoinHostPort(s.Config.Mail.SMTP.Host, strconv.Itoa(s.Config.Mail.SMTP.Port)))
	outbox.Run(ctx, s.Config.Server.ShutdownTimeout)
}
