package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/wire"
)

// changes make every operation that changes something, or reads a secret, succeed once. The path and the body may name the
// things of people and of team.
func changes() map[string]struct{ who, path, body string } {
	return map[string]struct{ who, path, body string }{
		"createApp":         {"", "/dev/apps", `{"name":"One more"}`},
		"updateApp":         {"", "/dev/apps/{app}", `{"name":"Other"}`},
		"deleteApp":         {"", "/dev/apps/{app}", ""},
		"createKey":         {"", "/dev/apps/{app}/keys", ""},
		"revokeKey":         {"", "/dev/apps/{app}/keys/{key}", ""},
		"regenerateKey":     {"", "/dev/apps/{app}/keys/{key}/regenerate", ""},
		"keyForStream":      {"", "/dev/playground/key-for-stream?app_id={app}&key_id={key}", ""},
		"createDarwinToken": {"", "/dev/darwin-tokens", `{"name":"n"}`},
		"revokeDarwinToken": {"", "/dev/darwin-tokens/{token}", ""},
		"changePassword":    {"", "/dev/auth/change-password", `{"current_password":"correct horse battery","new_password":"another long password"}`},
		"sendVerification":  {"", "/dev/auth/verify-email/send", ""},
		"deleteAccount":     {"", "/dev/account", `{"password":"correct horse battery"}`},
		"restoreAccount":    {"", "/dev/account/restore", ""},
		"endSession":        {"", "/dev/auth/sessions/{second_id}", ""},
		"endOtherSessions":  {"", "/dev/auth/sessions", ""},
		"logout":            {"second_", "/dev/auth/logout", ""},
		"beginTotp":         {"", "/dev/auth/totp", `{"password":"correct horse battery"}`},
		"confirmTotp":       {"pending_", "/dev/auth/totp/confirm", `{"code":"{pending_code}"}`},
		"disableTotp":       {"guarded_", "/dev/auth/totp/disable", `{"password":"correct horse battery","code":"{guarded_recovery}"}`},

		"createOrg":         {"rich_", "/dev/org", `{"name":"Mine"}`},
		"renameOrg":         {"owner_", "/dev/org", `{"name":"Other"}`},
		"addMember":         {"owner_", "/dev/org/add-member", `{"dev_id":"{loner_id}"}`},
		"invite":            {"owner_", "/dev/org/invite", `{"email":"{fresh_email}"}`},
		"resendInvite":      {"owner_", "/dev/org/invite/{guest_invite}/resend", ""},
		"revokeInvite":      {"owner_", "/dev/org/invite/{guest_invite}", ""},
		"removeMember":      {"owner_", "/dev/org/member/{viewer_id}", ""},
		"changeRole":        {"owner_", "/dev/org/member/{viewer_id}/role", `{"role":"admin"}`},
		"billingCheckout":   {"buyer_", "/dev/billing/checkout", `{"plan":"pro"}`},
		"billingPortal":     {"buyer_", "/dev/billing/portal", ""},
		"changePlan":        {"buyer_", "/dev/billing/subscription", `{"plan":"pro"}`},
		"keepApps":          {"buyer_", "/dev/billing/apps", `{"app_ids":[]}`},
		"setAlerts":         {"owner_", "/dev/billing/alerts", `{"thresholds":[50],"mail":true,"webhook_url":"https://example.com/"}`},
		"rotateAlertSecret": {"told_", "/dev/billing/alerts/secret", ""},
		"testAlert":         {"told_", "/dev/billing/alerts/test", ""},

		"acceptInvite": {"guest_", "/dev/org/accept-invite", `{"invite_id":"{guest_invite}"}`},
	}
}

// TestEveryChangeLeavesARecord walks the route table: what takes a session and changes something, and what reads a secret,
// must be in the audit log of the account or of the organization, with who, whence and through which session.
func TestEveryChangeLeavesARecord(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	ops, err := contract.Operations()
	if err != nil {
		t.Fatal(err)
	}
	bearer := make(map[string]bool)
	for _, op := range ops {
		bearer[op.ID] = slices.Contains(op.Security, "session")
	}
	const sendsMailNow = "orgTestEmail" // needs a mail server that takes it: the conformance run calls it
	for _, r := range s.api.Routes() {
		if !bearer[r.OperationID] || r.Method == http.MethodGet && r.OperationID != "keyForStream" || r.OperationID == sendsMailNow {
			continue
		}
		if strings.HasPrefix(r.OperationID, "playground") { // calls of the gateway, which records them as usage
			continue
		}
		t.Run(r.OperationID, func(t *testing.T) {
			c, ok := changes()[r.OperationID]
			if !ok {
				t.Fatal("it changes something: add it to changes, and s.record to its transaction in the store")
			}
			n := s.people(t)
			for name, value := range s.team(t) {
				if _, taken := n[name]; !taken {
					n[name] = value
				}
			}
			s.guarded(t, "{guarded_code}{pending_code}", n)
			if strings.HasPrefix(r.Path, "/dev/billing/") {
				n["buyer_session"] = s.customer(t, r.OperationID != "billingCheckout").token
			}
			n["second_session"] = must[wire.Session](t, s.stack, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: n["email"], Password: "correct horse battery"}).AccessToken
			for _, one := range must[wire.SessionList](t, s.stack, "GET", "/dev/auth/sessions", n["second_session"], nil).Sessions {
				if one.Current {
					n["second_id"] = one.SessionID
				}
			}
			login := func() string {
				return must[wire.Session](t, s.stack, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: n["email"], Password: "correct horse battery"}).AccessToken
			}
			if r.OperationID == "rotateAlertSecret" || r.OperationID == "testAlert" {
				s.person(t, n, "told", "free", true)
				must[wire.AlertSettings](t, s.stack, "PUT", "/dev/billing/alerts", n["told_session"], changes()["setAlerts"].body)
			}
			if r.OperationID == "restoreAccount" {
				must[wire.Account](t, s.stack, "DELETE", "/dev/account", n["session"], changes()["deleteAccount"].body)
				n["session"] = login()
			}
			path, body := c.path, c.body
			for name, value := range n {
				path, body = strings.ReplaceAll(path, "{"+name+"}", value), strings.ReplaceAll(body, "{"+name+"}", value)
			}
			began := time.Now().Truncate(time.Microsecond) // what the database keeps
			if w := s.do(t, r.Method, path, n[c.who+"session"], body); w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			reader := n[c.who+"session"]
			if r.OperationID == "deleteAccount" {
				reader = login()
			}
			if r.OperationID == "logout" {
				reader = n["session"]
			}
			found := slices.DeleteFunc(s.audited(t, reader, r.OperationID), func(one wire.AuditRecord) bool {
				return one.At.Before(began) // of a preparation by the same operation
			})
			if len(found) == 0 {
				t.Fatal("it left no record")
			}
			for _, one := range found {
				if one.Actor == nil || one.SessionID == nil || one.Address == nil || one.Target == "" || one.Before == nil && one.After == nil {
					t.Errorf("the record says too little: %+v", one)
				}
			}
		})
	}
}

// audited are the records of an operation in the logs of a developer and of the developer's organization.
func (s *stack) audited(t *testing.T, session, operation string) []wire.AuditRecord {
	t.Helper()
	found := must[wire.AuditPage](t, s, "GET", "/dev/audit?operation="+operation, session, nil).Records
	if w := s.do(t, "GET", "/dev/audit?scope=organization", session, nil); w.Code == http.StatusOK {
		found = append(found, must[wire.AuditPage](t, s, "GET", "/dev/audit?scope=organization&operation="+operation, session, nil).Records...)
	}
	return found
}

// TestNoSecretIsInTheAuditLog reads all that the transcripts' people left behind.
func TestNoSecretIsInTheAuditLog(t *testing.T) {
	s := newStack(t)
	n := s.people(t)
	for _, op := range []string{"regenerateKey", "keyForStream", "createDarwinToken", "beginTotp", "changePassword"} {
		c := changes()[op]
		path := strings.NewReplacer("{app}", n["app"], "{key}", n["key"]).Replace(c.path)
		method := map[bool]string{true: "GET", false: "POST"}[op == "keyForStream"]
		if w := s.do(t, method, path, n["session"], c.body); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", op, w.Code, w.Body)
		}
	}
	w := s.do(t, "GET", "/dev/audit?limit=1000", n["session"], nil)
	secret := regexp.MustCompile(`svc_(test|live|darwin)_[0-9A-Za-z]{51}|eyJ[\w-]+\.|correct horse|another long password|[A-Z2-7]{32}|"[\w-]{43}"`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "beginTotp") || secret.Match(w.Body.Bytes()) {
		t.Errorf("%d %s", w.Code, secret.Find(w.Body.Bytes()))
	}
}

// TestSignInsLeaveRecords: those who have no session yet are in the log too.
func TestSignInsLeaveRecords(t *testing.T) {
	s := newStack(t)
	n := s.people(t)
	s.mailed(t, n)
	must[wire.Session](t, s, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: n["email"], Password: "correct horse battery"})
	must[wire.EmailVerified](t, s, "POST", "/dev/auth/verify-email", "", wire.VerifyEmailRequest{Token: n["verify_token"]})
	must[wire.PasswordReset](t, s, "POST", "/dev/auth/reset-password", "", wire.ResetPasswordRequest{Token: n["reset_token"], Password: "another long password"})
	for range 5 {
		s.do(t, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: n["other_email"], Password: "wrong"})
	}
	session := must[wire.Session](t, s, "POST", "/dev/auth/login", "", wire.LoginRequest{Email: n["email"], Password: "another long password"}).AccessToken
	for operation, want := range map[string]int{"register": 2, "login": 2, "verifyEmail": 1, "resetPassword": 1} {
		if found := s.audited(t, session, operation); len(found) != want || *found[0].Actor != n["developer"] {
			t.Errorf("%s: %d records, want %d", operation, len(found), want)
		}
	}
	locked := s.audited(t, n["other_session"], "login")
	if len(locked) != 1 || locked[0].Actor != nil || locked[0].After == nil || string(*locked[0].After) != `{"locked":true}` {
		t.Errorf("a locked account: %+v", locked)
	}
}
