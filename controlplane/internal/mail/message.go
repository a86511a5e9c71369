package mail

import (
	"bytes"
	"embed"
	"fmt"
	htmltemplate "html/template"
	"strings"
	texttemplate "text/template"
	"time"
	"unicode"
)

// Message is a mail to one address.
type Message struct {
	To      string // an address as it is stored: local@domain
	Content Content
}

// Content is what a mail says: one of the types below.
type Content interface{ template() string }

// Verify asks to confirm an address.
type Verify struct {
	Link    string
	Expires time.Time
}

// Reset lets somebody choose a new password.
type Reset struct {
	Link    string
	Expires time.Time
}

// PasswordChanged tells that the password is a new one.
type PasswordChanged struct {
	At        time.Time
	PortalURL string
}

// Invite asks somebody into an organization.
type Invite struct {
	Organization string
	Inviter      string // who invites, by name
	Role         string
	Link         string
	Expires      time.Time
}

// Test shows that mail works.
type Test struct{ PortalURL string }

// AccountDeletion tells that an account is going to be deleted, and how to keep it.
type AccountDeletion struct {
	DeleteAt  time.Time
	PortalURL string
}

// UsageAlert tells that an account has used a share of its day quota.
type UsageAlert struct {
	Name         string // of the developer or the organization
	Organization bool
	Threshold    int64     // percent
	Calls, Limit int64     // of the day
	Resets       time.Time // when the count begins anew
	PortalURL    string
}

func (Verify) template() string          { return "verify" }
func (Reset) template() string           { return "reset" }
func (PasswordChanged) template() string { return "password-changed" }
func (Invite) template() string          { return "invite" }
func (Test) template() string            { return "test" }
func (AccountDeletion) template() string { return "account-deletion" }
func (UsageAlert) template() string      { return "usage-alert" }

//go:embed templates
var templateFiles embed.FS

// rendered is a mail without its addresses, as it is sealed.
type rendered struct {
	Subject string `json:"subject"`
	Text    string `json:"text"`
	HTML    string `json:"html"`
}

// templates are the embedded templates: NAME.txt, whose first line is the subject, and NAME.html, which fills layout.html.
type templates struct {
	text *texttemplate.Template
	html *htmltemplate.Template
}

func parseTemplates() (templates, error) {
	functions := map[string]any{"time": func(t time.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }}
	text, err := texttemplate.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.txt")
	if err != nil {
		return templates{}, fmt.Errorf("read the text of mails: %w", err)
	}
	html, err := htmltemplate.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html")
	if err != nil {
		return templates{}, fmt.Errorf("read the pages of mails: %w", err)
	}
	return templates{text, html}, nil
}

func (t templates) render(c Content) (rendered, error) {
	var text, inner, page bytes.Buffer
	name := c.template()
	if err := t.text.ExecuteTemplate(&text, name+".txt", c); err != nil {
		return rendered{}, fmt.Errorf("write the mail %s: %w", name, err)
	}
	if err := t.html.ExecuteTemplate(&inner, name+".html", c); err != nil {
		return rendered{}, fmt.Errorf("write the mail %s: %w", name, err)
	}
	subject, body, _ := strings.Cut(text.String(), "\n")
	r := rendered{Subject: oneLine(subject), Text: strings.TrimLeft(body, "\n")}
	layout := map[string]any{"Subject": r.Subject, "Body": htmltemplate.HTML(inner.String())} //nolint:gosec // made by html/template above
	if err := t.html.ExecuteTemplate(&page, "layout.html", layout); err != nil {
		return rendered{}, fmt.Errorf("write the mail %s: %w", name, err)
	}
	r.HTML = page.String()
	return r, nil
}

// oneLine keeps what a developer wrote from becoming a header of its own.
func oneLine(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))
}
