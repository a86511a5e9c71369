package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/testkit"
	"modelgate.internal/shared/wire"
)

// person registers a developer, confirms the address and puts prefix_session, prefix_id and prefix_email among the names.
func (s *stack) person(t *testing.T, n names, prefix, planID string, verified bool) {
	t.Helper()
	email := prefix + "-" + uuid.NewString() + "@example.com"
	session, _ := s.register(t, wire.RegisterRequest{Name: "Ada", Email: email, Password: "correct horse battery"})
	if _, err := s.store.ChangeDeveloper(t.Context(), email, account.Change{Plan: &planID, Verified: verified}, time.Now()); err != nil {
		t.Fatal(err)
	}
	n[prefix+"_session"], n[prefix+"_id"], n[prefix+"_email"] = session.AccessToken, session.Developer.ID, email
}

// roles are the members of a team, by role.
func roles() []string { return []string{"owner", "admin", "developer", "billing", "viewer"} }

// team makes an organization with a member of every role, an app, a key and an invite. Around it are a loner, an invited
// guest, somebody who is invited with an address not confirmed, and the owner of another organization, the rival.
func (s *stack) team(t *testing.T) names {
	t.Helper()
	n := names{"big": strings.Repeat("x", 300<<10), "none": uuid.NewString(), "fresh_email": uuid.NewString() + "@example.com"}
	for _, role := range roles() {
		s.person(t, n, role, map[bool]string{true: plan.Enterprise, false: plan.Free}[role == "owner"], true)
	}
	s.person(t, n, "rival", plan.Enterprise, true)
	s.person(t, n, "loner", plan.Free, true)
	s.person(t, n, "rich", plan.Enterprise, true)
	s.person(t, n, "guest", plan.Free, true)
	s.person(t, n, "hasty", plan.Free, false)
	n["part"] = n["guest_email"][len("guest-"):len("guest-01234567")]
	owner := n["owner_session"]
	made := must[wire.OrgDetail](t, s, "POST", "/dev/org", owner, wire.OrgRequest{Name: "Analytical Engines"})
	rivals := must[wire.OrgDetail](t, s, "POST", "/dev/org", n["rival_session"], wire.OrgRequest{Name: "Rivals"})
	n["org"], n["rival_org"] = made.OrgID, rivals.OrgID
	for _, role := range roles()[1:] {
		must[wire.OrgMember](t, s, "POST", "/dev/org/add-member", owner, wire.AddMemberRequest{DevID: n[role+"_id"], Role: role})
	}
	app := must[wire.App](t, s, "POST", "/dev/apps", owner, fmt.Sprintf(`{"name":"Bot","org_id":%q}`, made.OrgID))
	key := must[wire.NewKey](t, s, "POST", "/dev/apps/"+app.AppID+"/keys", owner, nil)
	n["app"], n["key"] = app.AppID, key.KeyID
	for _, name := range []string{"guest", "hasty", "viewer", "revoked"} {
		email, inviter := n[name+"_email"], owner
		if name == "viewer" { // who is a member of the one and invited by the other
			inviter = n["rival_session"]
		}
		if name == "revoked" {
			email = "revoked-" + uuid.NewString() + "@example.com"
		}
		sent := must[wire.InviteSent](t, s, "POST", "/dev/org/invite", inviter, wire.InviteRequest{Email: email, Role: "developer"})
		n[name+"_invite"] = sent.InviteID
	}
	must[wire.InviteRevoked](t, s, "DELETE", "/dev/org/invite/"+n["revoked_invite"], owner, nil)
	return n
}

// TestWireOrg holds the transcripts of organizations and of the audit log.
func TestWireOrg(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	testkit.Transcripts(t, "testdata/org", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, s.team(t)) })
}

// TestWireOrgWithoutMail: invites come as links, and the address of who accepts one cannot have been confirmed.
func TestWireOrgWithoutMail(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.api.Accounts.Mailer, s.api.Orgs.Mailer, s.api.Mailer = nil, nil, nil
	testkit.Transcripts(t, "testdata/orgnomail", func(t *testing.T, request []byte) []byte { return s.exchange(t, request, s.team(t)) })
}

// cell is an operation of the matrix.
type cell struct {
	operation string
	allowed   string // roles that may; the others get a 403
	rival     int    // what the owner of another organization gets who knows our ids; 404 unless it is their own they act on
	// request makes the path and the body. It makes what is used up, as the owner.
	request func(t *testing.T, s *stack, n names) (path string, body any)
}

const (
	everybody = "owner admin developer billing viewer"
	readers   = "owner admin developer viewer"
	makers    = "owner admin developer"
	managers  = "owner admin"
)

func fixed(path string, body any) func(*testing.T, *stack, names) (string, any) {
	return func(_ *testing.T, _ *stack, n names) (string, any) {
		for name, value := range n {
			path = strings.ReplaceAll(path, "{"+name+"}", value)
		}
		return path, body
	}
}

func onApp(suffix string, body any) func(*testing.T, *stack, names) (string, any) {
	return func(t *testing.T, s *stack, n names) (string, any) {
		app := must[wire.App](t, s, "POST", "/dev/apps", n["owner_session"], fmt.Sprintf(`{"name":"Bot","org_id":%q}`, n["org"]))
		return "/dev/apps/" + app.AppID + suffix, body
	}
}

func onKey(format string) func(*testing.T, *stack, names) (string, any) {
	return func(t *testing.T, s *stack, n names) (string, any) {
		app := must[wire.App](t, s, "POST", "/dev/apps", n["owner_session"], fmt.Sprintf(`{"name":"Bot","org_id":%q}`, n["org"]))
		key := must[wire.NewKey](t, s, "POST", "/dev/apps/"+app.AppID+"/keys", n["owner_session"], nil)
		return strings.NewReplacer("{app}", app.AppID, "{key}", key.KeyID).Replace(format), nil
	}
}

func onInvite(suffix string) func(*testing.T, *stack, names) (string, any) {
	return func(t *testing.T, s *stack, n names) (string, any) {
		sent := must[wire.InviteSent](t, s, "POST", "/dev/org/invite", n["owner_session"], wire.InviteRequest{Email: uuid.NewString() + "@example.com", Role: "viewer"})
		return "/dev/org/invite/" + sent.InviteID + suffix, nil
	}
}

func onMember(suffix string, body any) func(*testing.T, *stack, names) (string, any) {
	return func(t *testing.T, s *stack, n names) (string, any) {
		s.person(t, n, "extra", plan.Free, false)
		must[wire.OrgMember](t, s, "POST", "/dev/org/add-member", n["owner_session"], wire.AddMemberRequest{DevID: n["extra_id"], Role: "viewer"})
		return "/dev/org/member/" + n["extra_id"] + suffix, body
	}
}

func matrix() []cell {
	const ours = 404
	return []cell{
		{"getOrg", everybody, 200, fixed("/dev/org", nil)},
		{"renameOrg", managers, 200, fixed("/dev/org", `{"name":"Engines"}`)},
		{"searchDeveloper", managers, 200, fixed("/dev/org/search-developer?email=example", nil)},
		{"addMember", managers, 200, func(t *testing.T, s *stack, n names) (string, any) {
			s.person(t, n, "extra", plan.Free, false)
			return "/dev/org/add-member", wire.AddMemberRequest{DevID: n["extra_id"], Role: "viewer"}
		}},
		{"invite", managers, 200, func(*testing.T, *stack, names) (string, any) {
			return "/dev/org/invite", wire.InviteRequest{Email: uuid.NewString() + "@example.com", Role: "viewer"}
		}},
		{"revokeInvite", managers, ours, onInvite("")},
		{"resendInvite", managers, ours, onInvite("/resend")},
		{"removeMember", managers, ours, onMember("", nil)},
		{"changeRole", managers, ours, onMember("/role", `{"role":"billing"}`)},
		{"listAudit", managers, 200, fixed("/dev/audit?scope=organization", nil)},
		{"verifyAudit", managers, 200, fixed("/dev/audit/verify?scope=organization", nil)},
		{"createApp", makers, ours, func(_ *testing.T, _ *stack, n names) (string, any) {
			return "/dev/apps", fmt.Sprintf(`{"name":"Bot","org_id":%q}`, n["org"])
		}},
		{"getApp", readers, ours, fixed("/dev/apps/{app}", nil)},
		{"appUsage", readers, ours, fixed("/dev/apps/{app}/usage", nil)},
		{"listRequests", readers, ours, fixed("/dev/apps/{app}/requests", nil)},
		{"updateApp", makers, ours, fixed("/dev/apps/{app}", `{"name":"Rob"}`)},
		{"deleteApp", makers, ours, onApp("", nil)},
		{"createKey", makers, ours, onApp("/keys", nil)},
		{"revokeKey", makers, ours, onKey("/dev/apps/{app}/keys/{key}")},
		{"regenerateKey", makers, ours, onKey("/dev/apps/{app}/keys/{key}/regenerate")},
		{"keyForStream", makers, ours, onKey("/dev/playground/key-for-stream?app_id={app}&key_id={key}")},
	}
}

// TestWhatEveryRoleMayDo asks every operation as every role, as somebody without an organization and as the owner of
// another one. An operation on apps or organizations that is not in the matrix fails.
func TestWhatEveryRoleMayDo(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	n := s.team(t)
	methods := make(map[string]string)
	open := []string{"listApps", "orgEmailConfig", "orgTestEmail", "createOrg", "inviteInfo", "acceptInvite"} // bound to no role; below and in the transcripts
	for _, r := range s.api.Routes() {
		methods[r.OperationID] = r.Method
		about := strings.HasPrefix(r.Path, "/dev/org") || strings.HasPrefix(r.Path, "/dev/apps") || strings.HasPrefix(r.Path, "/dev/audit") || r.OperationID == "keyForStream"
		if about && !slices.Contains(open, r.OperationID) && !slices.ContainsFunc(matrix(), func(c cell) bool { return c.operation == r.OperationID }) {
			t.Errorf("%s is not in the matrix", r.OperationID)
		}
	}
	for _, c := range matrix() {
		for _, who := range append(roles(), "loner", "rival") {
			want := http.StatusForbidden
			switch {
			case who == "loner":
				want = http.StatusNotFound
			case who == "rival":
				want = c.rival
			case slices.Contains(strings.Fields(c.allowed), who):
				want = http.StatusOK
			}
			path, body := c.request(t, s, n)
			if w := s.do(t, methods[c.operation], path, n[who+"_session"], body); w.Code != want {
				t.Errorf("%s as %s: %d, want %d: %s", c.operation, who, w.Code, want, w.Body)
			}
		}
	}
	for _, who := range append(roles(), "loner", "rival") {
		list := must[wire.AppList](t, s, "GET", "/dev/apps", n[who+"_session"], nil)
		if sees := len(list.Apps) > 0; sees != slices.Contains(strings.Fields(readers), who) {
			t.Errorf("%s sees the apps: %v", who, sees)
		}
	}
}

// TestOwnersAreTheMatterOfOwners: an admin neither makes nor touches one.
func TestOwnersAreTheMatterOfOwners(t *testing.T) {
	s := newStack(t)
	n := s.team(t)
	admin := n["admin_session"]
	for name, w := range map[string]int{
		"add":     s.do(t, "POST", "/dev/org/add-member", admin, wire.AddMemberRequest{DevID: n["loner_id"], Role: "owner"}).Code,
		"invite":  s.do(t, "POST", "/dev/org/invite", admin, wire.InviteRequest{Email: n["fresh_email"], Role: "owner"}).Code,
		"promote": s.do(t, "PUT", "/dev/org/member/"+n["viewer_id"]+"/role", admin, wire.RoleRequest{Role: "owner"}).Code,
		"self":    s.do(t, "PUT", "/dev/org/member/"+n["admin_id"]+"/role", admin, wire.RoleRequest{Role: "owner"}).Code,
		"demote":  s.do(t, "PUT", "/dev/org/member/"+n["owner_id"]+"/role", admin, wire.RoleRequest{Role: "viewer"}).Code,
		"remove":  s.do(t, "DELETE", "/dev/org/member/"+n["owner_id"], admin, nil).Code,
	} {
		if w != http.StatusForbidden {
			t.Errorf("%s: %d", name, w)
		}
	}
	if w := s.do(t, "DELETE", "/dev/org/member/"+n["viewer_id"], n["viewer_session"], nil); w.Code != http.StatusOK {
		t.Errorf("a viewer leaves: %d %s", w.Code, w.Body)
	}
	if w := s.do(t, "GET", "/dev/apps/"+n["app"], n["viewer_session"], nil); w.Code != http.StatusNotFound {
		t.Errorf("and still sees the app: %d", w.Code)
	}
}
