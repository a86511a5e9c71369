package api

import (
	"net/http"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/controlplane/internal/mail"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// paced makes a handler of one that a network may not call too often.
func (a *API) paced(pace *counter.Pace, h Handler) Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := pace.Take(account.Network(remote(r))); err != nil {
			return err
		}
		return h(w, r)
	}
}

func (a *API) getOrg(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Orgs.Get(r.Context(), developerID)
	if err != nil {
		return err
	}
	return writeJSON(w, a.wireOrg(d))
}

func (a *API) createOrg(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.OrgRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	d, err := a.Orgs.Create(r.Context(), developerID, req.Name)
	if err != nil {
		return err
	}
	return writeJSON(w, a.wireOrg(d))
}

func (a *API) renameOrg(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.OrgRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	d, err := a.Orgs.Rename(r.Context(), developerID, req.Name)
	if err != nil {
		return err
	}
	return writeJSON(w, a.wireOrg(d))
}

func (a *API) orgEmailConfig(w http.ResponseWriter, _ *http.Request, _ string) error {
	answer := wire.EmailConfig{Configured: a.Mailer.Configured()}
	if answer.Configured {
		from := a.Mailer.From()
		answer.From = &from
	}
	return writeJSON(w, answer)
}

// orgTestEmail hands the mail over while the caller waits, so that its answer says whether mail works.
func (a *API) orgTestEmail(w http.ResponseWriter, r *http.Request, developerID string) error {
	d, err := a.Accounts.Developer(r.Context(), developerID)
	if err != nil {
		return err
	}
	if err := a.Orgs.AllowMail(r.Context(), d); err != nil {
		return err
	}
	if err := a.Mailer.Send(r.Context(), mail.Message{To: d.Email, Content: mail.Test{PortalURL: a.PublicURL}}); err != nil {
		return err
	}
	err = a.Audit.Record(r.Context(), audit.Entry{
		Chain: d.ID, Kind: audit.Mail, Target: d.ID, After: map[string]any{"template": "test", "to": d.Email},
	})
	if err != nil {
		return err
	}
	return writeJSON(w, wire.TestEmailSent{Sent: true, To: d.Email})
}

// developerQuery are the parameters of the search for developers.
type developerQuery struct {
	Email string `json:"email" bind:"required,min=3,max=254"`
}

func (a *API) searchDeveloper(w http.ResponseWriter, r *http.Request, developerID string) error {
	var q developerQuery
	if err := bind.Query(r.URL.Query(), &q); err != nil {
		return err
	}
	found, err := a.Orgs.Search(r.Context(), developerID, q.Email)
	if err != nil {
		return err
	}
	answer := wire.DeveloperSearch{Developers: make([]wire.FoundDeveloper, len(found))}
	for i, f := range found {
		answer.Developers[i] = wire.FoundDeveloper{DevID: f.DeveloperID, Name: f.Name, Email: f.Email}
	}
	return writeJSON(w, answer)
}

func (a *API) addMember(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.AddMemberRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	m, err := a.Orgs.AddMember(r.Context(), developerID, req.DevID, req.Role)
	if err != nil {
		return err
	}
	return writeJSON(w, wireMember(m))
}

func (a *API) removeMember(w http.ResponseWriter, r *http.Request, developerID string) error {
	gone := r.PathValue("dev_id")
	if err := a.Orgs.RemoveMember(r.Context(), developerID, gone); err != nil {
		return err
	}
	return writeJSON(w, wire.MemberRemoved{DevID: gone, Removed: true})
}

func (a *API) changeRole(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.RoleRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	m, err := a.Orgs.ChangeRole(r.Context(), developerID, r.PathValue("dev_id"), req.Role)
	if err != nil {
		return err
	}
	return writeJSON(w, wireMember(m))
}

func (a *API) invite(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.InviteRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	sent, err := a.Orgs.Invite(r.Context(), developerID, req.Email, req.Role)
	if err != nil {
		return err
	}
	return a.writeInvite(w, sent)
}

func (a *API) resendInvite(w http.ResponseWriter, r *http.Request, developerID string) error {
	sent, err := a.Orgs.Resend(r.Context(), developerID, r.PathValue("invite_id"))
	if err != nil {
		return err
	}
	return a.writeInvite(w, sent)
}

func (a *API) writeInvite(w http.ResponseWriter, sent org.Sent) error {
	return writeSecret(w, wire.InviteSent{Invite: a.wireInvite(sent.Invite), EmailSent: sent.Mailed, Link: some(sent.Link)})
}

func (a *API) revokeInvite(w http.ResponseWriter, r *http.Request, developerID string) error {
	id := r.PathValue("invite_id")
	if err := a.Orgs.Revoke(r.Context(), developerID, id); err != nil {
		return err
	}
	return writeJSON(w, wire.InviteRevoked{InviteID: id, Status: org.Revoked})
}

func (a *API) inviteInfo(w http.ResponseWriter, r *http.Request) error {
	i, err := a.Orgs.Look(r.Context(), r.PathValue("invite_id"))
	if err != nil {
		return err
	}
	return writeJSON(w, wire.InviteInfo{
		InviteID: i.ID, OrgName: i.OrgName, InvitedBy: i.Inviter, Email: org.Mask(i.Email), Role: i.Role, Status: i.State(a.Now()),
		ExpiresAt: i.ExpiresAt.UTC(),
	})
}

func (a *API) acceptInvite(w http.ResponseWriter, r *http.Request, developerID string) error {
	var req wire.AcceptInviteRequest
	if err := readJSON(r, &req); err != nil {
		return err
	}
	i, err := a.Orgs.Accept(r.Context(), developerID, req.InviteID)
	if err != nil {
		return err
	}
	return writeJSON(w, wire.InviteAccepted{InviteID: i.ID, Status: org.Accepted, OrgID: i.OrgID, Name: i.OrgName, Role: i.Role})
}

func (a *API) wireOrg(d org.Detail) wire.OrgDetail {
	answer := wire.OrgDetail{
		OrgID: d.ID, Name: d.Name, Plan: d.Plan, Role: d.Role, CreatedAt: d.CreatedAt.UTC(), Members: make([]wire.OrgMember, len(d.Members)),
		Invites: make([]wire.Invite, len(d.Invites)),
	}
	for i, m := range d.Members {
		answer.Members[i] = wireMember(m)
	}
	for i, one := range d.Invites {
		answer.Invites[i] = a.wireInvite(one)
	}
	return answer
}

func wireMember(m org.Member) wire.OrgMember {
	return wire.OrgMember{DevID: m.DeveloperID, Name: m.Name, Email: m.Email, Role: m.Role, JoinedAt: m.JoinedAt.UTC()}
}

func (a *API) wireInvite(i org.Invite) wire.Invite {
	return wire.Invite{
		InviteID: i.ID, Email: i.Email, Role: i.Role, Status: i.State(a.Now()), CreatedAt: i.CreatedAt.UTC(), ExpiresAt: i.ExpiresAt.UTC(),
	}
}
