package store

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/account"
	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/audit"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
)

func newOrg(t *testing.T, s *Store) (owner account.Developer, o org.Org) {
	t.Helper()
	owner = developer(t, s, plan.Enterprise)
	o, err := s.CreateOrg(t.Context(), owner.ID, org.Org{ID: uuid.NewString(), Name: "Engines", CreatedAt: micros()})
	if err != nil || o.Plan != plan.Enterprise {
		t.Fatalf("%+v %v", o, err)
	}
	return owner, o
}

func join(t *testing.T, s *Store, owner account.Developer, role string) account.Developer {
	t.Helper()
	d := developer(t, s, plan.Free)
	if _, err := s.AddMember(t.Context(), owner.ID, d.ID, role, micros()); err != nil {
		t.Fatal(err)
	}
	return d
}

// together runs f n times at once and returns the errors.
func together(t *testing.T, n int, f func(ctx context.Context, i int) error) []error {
	t.Helper()
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = f(context.WithoutCancel(t.Context()), i) })
	}
	all.Wait()
	return errs
}

func newInvite(t *testing.T, s *Store, owner account.Developer, o org.Org, email string) org.Invite {
	t.Helper()
	i := org.Invite{
		ID: uuid.NewString(), OrgID: o.ID, Email: email, Role: org.Developer, Status: org.Pending, Inviter: "Ada", CreatedAt: micros(),
		ExpiresAt: micros().Add(org.InviteTTL),
	}
	if err := s.CreateInvite(t.Context(), owner.ID, i); err != nil {
		t.Fatal(err)
	}
	return i
}

func TestAnInviteIsAcceptedOnceHoweverOftenAtOnce(t *testing.T) {
	s := open(t)
	owner, o := newOrg(t, s)
	guest := developer(t, s, plan.Free)
	i := newInvite(t, s, owner, o, guest.Email)
	var accepted, refused int
	for _, err := range together(t, 8, func(ctx context.Context, _ int) error {
		_, err := s.AcceptInvite(ctx, guest.ID, i.ID, false, micros())
		return err
	}) {
		switch {
		case err == nil:
			accepted++
		case isErr(err, org.ErrClosed):
			refused++
		default:
			t.Error(err)
		}
	}
	if accepted != 1 || refused != 7 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
	found, err := s.AuditRecords(t.Context(), audit.Query{Chain: o.ID, Target: guest.ID, Limit: 10})
	if err != nil || len(found) != 1 {
		t.Errorf("%d records of joining: %v", len(found), err)
	}
}

func TestADeveloperIsInOneOrganization(t *testing.T) {
	s := open(t)
	first, one := newOrg(t, s)
	second, two := newOrg(t, s)
	guest := developer(t, s, plan.Free)
	invites := []org.Invite{newInvite(t, s, first, one, guest.Email), newInvite(t, s, second, two, guest.Email)}
	errs := together(t, 2, func(ctx context.Context, n int) error {
		_, err := s.AcceptInvite(ctx, guest.ID, invites[n].ID, false, micros())
		return err
	})
	if (errs[0] == nil) == (errs[1] == nil) || !isErr(errs[0], org.ErrTaken) && !isErr(errs[1], org.ErrTaken) {
		t.Errorf("two invites at once: %v", errs)
	}
	if _, err := s.CreateOrg(t.Context(), first.ID, org.Org{ID: uuid.NewString(), Name: "x", CreatedAt: micros()}); !isErr(err, org.ErrTaken) {
		t.Errorf("a second organization: %v", err)
	}
	if _, err := s.AddMember(t.Context(), second.ID, first.ID, org.Viewer, micros()); !isErr(err, org.ErrTaken) {
		t.Errorf("a member of another: %v", err)
	}
}

func TestWhatAnInviteAsksFor(t *testing.T) {
	s := open(t)
	owner, o := newOrg(t, s)
	guest, other := developer(t, s, plan.Free), developer(t, s, plan.Free)
	i := newInvite(t, s, owner, o, guest.Email)
	again := i
	again.ID = uuid.NewString()
	if err := s.CreateInvite(t.Context(), owner.ID, again); !isErr(err, org.ErrInvited) {
		t.Errorf("a second invite: %v", err)
	}
	again.Email = owner.Email
	if err := s.CreateInvite(t.Context(), owner.ID, again); !isErr(err, org.ErrMember) {
		t.Errorf("an invite of a member: %v", err)
	}
	for name, tt := range map[string]struct {
		by   string
		now  time.Time
		want error
	}{
		"other address": {other.ID, micros(), org.ErrOtherEmail},
		"unverified":    {guest.ID, micros(), org.ErrUnverified},
		"expired":       {guest.ID, micros().Add(org.InviteTTL), org.ErrClosed},
	} {
		if _, err := s.AcceptInvite(t.Context(), tt.by, i.ID, true, tt.now); !isErr(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := s.RevokeInvite(t.Context(), owner.ID, i.ID, micros()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AcceptInvite(t.Context(), guest.ID, i.ID, false, micros()); !isErr(err, org.ErrClosed) {
		t.Errorf("a revoked one: %v", err)
	}
	if _, err := s.RenewInvite(t.Context(), owner.ID, i.ID, micros()); !isErr(err, org.ErrClosed) {
		t.Errorf("renewing a revoked one: %v", err)
	}
}

func TestAnOrganizationKeepsAnOwner(t *testing.T) {
	s := open(t)
	owner, o := newOrg(t, s)
	if err := s.RemoveMember(t.Context(), owner.ID, owner.ID); !isErr(err, org.ErrLastOwner) {
		t.Errorf("the last owner left: %v", err)
	}
	if _, err := s.ChangeRole(t.Context(), owner.ID, owner.ID, org.Viewer); !isErr(err, org.ErrLastOwner) {
		t.Errorf("the last owner was demoted: %v", err)
	}
	second := join(t, s, owner, org.Owner)
	errs := together(t, 2, func(ctx context.Context, n int) error {
		id := []string{owner.ID, second.ID}[n]
		return s.RemoveMember(ctx, id, id)
	})
	if (errs[0] == nil) == (errs[1] == nil) || !isErr(errs[0], org.ErrLastOwner) && !isErr(errs[1], org.ErrLastOwner) {
		t.Errorf("two owners leave at once: %v", errs)
	}
	if members, err := s.Members(t.Context(), o.ID); err != nil || len(members) != 1 || members[0].Role != org.Owner {
		t.Errorf("left: %+v %v", members, err)
	}
}

// TestAnAppOfAnOrganization: its plan, its count, its keys and who can read them after its maker has left.
func TestAnAppOfAnOrganization(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	owner, o := newOrg(t, s)
	maker := join(t, s, owner, org.Developer)
	for range 3 { // more than the maker's own plan allows
		if _, err := a.Create(ctx, app.App{DeveloperID: maker.ID, OrgID: &o.ID, Name: "Bot", Environment: "live", RateLimit: 7}); err != nil {
			t.Fatal(err)
		}
	}
	list, err := a.List(ctx, owner.ID)
	if err != nil || len(list) != 3 || list[0].Role != org.Owner {
		t.Fatalf("%d apps: %v", len(list), err)
	}
	made := list[0]
	k, err := a.CreateKey(ctx, maker.ID, made.ID, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := principals(t, s)[k.ID]
	if p.OrgID != o.ID || p.DeveloperID != maker.ID || p.Limits[0].Max != 5_000 || p.Limits[2].Max != 100_000 || p.Limits[2].Bucket != "account/"+o.ID+"/day" {
		t.Errorf("published %+v", p)
	}
	if value, err := a.Reveal(ctx, owner.ID, made.ID, k.ID); err != nil || value != k.Value {
		t.Errorf("another member reads the key: %v", err)
	}
	if err := s.RemoveMember(ctx, owner.ID, maker.ID); err != nil {
		t.Fatal(err)
	}
	for what, check := range map[string]func() error{
		"get":    func() error { _, err := a.Get(ctx, maker.ID, made.ID); return err },
		"key":    func() error { _, err := a.CreateKey(ctx, maker.ID, made.ID, nil); return err },
		"reveal": func() error { _, err := a.Reveal(ctx, maker.ID, made.ID, k.ID); return err },
		"delete": func() error { _, err := a.Delete(ctx, maker.ID, made.ID); return err },
	} {
		if err := check(); !isErr(err, app.ErrNoApp) {
			t.Errorf("%s after leaving: %v", what, err)
		}
	}
	if list, err := a.List(ctx, maker.ID); err != nil || len(list) != 0 {
		t.Errorf("%d apps after leaving: %v", len(list), err)
	}
	if _, err := s.pool.Exec(ctx, `DELETE FROM developers WHERE id = $1`, maker.ID); err != nil {
		t.Fatal(err)
	}
	if value, err := a.Reveal(ctx, owner.ID, made.ID, k.ID); err != nil || value != k.Value {
		t.Errorf("after its maker's account is gone: %v", err)
	}
	if p := principals(t, s)[k.ID]; p.DeveloperID != owner.ID || p.OrgID != o.ID {
		t.Errorf("published after the maker left: %+v", p)
	}
	if _, err := a.RegenerateKey(ctx, owner.ID, made.ID, k.ID, 0, nil); err != nil {
		t.Error(err)
	}
}
