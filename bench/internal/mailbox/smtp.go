package mailbox

import (
	"io"
	"slices"

	"github.com/emersion/go-smtp"
)

// SMTP returns a server that puts every mail into b. The caller gives it a listener, and closes it.
func SMTP(b *Box) *smtp.Server {
	s := smtp.NewServer(backend{b})
	s.Domain = "mailbox.localhost"
	s.MaxMessageBytes, s.MaxRecipients, s.MaxLineLength = MailBytesMax, recipientsMax, lineBytesMax
	s.ReadTimeout, s.WriteTimeout = ioTimeout, ioTimeout
	return s
}

type backend struct{ box *Box }

func (b backend) NewSession(*smtp.Conn) (smtp.Session, error) { return &session{box: b.box}, nil }

// session is a conversation; go-smtp calls it from one goroutine.
type session struct {
	box  *Box
	from string
	to   []string
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	s.box.Put(s.from, slices.Clone(s.to), string(raw))
	return nil
}

func (s *session) Reset()      { s.from, s.to = "", nil }
func (*session) Logout() error { return nil }
