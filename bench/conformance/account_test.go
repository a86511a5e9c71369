package conformance

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"
)

// refreshOf is the refresh cookie that an answer sets.
func refreshOf(t *testing.T, a answer) string {
	t.Helper()
	for _, line := range a.header.Values("Set-Cookie") {
		if c, err := http.ParseSetCookie(line); err == nil && c.Name == "modelgate_refresh" && c.HttpOnly && c.SameSite == http.SameSiteStrictMode {
			return c.Value
		}
	}
	t.Fatalf("no refresh cookie in %v", a.header)
	return ""
}

// sessions is what somebody does with several devices.
func (k *caller) sessions(t *testing.T) {
	const login = `{"email":"sess@example.com","password":"a long enough password"}`
	first := k.want(t, 200, "register", "", "", `{"name":"Sess","email":"sess@example.com","password":"a long enough password"}`)
	cookie := refreshOf(t, first)
	renewed := k.want(t, 200, "refresh", "", cookie, "")
	if refreshOf(t, renewed) == cookie {
		t.Error("the refresh cookie is the old one")
	}
	k.want(t, 409, "refresh", "", cookie, "")
	session := field(t, renewed, "access_token")
	phone := field(t, k.want(t, 200, "login", "", "", login), "access_token")
	if list := k.want(t, 200, "listSessions", "", session, ""); strings.Count(list.body, `"session_id"`) != 2 {
		t.Errorf("two sessions are open, listed are %s", list.body)
	}
	k.want(t, 200, "endOtherSessions", "", session, "")
	k.want(t, 401, "me", "", phone, "")
	k.want(t, 404, "endSession", "/dev/auth/sessions/00000000-0000-4000-8000-000000000000", session, "")
	k.want(t, 403, "changePassword", "", session, `{"current_password":"wrong","new_password":"another long password"}`)
	k.want(t, 422, "changePassword", "", session, `{"current_password":"a long enough password","new_password":"short"}`)
	k.want(t, 200, "changePassword", "", session, `{"current_password":"a long enough password","new_password":"another long password"}`)
	k.want(t, 401, "login", "", "", login)
	phone = field(t, k.want(t, 200, "login", "", "", `{"email":"sess@example.com","password":"another long password"}`), "access_token")
	var list struct {
		Sessions []struct {
			ID      string `json:"session_id"`
			Current bool   `json:"current"`
		} `json:"sessions"`
	}
	if err := json.Unmarshal([]byte(k.want(t, 200, "listSessions", "", session, "").body), &list); err != nil {
		t.Fatal(err)
	}
	for _, s := range list.Sessions {
		if !s.Current {
			k.want(t, 200, "endSession", "/dev/auth/sessions/"+s.ID, session, "")
		}
	}
	k.want(t, 401, "me", "", phone, "")
	k.want(t, 200, "logout", "", session, "")
	k.want(t, 401, "me", "", session, "")
}

// mailed follows the links in the mails of an account.
func (k *caller) mailed(t *testing.T) {
	session := field(t, k.want(t, 200, "register", "", "", `{"name":"Mail","email":"mail@example.com","password":"a long enough password"}`), "access_token")
	k.want(t, 422, "verifyEmail", "", "", `{"token":"nonsense"}`)
	k.want(t, 200, "verifyEmail", "", "", `{"token":"`+k.mailedToken(t, "mail@example.com", "verify-email")+`"}`)
	if me := k.want(t, 200, "me", "", session, ""); !strings.Contains(me.body, `"email_verified":true`) {
		t.Errorf("after the address was confirmed: %s", me.body)
	}
	k.want(t, 409, "sendVerification", "", session, "")
	again := field(t, k.want(t, 200, "register", "", "", `{"name":"Again","email":"again@example.com","password":"a long enough password"}`), "access_token")
	k.want(t, 200, "sendVerification", "", again, "")
	k.want(t, 422, "forgotPassword", "", "", `{}`)
	k.want(t, 200, "forgotPassword", "", "", `{"email":"nobody-of-that-name@example.com"}`)
	k.want(t, 200, "forgotPassword", "", "", `{"email":"mail@example.com"}`)
	token := k.mailedToken(t, "mail@example.com", "reset-password")
	k.want(t, 422, "resetPassword", "", "", `{"token":"`+token+`","password":"short"}`)
	k.want(t, 200, "resetPassword", "", "", `{"token":"`+token+`","password":"another long password"}`)
	k.want(t, 401, "me", "", session, "")
	k.want(t, 200, "login", "", "", `{"email":"mail@example.com","password":"another long password"}`)
}

// removal exports an account, deletes it and takes that back.
func (k *caller) removal(t *testing.T) {
	const login = `{"email":"gone@example.com","password":"a long enough password"}`
	session := field(t, k.want(t, 200, "register", "", "", `{"name":"Gone","email":"gone@example.com","password":"a long enough password"}`), "access_token")
	app := field(t, k.want(t, 200, "createApp", "", session, `{"name":"Bot"}`), "app_id")
	key := field(t, k.want(t, 200, "createKey", "/dev/apps/"+app+"/keys", session, ""), "key")
	file := k.want(t, 200, "exportAccount", "", session, "")
	if !strings.Contains(file.body, app) || strings.Contains(file.body, key) || !strings.HasPrefix(file.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("exported: %v %s", file.header, file.body)
	}
	k.want(t, 409, "restoreAccount", "", session, "")
	k.want(t, 403, "deleteAccount", "", session, `{}`)
	k.want(t, 403, "deleteAccount", "", session, `{"password":"wrong"}`)
	k.want(t, 422, "deleteAccount", "", session, `{"password":5}`)
	k.want(t, 200, "deleteAccount", "", session, `{"password":"a long enough password"}`)
	k.want(t, 401, "getAccount", "", session, "")
	session = field(t, k.want(t, 200, "login", "", "", login), "access_token")
	if a := k.want(t, 200, "getAccount", "", session, ""); strings.Contains(a.body, `"delete_at":null`) {
		t.Errorf("of an account that is going to be deleted: %s", a.body)
	}
	if a := k.want(t, 200, "restoreAccount", "", session, ""); !strings.Contains(a.body, `"delete_at":null`) {
		t.Errorf("of a restored account: %s", a.body)
	}
}

// google is not configured in the stack.
func (k *caller) google(t *testing.T) {
	k.want(t, 503, "loginWithGoogle", "", "", `{"credential":"a.b.c"}`)
	k.want(t, 422, "loginWithGoogle", "", "", `{"credential":""}`)
}

// secondFactor turns a second factor on, signs in with it and turns it off.
func (k *caller) secondFactor(t *testing.T) {
	const login = `{"email":"totp@example.com","password":"a long enough password"}`
	session := field(t, k.want(t, 200, "register", "", "", `{"name":"Totp","email":"totp@example.com","password":"a long enough password"}`), "access_token")
	k.want(t, 200, "totpState", "", session, "")
	k.want(t, 409, "confirmTotp", "", session, `{"code":"123456"}`)
	k.want(t, 403, "beginTotp", "", session, `{"password":"wrong"}`)
	secret := field(t, k.want(t, 200, "beginTotp", "", session, `{"password":"a long enough password"}`), "secret")
	k.want(t, 403, "confirmTotp", "", session, `{"code":"0000000"}`)
	now := time.Now()
	on := k.want(t, 200, "confirmTotp", "", session, `{"code":"`+totp(t, secret, now)+`"}`)
	challenge := field(t, k.want(t, 202, "login", "", "", login), "challenge")
	k.want(t, 401, "me", "", challenge, "")
	k.want(t, 403, "loginTotp", "", "", `{"challenge":"`+challenge+`","code":"`+totp(t, secret, now)+`"}`)
	k.want(t, 200, "loginTotp", "", "", `{"challenge":"`+challenge+`","code":"`+totp(t, secret, now.Add(30*time.Second))+`"}`)
	recovery := regexp.MustCompile(`[a-z2-7]{4}(-[a-z2-7]{4}){3}`).FindString(on.body)
	k.want(t, 200, "disableTotp", "", session, `{"password":"a long enough password","code":"`+recovery+`"}`)
	k.want(t, 200, "login", "", "", login)
}

// totp is what an authenticator app shows (RFC 6238).
func totp(t *testing.T, secret string, at time.Time) string {
	t.Helper()
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha1.New, key)
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(at.Unix()/30)))
	sum := mac.Sum(nil)
	return fmt.Sprintf("%06d", binary.BigEndian.Uint32(sum[sum[19]&15:])&0x7fffffff%1_000_000)
}

// mailedToken waits for the mail with a link to a page of the portal and returns the token of the link. The demand is far below the
// bound, which is for a busy machine.
func (k *caller) mailedToken(t *testing.T, to, page string) string {
	t.Helper()
	link := regexp.MustCompile(`/dev/#/` + page + `\?token=([\w-]+)`)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), "GET", k.in.MailboxURL+"/api/messages?to="+to, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		var mails []struct{ Text string }
		if err := json.Unmarshal(text, &mails); err != nil {
			t.Fatal(err)
		}
		for _, m := range mails {
			if found := link.FindStringSubmatch(m.Text); found != nil {
				return found[1]
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("no mail to %s with a link to %s among %s", to, page, text)
		}
	}
}
