package mailbox_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/smtp"
	"strings"
	"testing"

	"modelgate.internal/bench/internal/mailbox"
)

const twoForms = "From: a@example.com\r\nTo: b@example.com\r\nSubject: =?UTF-8?q?Gr=C3=BC=C3=9Fe?=\r\nMIME-Version: 1.0\r\n" +
	"Content-Type: multipart/alternative; boundary=X\r\n\r\n" +
	"--X\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nopen https://portal.example/#t=3D1 now\r\n" +
	"--X\r\nContent-Type: text/html; charset=UTF-8\r\n\r\n<p>hello<script>alert(1)</script></p>\r\n--X--\r\n"

// start runs a mailbox and returns the addresses of its servers.
func start(t *testing.T) (mails, pages string) {
	t.Helper()
	box := &mailbox.Box{}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := mailbox.SMTP(box)
	go s.Serve(l)
	t.Cleanup(func() { _ = s.Close() })
	web := httptest.NewServer(mailbox.Pages(box))
	t.Cleanup(web.Close)
	return l.Addr().String(), web.URL
}

func get(t *testing.T, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestMailsAreShownToPeopleAndTests(t *testing.T) {
	mails, pages := start(t)
	for _, m := range []struct{ to, text string }{{"b@example.com", twoForms}, {"c@example.com", "no header at all"}} {
		if err := smtp.SendMail(mails, nil, "a@example.com", []string{m.to}, []byte(m.text)); err != nil {
			t.Fatal(err)
		}
	}
	_, text := get(t, pages+"/api/messages?to=B@example.com")
	var got []mailbox.Message
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 1 {
		t.Fatalf("%v %s", err, text)
	}
	if m := got[0]; m.Subject != "Grüße" || m.Text != "open https://portal.example/#t=1 now" || !strings.Contains(m.HTML, "<p>hello") {
		t.Errorf("%+v", m)
	}
	for path, want := range map[string]string{
		"/": "Grüße", "/messages/1": `<a href="https://portal.example/#t=1">`, "/messages/2": "no header at all", "/health": "ok",
	} {
		if _, page := get(t, pages+path); !strings.Contains(page, want) {
			t.Errorf("%s lacks %q:\n%s", path, want, page)
		}
	}
	for _, path := range []string{"/", "/messages/1"} {
		if _, page := get(t, pages+path); !strings.Contains(page, "Development mailbox") || strings.Contains(page, "<script>alert") {
			t.Errorf("%s is not labelled, or runs what a mail brings:\n%s", path, page)
		}
	}
	if res, _ := get(t, pages+"/messages/1/html"); !strings.Contains(res.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Error("the HTML of a mail is not in a sandbox")
	}
	if res, _ := get(t, pages+"/messages/99"); res.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown mail: %s", res.Status)
	}
}

func TestOldMailsAreForgotten(t *testing.T) {
	box := &mailbox.Box{}
	for range mailbox.Keep + 10 {
		box.Put("a@example.com", []string{"b@example.com"}, "x")
	}
	if got := box.Messages(""); len(got) != mailbox.Keep || got[0].ID != "11" {
		t.Errorf("%d mails, the oldest is %s", len(got), got[0].ID)
	}
	box.Clear()
	if len(box.Messages("")) != 0 {
		t.Error("cleared, but not empty")
	}
}
