package mail

import (
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/url"
	"strconv"
)

// What the server may be spoken to with.
const (
	TLSRequired = "required" // STARTTLS, or TLS from the first byte with smtps
	TLSNone     = "none"     // for a relay on the same machine
)

// Ports of SMTP (RFC 6409, RFC 8314).
const (
	portSubmission  = 587
	portSubmissions = 465
)

// Settings say where mail goes, as an operator writes it. The zero value means that there is no mail.
type Settings struct {
	SMTPURL  string // smtp://[user@]host[:587] or smtps://[user@]host[:465]
	Password string
	From     string // address, or Name <address>
	TLS      string // TLSRequired or TLSNone
}

// Server is an SMTP server and who mail is from. The zero value means that there is no mail.
type Server struct {
	host       string
	port       int
	user       string
	password   string
	startTLS   bool
	implicit   bool // TLS from the first byte
	from       mail.Address
	configured bool
}

// NewServer reads settings. Errors name the setting and never hold the password.
func NewServer(s Settings) (Server, error) {
	if s.SMTPURL == "" && s.From == "" && s.Password == "" {
		return Server{}, nil
	}
	if s.SMTPURL == "" || s.From == "" {
		return Server{}, errors.New("mail_smtp_url and mail_from belong together: set both, or none to go without mail")
	}
	u, err := url.Parse(s.SMTPURL)
	if err != nil || (u.Scheme != "smtp" && u.Scheme != "smtps") || u.Hostname() == "" || u.RawQuery != "" || (u.Path != "" && u.Path != "/") {
		return Server{}, errors.New("mail_smtp_url is not of the form smtp://user@host:587 or smtps://user@host:465")
	}
	if _, has := u.User.Password(); has {
		return Server{}, errors.New("mail_smtp_url holds a password: move it to mail_smtp_password")
	}
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return Server{}, fmt.Errorf("mail_from: %q is not an address like Modelgate <noreply@example.com>", s.From)
	}
	server := Server{host: u.Hostname(), port: portSubmission, user: u.User.Username(), password: s.Password, from: *from, configured: true}
	if server.implicit = u.Scheme == "smtps"; server.implicit {
		server.port = portSubmissions
	}
	if text := u.Port(); text != "" {
		if server.port, err = strconv.Atoi(text); err != nil {
			return Server{}, fmt.Errorf("mail_smtp_url: %q is no port", text)
		}
	}
	switch s.TLS {
	case TLSRequired:
		server.startTLS = !server.implicit
	case TLSNone:
		if server.implicit {
			return Server{}, errors.New("mail_tls is none, but mail_smtp_url begins with smtps")
		}
	default:
		return Server{}, fmt.Errorf("mail_tls: %q is neither %s nor %s", s.TLS, TLSRequired, TLSNone)
	}
	return server, server.checkLogin()
}

func (s Server) checkLogin() error {
	switch {
	case (s.user == "") != (s.password == ""):
		return errors.New("a user in mail_smtp_url and mail_smtp_password belong together")
	case s.password != "" && !s.startTLS && !s.implicit:
		return errors.New("mail_smtp_password would be sent in the clear: mail_tls must be required")
	}
	return nil
}

// String is where mail goes, for people.
func (s Server) String() string {
	if !s.configured {
		return "not configured"
	}
	return net.JoinHostPort(s.host, strconv.Itoa(s.port))
}
