package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	smtp "github.com/wneessen/go-mail"

	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/shared/apierr"
)

// ErrNotConfigured is what everything that needs mail answers when there is no server.
var ErrNotConfigured = apierr.New(apierr.Unavailable, "E-mail is not configured: an operator has to set mail_smtp_url and mail_from.")

// Letter is a message that waits in the outbox.
type Letter struct {
	ID        string
	Recipient string
	Template  string
	Sealed    secret.Sealed // the rendered message
	Attempts  int64         // to send it, the one under way included
	CreatedAt time.Time
	ExpiresAt time.Time // when sending it has no use any more; not after CreatedAt for a letter that is never sent
}

// Mailer makes letters and sends them. It is immutable.
type Mailer struct {
	server    Server
	vault     *secret.Vault
	templates templates
	now       func() time.Time
}

// New returns a Mailer that sends through server. An error means that something embedded is broken.
func New(server Server, vault *secret.Vault, now func() time.Time) (*Mailer, error) {
	t, err := parseTemplates()
	if err != nil {
		return nil, err
	}
	return &Mailer{server: server, vault: vault, templates: t, now: now}, nil
}

// Configured reports whether there is a server to send through. Without a Mailer there is none.
func (m *Mailer) Configured() bool { return m != nil && m.server.configured }

// From is the address that mails come from; empty when mail is not configured.
func (m *Mailer) From() string { return m.server.from.Address }

// Letter renders and seals a message for the outbox; it is of no use after expires. Without a server the error is
// ErrNotConfigured.
func (m *Mailer) Letter(msg Message, expires time.Time) (Letter, error) {
	if !m.Configured() {
		return Letter{}, ErrNotConfigured
	}
	r, err := m.templates.render(msg.Content)
	if err != nil {
		return Letter{}, err
	}
	plain, err := json.Marshal(r)
	if err != nil {
		return Letter{}, fmt.Errorf("encode a mail: %w", err)
	}
	l := Letter{
		ID: uuid.NewString(), Recipient: msg.To, Template: msg.Content.template(),
		CreatedAt: m.now().UTC().Truncate(time.Microsecond), ExpiresAt: expires.UTC().Truncate(time.Microsecond),
	}
	if l.Sealed, err = m.vault.Seal(plain, SealContext(l.ID, l.Recipient)); err != nil {
		return Letter{}, fmt.Errorf("seal a mail: %w", err)
	}
	return l, nil
}

// SealContext binds a sealed text to its row and recipient.
func SealContext(id, recipient string) string { return "mail_outbox|" + id + "|" + recipient }

// Send hands a message to the server now. The error is ErrNotConfigured, or a 502 when the server cannot be reached or
// refuses it.
func (m *Mailer) Send(ctx context.Context, msg Message) error {
	if !m.Configured() {
		return ErrNotConfigured
	}
	r, err := m.templates.render(msg.Content)
	if err != nil {
		return err
	}
	if err := m.deliver(ctx, uuid.NewString(), msg.To, r); err != nil {
		return apierr.New(apierr.BadGateway, "The mail server did not take the mail. An operator finds the reason in the log.").Because(err)
	}
	return nil
}

// sendLetter opens a letter and hands it to the server.
func (m *Mailer) sendLetter(ctx context.Context, l Letter) error {
	plain, err := m.vault.Open(l.Sealed, SealContext(l.ID, l.Recipient))
	if err != nil {
		return &refusedError{err}
	}
	var r rendered
	if err := json.Unmarshal(plain, &r); err != nil {
		return &refusedError{err}
	}
	return m.deliver(ctx, l.ID, l.Recipient, r)
}

// refusedError says that sending again would change nothing.
type refusedError struct{ cause error }

func (e *refusedError) Error() string { return e.cause.Error() }
func (e *refusedError) Unwrap() error { return e.cause }

// deliver has one conversation with the server.
func (m *Mailer) deliver(ctx context.Context, id, to string, r rendered) error {
	ctx, cancel := context.WithTimeout(ctx, SendTimeout)
	defer cancel()
	msg := smtp.NewMsg(smtp.WithNoDefaultUserAgent())
	msg.FromMailAddress(&m.server.from)
	if err := msg.To(to); err != nil {
		return &refusedError{fmt.Errorf("address a mail: %w", err)}
	}
	_, domain, _ := strings.Cut(m.server.from.Address, "@")
	msg.SetMessageIDWithValue(id + "@" + domain)
	msg.SetDateWithValue(m.now())
	msg.Subject(r.Subject)
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's absence note answers
	msg.SetBodyString(smtp.TypeTextPlain, r.Text)
	msg.AddAlternativeString(smtp.TypeTextHTML, r.HTML)
	client, err := m.server.client()
	if err != nil {
		return fmt.Errorf("prepare to send: %w", err)
	}
	err = client.DialAndSendWithContext(ctx, msg)
	if e, ok := errors.AsType[*smtp.SendError](err); ok && !e.IsTemp() && e.ErrorCode() >= 500 {
		return &refusedError{err}
	}
	return err
}

func (s Server) client() (*smtp.Client, error) {
	options := []smtp.Option{smtp.WithPort(s.port), smtp.WithTimeout(SendTimeout), smtp.WithTLSPolicy(smtp.NoTLS)}
	if s.startTLS {
		options = append(options, smtp.WithTLSPolicy(smtp.TLSMandatory))
	}
	if s.implicit {
		options = append(options, smtp.WithSSL())
	}
	if s.user != "" {
		options = append(options, smtp.WithSMTPAuth(smtp.SMTPAuthAutoDiscover), smtp.WithUsername(s.user), smtp.WithPassword(s.password))
	}
	return smtp.NewClient(s.host, options...)
}
