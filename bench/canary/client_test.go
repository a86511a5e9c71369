package canary

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/stack"
)

// callWait bounds one call.
const callWait = 30 * time.Second

// heard is an answer with what it was there to hand out.
type heard struct {
	call    string
	text    []byte // headers and body
	allowed []string
}

// caller goes through the interface, plants secrets and keeps the answers.
type caller struct {
	in      stack.Info
	planted canaries
	heard   []heard
}

// plant takes a value for a secret from now on.
func (c *caller) plant(name, value string) string {
	if len(value) >= 6 {
		c.planted[value] = name
	}
	return value
}

// call makes a request to an address and wants a status. Of the answer the named fields are secrets that it is there for; the
// refresh cookie always is.
func (c *caller) call(t *testing.T, status int, method, address, credential, body string, secrets ...string) map[string]any {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if credential != "" {
		req.Header.Set("Authorization", "Bearer "+credential)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	call := method + " " + strings.SplitN(strings.TrimPrefix(address, "http://"), "?", 2)[0]
	if res.StatusCode != status {
		t.Errorf("%s: status %d, want %d: %.300s", call, res.StatusCode, status, text)
	}
	h := heard{call: call, text: text}
	for name, values := range res.Header {
		h.text = fmt.Appendf(h.text, "\n%s: %s", name, strings.Join(values, ", "))
	}
	for _, cookie := range res.Cookies() {
		if cookie.Value != "" {
			h.allowed = append(h.allowed, c.plant("refresh cookie", cookie.Value))
		}
	}
	object := map[string]any{}
	_ = json.Unmarshal(text, &object) // not every answer is one
	for _, name := range secrets {
		switch value := object[name].(type) {
		case string:
			h.allowed = append(h.allowed, c.plant(name+" of "+call, value))
		case []any:
			for _, one := range value {
				h.allowed = append(h.allowed, c.plant(name+" of "+call, fmt.Sprint(one)))
			}
		default:
			t.Errorf("%s: the answer has no %s: %.300s", call, name, text)
		}
	}
	c.heard = append(c.heard, h)
	return object
}

// portal calls the control plane.
func (c *caller) portal(t *testing.T, status int, method, path, session, body string, secrets ...string) map[string]any {
	t.Helper()
	return c.call(t, status, method, c.in.PortalURL+path, session, body, secrets...)
}

// text is a field of an answer.
func text(t *testing.T, answer map[string]any, name string) string {
	t.Helper()
	value, ok := answer[name].(string)
	if !ok {
		t.Fatalf("no %s in %v", name, answer)
	}
	return value
}

// mailed waits for the link that leads to a page and returns its token.
func (c *caller) mailed(t *testing.T, to, page string) string {
	t.Helper()
	link := regexp.MustCompile(`/dev/#/` + page + `\?token=([\w-]+)`)
	for deadline := time.Now().Add(callWait); ; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", c.in.MailboxURL+"/api/messages?to="+to, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if m := link.FindSubmatch(body); err == nil && m != nil {
			return c.plant(page+" link", string(m[1]))
		}
		if time.Now().After(deadline) {
			t.Fatalf("no %s link for %s: %v", page, to, err)
		}
	}
}
