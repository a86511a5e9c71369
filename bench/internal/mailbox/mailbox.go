package mailbox

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Bounds of the mailbox.
const (
	Keep          = 500     // mails; the oldest is forgotten
	MailBytesMax  = 1 << 20 // of one mail
	recipientsMax = 50
	lineBytesMax  = 16 << 10
	ioTimeout     = time.Minute
)

// Message is a mail that arrived.
type Message struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	From    string    `json:"from"` // of the envelope, as is To
	To      []string  `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	HTML    string    `json:"html"`
	Raw     string    `json:"raw"`
}

// Box keeps what arrived.
type Box struct {
	mu       sync.Mutex
	count    int
	messages []Message
}

// Put keeps a mail.
func (b *Box) Put(from string, to []string, raw string) {
	m := parse(raw)
	m.From, m.To, m.At = from, to, time.Now().UTC()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	m.ID = strconv.Itoa(b.count)
	b.messages = append(b.messages, m)
	if over := len(b.messages) - Keep; over > 0 {
		b.messages = slices.Delete(b.messages, 0, over)
	}
}

// Messages returns the mails to an address, or all when it is empty, oldest first.
func (b *Box) Messages(to string) []Message {
	b.mu.Lock()
	defer b.mu.Unlock()
	found := []Message{}
	for _, m := range b.messages {
		if to == "" || slices.ContainsFunc(m.To, func(one string) bool { return strings.EqualFold(one, to) }) {
			found = append(found, m)
		}
	}
	return found
}

// Message returns the mail with the id.
func (b *Box) Message(id string) (Message, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.messages, func(m Message) bool { return m.ID == id })
	if i < 0 {
		return Message{}, false
	}
	return b.messages[i], true
}

// Clear forgets all mails.
func (b *Box) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.messages = nil
}

// parse finds subject, text and HTML in a mail; what it does not understand is left to Raw.
func parse(raw string) Message {
	m := Message{Raw: raw}
	parsed, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		return m
	}
	m.Subject = parsed.Header.Get("Subject")
	if decoded, err := new(mime.WordDecoder).DecodeHeader(m.Subject); err == nil {
		m.Subject = decoded
	}
	m.read(parsed.Header.Get("Content-Type"), parsed.Header.Get("Content-Transfer-Encoding"), parsed.Body, 0)
	return m
}

// read takes a part, and the parts in it.
func (m *Message) read(contentType, encoding string, body io.Reader, depth int) {
	const depthMax = 5
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil {
		media = "text/plain"
	}
	if strings.HasPrefix(media, "multipart/") && depth < depthMax {
		for r := multipart.NewReader(body, params["boundary"]); ; {
			p, err := r.NextRawPart()
			if err != nil {
				return
			}
			m.read(p.Header.Get("Content-Type"), p.Header.Get("Content-Transfer-Encoding"), p, depth+1)
		}
	}
	if strings.EqualFold(encoding, "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	switch {
	case err != nil:
	case media == "text/plain" && m.Text == "":
		m.Text = strings.ReplaceAll(string(text), "\r\n", "\n")
	case media == "text/html" && m.HTML == "":
		m.HTML = string(text)
	}
}
