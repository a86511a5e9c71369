package mail_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net"
	netmail "net/mail"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/secret"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/apierr"
)

// server is an SMTP server that keeps what it gets, or says no.
type server struct {
	address string
	mu      sync.Mutex
	got     []string
	refuse  *smtp.SMTPError
}

func (s *server) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{s}, nil }

func (s *server) mails() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.got...)
}

func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = nil
}

func (s *server) say(e *smtp.SMTPError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = e
}

type session struct{ s *server }

func (*session) Reset()                               {}
func (*session) Logout() error                        { return nil }
func (*session) Mail(string, *smtp.MailOptions) error { return nil }

func (x *session) Rcpt(string, *smtp.RcptOptions) error {
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	if x.s.refuse != nil {
		return x.s.refuse
	}
	return nil
}

func (x *session) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	x.s.got = append(x.s.got, string(text))
	return err
}

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: l.Addr().String()}
	srv := smtp.NewServer(s)
	srv.Domain = "localhost"
	go srv.Serve(l)
	t.Cleanup(func() { _ = srv.Close() })
	return s
}

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// office is everything that mail is made of.
type office struct {
	*server
	clock  *clock
	url    string // of the database
	store  *store.Store
	mailer *mail.Mailer
	outbox *mail.Outbox
}

func newMailer(t *testing.T, s mail.Settings, now func() time.Time) *mail.Mailer {
	t.Helper()
	to, err := mail.NewServer(s)
	if err != nil {
		t.Fatal(err)
	}
	vault, err := secret.NewVault([][]byte{make([]byte, secret.KeyBytes)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := mail.New(to, vault, now)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func newOffice(t *testing.T) *office {
	t.Helper()
	url := storetest.Database(t)
	o := &office{server: newServer(t), clock: &clock{at: time.Now().UTC().Truncate(time.Second)}, url: url, store: storetest.Open(t, url)}
	o.mailer = newMailer(t, mail.Settings{
		SMTPURL: "smtp://" + o.address, From: "Modelgate <noreply@modelgate.example>", TLS: mail.TLSNone,
	}, o.clock.now)
	o.outbox = newOutbox(t, o)
	return o
}

func newOutbox(t *testing.T, o *office) *mail.Outbox {
	t.Helper()
	outbox, err := mail.NewOutbox(o.mailer, o.store, slog.New(slog.DiscardHandler), prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return outbox
}

// post queues a letter that asks to confirm an address.
func (o *office) post(t *testing.T, link string) mail.Letter {
	t.Helper()
	expires := o.clock.now().Add(24 * time.Hour)
	l, err := o.mailer.Letter(mail.Message{To: "ada@example.com", Content: mail.Verify{Link: link, Expires: expires}}, expires)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.store.QueueMail(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	return l
}

func (o *office) work(t *testing.T) (waiting, dead int64) {
	t.Helper()
	if err := o.outbox.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting, dead, err := o.store.CountMail(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return waiting, dead
}

// parts are the plain and the HTML form of a mail.
func parts(t *testing.T, text string) (header netmail.Header, plain, html string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	media, params, err := mime.ParseMediaType(m.Header.Get("Content-Type"))
	if err != nil || media != "multipart/alternative" {
		t.Fatalf("%s, %v", media, err)
	}
	for r := multipart.NewReader(m.Body, params["boundary"]); ; {
		p, err := r.NextRawPart()
		if err != nil {
			return m.Header, plain, html
		}
		body, err := io.ReadAll(quotedprintable.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(p.Header.Get("Content-Type"), "text/html") {
			html = string(body)
		} else {
			plain = string(body)
		}
	}
}

func TestLetterArrivesOnceInBothForms(t *testing.T) {
	o := newOffice(t)
	l := o.post(t, "https://portal.example/dev/#verify=abc")
	if bytes.Contains(l.Sealed.Ciphertext, []byte("verify=abc")) {
		t.Error("the link lies open in the outbox")
	}
	for range 2 {
		if waiting, dead := o.work(t); waiting != 0 || dead != 0 {
			t.Fatalf("%d wait, %d dead", waiting, dead)
		}
	}
	if len(o.mails()) != 1 {
		t.Fatalf("%d mails", len(o.mails()))
	}
	header, plain, html := parts(t, o.mails()[0])
	if header.Get("Message-Id") != "<"+l.ID+"@modelgate.example>" || header.Get("To") != "<ada@example.com>" ||
		header.Get("From") != `"Modelgate" <noreply@modelgate.example>` || header.Get("Subject") != "Confirm your e-mail address" {
		t.Errorf("header %v", header)
	}
	for _, form := range []string{plain, html} {
		if !strings.Contains(form, "https://portal.example/dev/#verify=abc") {
			t.Errorf("no link in %s", form)
		}
	}
}

func TestLetterWaitsForTheServer(t *testing.T) {
	o := newOffice(t)
	o.post(t, "x")
	o.say(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "come back later"})
	for attempt := range 3 {
		if waiting, dead := o.work(t); waiting != 1 || dead != 0 {
			t.Fatalf("attempt %d: %d wait, %d dead", attempt, waiting, dead)
		}
		o.clock.move(mail.BackoffMin << attempt)
	}
	o.say(nil)
	if waiting, _ := o.work(t); waiting != 0 || len(o.mails()) != 1 {
		t.Errorf("%d wait, %d arrived", waiting, len(o.mails()))
	}
}

func TestRefusedLetterIsDeadAndEmpty(t *testing.T) {
	o := newOffice(t)
	l := o.post(t, "x")
	o.say(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "nobody of that name"})
	if waiting, dead := o.work(t); waiting != 0 || dead != 1 {
		t.Fatalf("%d wait, %d dead", waiting, dead)
	}
	list, err := o.store.DeadMail(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != l.ID || !strings.Contains(list[0].Reason, "nobody of that name") {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestLetterIsGivenUpInTheEnd(t *testing.T) {
	o := newOffice(t)
	o.post(t, "x")
	o.say(&smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "come back later"})
	for range mail.AttemptsMax {
		o.work(t)
		o.clock.move(mail.BackoffMax)
	}
	if waiting, dead := o.work(t); waiting != 0 || dead != 1 || len(o.mails()) != 0 {
		t.Errorf("%d wait, %d dead, %d arrived", waiting, dead, len(o.mails()))
	}
}

func TestExpiredLetterIsNotSent(t *testing.T) {
	o := newOffice(t)
	o.post(t, "x")
	o.clock.move(25 * time.Hour)
	if _, dead := o.work(t); dead != 1 || len(o.mails()) != 0 {
		t.Errorf("%d dead, %d arrived", dead, len(o.mails()))
	}
	decoy, err := o.mailer.Letter(mail.Message{To: "nobody@example.com", Content: mail.Test{}}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.store.QueueMail(t.Context(), decoy); err != nil {
		t.Fatal(err)
	}
	if waiting, dead := o.work(t); waiting != 0 || dead != 1 || len(o.mails()) != 0 {
		t.Errorf("a letter that is never sent: %d wait, %d dead, %d arrived", waiting, dead, len(o.mails()))
	}
}

func TestWorkersShareTheOutbox(t *testing.T) {
	o := newOffice(t)
	const letters = 50
	for i := range letters {
		o.post(t, fmt.Sprint("link-", i, "-"))
	}
	var all sync.WaitGroup
	for range 4 {
		outbox := newOutbox(t, o)
		all.Go(func() {
			if err := outbox.Round(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	o.work(t) // a claim that collided left its letters
	seen := map[string]bool{}
	for _, m := range o.mails() {
		header, _, _ := parts(t, m)
		seen[header.Get("Message-Id")] = true
	}
	if len(o.mails()) != letters || len(seen) != letters {
		t.Errorf("%d mails arrived, %d different ones, want %d", len(o.mails()), len(seen), letters)
	}
}

func TestSendSaysWhatHappened(t *testing.T) {
	o := newOffice(t)
	msg := mail.Message{To: "ada@example.com", Content: mail.Test{PortalURL: "https://portal.example"}}
	if err := o.mailer.Send(t.Context(), msg); err != nil || len(o.mails()) != 1 {
		t.Errorf("%v, %d arrived", err, len(o.mails()))
	}
	o.say(&smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no"})
	if err := o.mailer.Send(t.Context(), msg); apierr.From(err).Kind != apierr.BadGateway {
		t.Errorf("refused: %v", err)
	}
	none := newMailer(t, mail.Settings{TLS: mail.TLSRequired}, time.Now)
	if err := none.Send(t.Context(), msg); apierr.From(err).Kind != apierr.Unavailable || none.Configured() {
		t.Errorf("not configured: %v", err)
	}
}

func TestNothingIsSentInTheClearUnlessAllowed(t *testing.T) {
	o := newOffice(t)
	strict := newMailer(t, mail.Settings{SMTPURL: "smtp://" + o.address, From: "noreply@modelgate.example", TLS: mail.TLSRequired}, o.clock.now)
	err := strict.Send(t.Context(), mail.Message{To: "ada@example.com", Content: mail.Test{}})
	if apierr.From(err).Kind != apierr.BadGateway || len(o.mails()) != 0 {
		t.Errorf("%v, %d arrived", err, len(o.mails()))
	}
}

func TestWhatPeopleWroteStaysText(t *testing.T) {
	o := newOffice(t)
	invite := mail.Invite{
		Organization: "Evil\r\nBcc: everyone@example.com <script>", Inviter: "<b>Eve</b>", Role: "viewer", Link: "https://portal.example/i", Expires: o.clock.now(),
	}
	if err := o.mailer.Send(t.Context(), mail.Message{To: "ada@example.com", Content: invite}); err != nil {
		t.Fatal(err)
	}
	header, _, html := parts(t, o.mails()[0])
	if header.Get("Bcc") != "" || strings.Contains(html, "<script>") || strings.Contains(html, "<b>Eve") {
		t.Errorf("header %v\n%s", header, html)
	}
}

func TestEveryTemplateIsWritten(t *testing.T) {
	o := newOffice(t)
	at := time.Date(2026, 3, 4, 5, 6, 0, 0, time.UTC)
	contents := []mail.Content{
		mail.Verify{Link: "LINK", Expires: at},
		mail.Reset{Link: "LINK", Expires: at},
		mail.PasswordChanged{At: at, PortalURL: "LINK"},
		mail.Invite{Organization: "Acme", Inviter: "Ada", Role: "admin", Link: "LINK", Expires: at},
		mail.Test{PortalURL: "LINK"},
		mail.AccountDeletion{DeleteAt: at, PortalURL: "LINK"},
		mail.UsageAlert{Name: "Ada", Threshold: 80, Calls: 81, Limit: 100, Resets: at, PortalURL: "LINK"},
	}
	for i, c := range contents {
		if err := o.mailer.Send(t.Context(), mail.Message{To: "ada@example.com", Content: c}); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
		header, plain, html := parts(t, o.mails()[i])
		for _, form := range []string{plain, html} {
			_, isTest := c.(mail.Test)
			if header.Get("Subject") == "" || !strings.Contains(form, "LINK") || !isTest && !strings.Contains(form, "4 March 2026 at 05:06 UTC") {
				t.Errorf("%T: %v\n%s", c, header, form)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	const from = "Modelgate <noreply@example.com>"
	for name, c := range map[string]struct {
		settings mail.Settings
		want     string // where mail goes, or a part of the error
	}{
		"nothing":         {mail.Settings{TLS: mail.TLSRequired}, "not configured"},
		"submission":      {mail.Settings{SMTPURL: "smtp://u@mx.example", Password: "p", From: from, TLS: mail.TLSRequired}, "mx.example:587"},
		"submissions":     {mail.Settings{SMTPURL: "smtps://u@mx.example", Password: "p", From: from, TLS: mail.TLSRequired}, "mx.example:465"},
		"relay":           {mail.Settings{SMTPURL: "smtp://127.0.0.1:25", From: from, TLS: mail.TLSNone}, "127.0.0.1:25"},
		"no sender":       {mail.Settings{SMTPURL: "smtp://mx.example", TLS: mail.TLSRequired}, "mail_from"},
		"no server":       {mail.Settings{From: from, TLS: mail.TLSRequired}, "mail_smtp_url"},
		"bad sender":      {mail.Settings{SMTPURL: "smtp://mx.example", From: "nobody", TLS: mail.TLSRequired}, "mail_from"},
		"bad scheme":      {mail.Settings{SMTPURL: "http://mx.example", From: from, TLS: mail.TLSRequired}, "mail_smtp_url"},
		"password in URL": {mail.Settings{SMTPURL: "smtp://u:p@mx.example", From: from, TLS: mail.TLSRequired}, "mail_smtp_password"},
		"no password":     {mail.Settings{SMTPURL: "smtp://u@mx.example", From: from, TLS: mail.TLSRequired}, "belong together"},
		"clear password":  {mail.Settings{SMTPURL: "smtp://u@mx.example", Password: "p", From: from, TLS: mail.TLSNone}, "in the clear"},
		"bad policy":      {mail.Settings{SMTPURL: "smtp://mx.example", From: from, TLS: "maybe"}, "mail_tls"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := mail.NewServer(c.settings)
			got := s.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
