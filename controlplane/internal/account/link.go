package account

import (
	"context"
	"fmt"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/shared/apierr"
)

// Kinds of links.
const (
	LinkVerify = "verify" // shows that an address is theirs
	LinkReset  = "reset"  // lets choose a new password
)

// Link is what a mail carries to its reader, as it is stored.
type Link struct {
	Hash      []byte
	Kind      string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// MailedLink is a link with the mail that carries it.
type MailedLink struct {
	Link   Link
	Letter mail.Letter
}

// LinkStore is what links ask of storage.
type LinkStore interface {
	// SendLink gives the developer with the address a link, in place of an older one, and queues its mail. If nobody has the address
	// it does as much work for nothing.
	SendLink(ctx context.Context, email string, m MailedLink) error
	// LinkOwner returns whose link it is, or ErrLinkExpired.
	LinkOwner(ctx context.Context, hash []byte, kind string, now time.Time) (Developer, error)
	// VerifyEmail uses a link up. Error: ErrLinkExpired.
	VerifyEmail(ctx context.Context, hash []byte, now time.Time) error
	// ResetPassword uses a link up and ends all sessions. Error: ErrLinkExpired.
	ResetPassword(ctx context.Context, hash []byte, passwordHash string, now time.Time, letters ...mail.Letter) error
}

// What can be wrong with a link.
var (
	ErrLinkExpired = apierr.Violations(apierr.Item{
		Type: "value_error", Loc: []any{"body", "token"}, Msg: "Value error, The link does not work any more. Ask for a new one.",
		Input: "**********",
		Ctx:   map[string]any{"error": "The link does not work any more. Ask for a new one."},
	})
	ErrVerified = apierr.New(apierr.Conflict, "The e-mail address is confirmed already.")
)

// link makes a link and the mail that carries it.
func (a *Accounts) link(kind, email string) (MailedLink, error) {
	if !a.Mailer.Configured() {
		return MailedLink{}, mail.ErrNotConfigured
	}
	now := a.now()
	text, hash := newSecret()
	m := MailedLink{Link: Link{Hash: hash, Kind: kind, CreatedAt: now, ExpiresAt: now.Add(VerifyTTL)}}
	var content mail.Content
	if kind == LinkVerify {
		content = mail.Verify{Link: a.PublicURL + "/dev/#/verify-email?token=" + text, Expires: m.Link.ExpiresAt}
	} else {
		m.Link.ExpiresAt = now.Add(ResetTTL)
		content = mail.Reset{Link: a.PublicURL + "/dev/#/reset-password?token=" + text, Expires: m.Link.ExpiresAt}
	}
	var err error
	m.Letter, err = a.Mailer.Letter(mail.Message{To: email, Content: content}, m.Link.ExpiresAt)
	return m, err
}

// SendVerification mails a developer a link that confirms the address. Errors: ErrVerified, mail.ErrNotConfigured, 429.
func (a *Accounts) SendVerification(ctx context.Context, developerID string) (Developer, error) {
	d, err := a.Store.Developer(ctx, developerID)
	if err != nil {
		return Developer{}, err
	}
	if d.VerifiedAt != nil {
		return Developer{}, ErrVerified
	}
	m, err := a.link(LinkVerify, d.Email)
	if err != nil {
		return Developer{}, err
	}
	if err := a.Throttle.Attempt("mail/"+d.Email, paceMail); err != nil {
		return Developer{}, err
	}
	return d, a.Store.SendLink(ctx, d.Email, m)
}

// VerifyEmail confirms an address by the token of a link. Errors: ErrLinkExpired, 429.
func (a *Accounts) VerifyEmail(ctx context.Context, token string, c Client) error {
	return a.useLink(token, c, func(hash []byte) error { return a.Store.VerifyEmail(ctx, hash, a.now()) })
}

// Forgot mails a link to choose a new password with. An address without an account costs the same and gets the same answer:
// none. Errors: 422, mail.ErrNotConfigured, 429.
func (a *Accounts) Forgot(ctx context.Context, email string, c Client) error {
	if !a.Mailer.Configured() {
		return mail.ErrNotConfigured
	}
	email, err := NormalizeEmail(email)
	if err != nil {
		return err
	}
	for subject, pace := range map[string]Pace{"mail/" + Network(c.Address): paceNetwork, "mail/" + email: paceMail} {
		if err := a.Throttle.Attempt(subject, pace); err != nil {
			return err
		}
	}
	m, err := a.link(LinkReset, email)
	if err != nil {
		return err
	}
	return a.Store.SendLink(ctx, email, m)
}

// ResetPassword sets a new password by the token of a link, ends all sessions and tells the owner by mail. Errors: 422, 429.
func (a *Accounts) ResetPassword(ctx context.Context, token, password string, c Client) error {
	return a.useLink(token, c, func(hash []byte) error {
		d, err := a.Store.LinkOwner(ctx, hash, LinkReset, a.now())
		if err != nil {
			return err
		}
		if err := checkPassword("password", password, d.Name, d.Email); err != nil {
			return err
		}
		passwordHash, err := a.Passwords.Hash(ctx, password)
		if err != nil {
			return err
		}
		letters, err := a.letter(mail.Message{To: d.Email, Content: mail.PasswordChanged{At: a.now(), PortalURL: a.PublicURL}}, NoticeTTL)
		if err != nil {
			return err
		}
		err = a.Store.ResetPassword(ctx, hash, passwordHash, a.now(), letters...)
		if err == nil {
			a.Throttle.Forgive("login/" + d.Email)
		}
		a.forgetAll(d.ID)
		return err
	})
}

// useLink does something with the hash of a token. Tokens that are no good are counted against the network they come from.
func (a *Accounts) useLink(token string, c Client, use func(hash []byte) error) error {
	subject := "link/" + Network(c.Address)
	if err := a.Throttle.Attempt(subject, paceNetwork); err != nil {
		return err
	}
	hash, ok := secretHash(strings.TrimSpace(token))
	if !ok {
		return ErrLinkExpired
	}
	err := use(hash)
	if err == nil {
		a.Throttle.Refund(subject)
		return nil
	}
	return fmt.Errorf("use a link: %w", err)
}
