package conformance

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// member registers a developer with a confirmed address; a plan is set by the operator's command.
func (k *caller) member(t *testing.T, name, plan string) (session, id string) {
	t.Helper()
	body := fmt.Sprintf(`{"name":"Member","email":"%s@example.com","password":"a long enough password"}`, name)
	made := k.want(t, 200, "register", "", "", body)
	cmd := exec.CommandContext(t.Context(), filepath.Join(k.bin, "controlplane"), "-config", k.in.ControlplaneConfig,
		"account", "set", name+"@example.com", "--plan", plan, "--verified")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("account set: %v\n%s", err, out)
	}
	return field(t, made, "access_token"), field(t, made, "developer", "id")
}

// organization is what an owner, those who are invited and those who are not do.
func (k *caller) organization(t *testing.T) {
	owner, ownerID := k.member(t, "owner", "enterprise")
	added, addedID := k.member(t, "added", "free")
	guest, _ := k.member(t, "guest", "free")
	k.want(t, 404, "getOrg", "", owner, "")
	k.want(t, 403, "createOrg", "", guest, `{"name":"Mine"}`)
	k.want(t, 422, "createOrg", "", owner, `{}`)
	org := field(t, k.want(t, 200, "createOrg", "", owner, `{"name":"Engines"}`), "org_id")
	k.want(t, 409, "createOrg", "", owner, `{"name":"Engines"}`)
	k.want(t, 200, "getOrg", "", owner, "")
	k.want(t, 200, "renameOrg", "", owner, `{"name":"Analytical Engines"}`)
	k.want(t, 200, "orgEmailConfig", "", guest, "")
	k.want(t, 403, "orgTestEmail", "", guest, "")
	k.want(t, 200, "orgTestEmail", "", owner, "")
	k.want(t, 422, "searchDeveloper", "/dev/org/search-developer?email=ab", owner, "")
	if found := k.want(t, 200, "searchDeveloper", "/dev/org/search-developer?email=guest@", owner, ""); strings.Contains(found.body, "guest@example.com") {
		t.Errorf("the address of a stranger is not masked: %s", found.body)
	}
	k.want(t, 200, "addMember", "", owner, `{"dev_id":"`+addedID+`","role":"viewer"}`)
	k.want(t, 409, "addMember", "", owner, `{"dev_id":"`+addedID+`"}`)
	k.want(t, 404, "addMember", "", owner, `{"dev_id":"nobody"}`)
	k.want(t, 403, "renameOrg", "", added, `{"name":"Mine"}`)
	k.invites(t, owner, guest)
	k.orgApps(t, owner, added, org)
	k.want(t, 200, "changeRole", "/dev/org/member/"+addedID+"/role", owner, `{"role":"admin"}`)
	k.want(t, 409, "changeRole", "/dev/org/member/"+ownerID+"/role", owner, `{"role":"admin"}`)
	k.want(t, 409, "removeMember", "/dev/org/member/"+ownerID, owner, "")
	k.want(t, 200, "removeMember", "/dev/org/member/"+addedID, owner, "")
	k.want(t, 404, "getOrg", "", added, "")
	k.audit(t, owner, guest)
}

func (k *caller) invites(t *testing.T, owner, guest string) {
	sent := k.want(t, 200, "invite", "", owner, `{"email":"guest@example.com"}`)
	id := field(t, sent, "invite_id")
	if mailed := k.mailedToken(t, "guest@example.com", "invite"); mailed != id {
		t.Errorf("the mail invites to %s, the answer to %s", mailed, id)
	}
	k.want(t, 409, "invite", "", owner, `{"email":"guest@example.com"}`)
	k.want(t, 422, "invite", "", owner, `{"email":"guest"}`)
	k.want(t, 200, "resendInvite", "/dev/org/invite/"+id+"/resend", owner, "")
	k.want(t, 200, "inviteInfo", "/dev/org/invite-info/"+id, "", "")
	k.want(t, 404, "inviteInfo", "/dev/org/invite-info/none", "", "")
	k.want(t, 403, "acceptInvite", "", owner, `{"invite_id":"`+id+`"}`)
	k.want(t, 200, "acceptInvite", "", guest, `{"invite_id":"`+id+`"}`)
	k.want(t, 409, "acceptInvite", "", guest, `{"invite_id":"`+id+`"}`)
	k.want(t, 409, "revokeInvite", "/dev/org/invite/"+id, owner, "")
	other := field(t, k.want(t, 200, "invite", "", owner, `{"email":"late@example.com","role":"billing"}`), "invite_id")
	k.want(t, 403, "revokeInvite", "/dev/org/invite/"+other, guest, "")
	k.want(t, 200, "revokeInvite", "/dev/org/invite/"+other, owner, "")
}

// orgApps makes an app of the organization, whose key the gateway takes.
func (k *caller) orgApps(t *testing.T, owner, viewer, org string) {
	k.want(t, 404, "createApp", "", owner, `{"name":"Bot","org_id":"00000000-0000-4000-8000-000000000000"}`)
	k.want(t, 403, "createApp", "", viewer, `{"name":"Bot","org_id":"`+org+`"}`)
	app := field(t, k.want(t, 200, "createApp", "", owner, `{"name":"Bot","environment":"live","org_id":"`+org+`"}`), "app_id")
	k.want(t, 200, "getApp", "/dev/apps/"+app, viewer, "")
	k.want(t, 403, "createKey", "/dev/apps/"+app+"/keys", viewer, "")
	k.awaitKey(t, field(t, k.want(t, 200, "createKey", "/dev/apps/"+app+"/keys", owner, ""), "key"))
}

func (k *caller) audit(t *testing.T, owner, other string) {
	k.want(t, 200, "listAudit", "", other, "")
	k.want(t, 403, "listAudit", "/dev/audit?scope=organization", other, "")
	k.want(t, 422, "listAudit", "/dev/audit?limit=many", owner, "")
	list := k.want(t, 200, "listAudit", "/dev/audit?scope=organization&limit=1000", owner, "")
	for _, operation := range []string{"createOrg", "renameOrg", "addMember", "invite", "acceptInvite", "createApp", "createKey", "changeRole", "removeMember"} {
		if !strings.Contains(list.body, `"operation":"`+operation+`"`) {
			t.Errorf("%s is not in the audit log", operation)
		}
	}
	if verdict := k.want(t, 200, "verifyAudit", "/dev/audit/verify?scope=organization", owner, ""); !strings.Contains(verdict.body, `"intact":true`) {
		t.Errorf("the audit log: %s", verdict.body)
	}
}
