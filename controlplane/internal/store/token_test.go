package store

import (
	"testing"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/org"
	"modelgate.internal/controlplane/internal/plan"
)

// TestATokenStandsForTheChosenKey: any key that the developer may use, and no other.
func TestATokenStandsForTheChosenKey(t *testing.T) {
	s := open(t)
	a := apps(t, s)
	ctx := t.Context()
	owner, o := newOrg(t, s)
	maker, viewer, other := join(t, s, owner, org.Developer), join(t, s, owner, org.Viewer), developer(t, s, plan.Free)
	keyIn := func(orgID *string) (appID, keyID string) {
		t.Helper()
		made, err := a.Create(ctx, app.App{DeveloperID: maker.ID, OrgID: orgID, Name: "Bot", Environment: "live", RateLimit: 1})
		if err != nil {
			t.Fatal(err)
		}
		k, err := a.CreateKey(ctx, maker.ID, made.ID, nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.ID, k.ID
	}
	stands := func(what, developerID, appID, keyID, want string, refusal error) {
		t.Helper()
		k, err := a.Chosen(ctx, developerID, appID, keyID)
		if refusal != nil && !isErr(err, refusal) || refusal == nil && (err != nil || k.KeyID != want) {
			t.Errorf("%s: %+v, %v", what, k, err)
		}
	}
	shared, sharedKey := keyIn(&o.ID)
	stands("without a choice a key of the organization is none", maker.ID, "", "", "", app.ErrNoActiveKey)
	first, firstKey := keyIn(nil)
	second, secondKey := keyIn(nil)
	stands("no choice", maker.ID, "", "", firstKey, nil)
	stands("an app", maker.ID, second, "", secondKey, nil)
	stands("a key", maker.ID, "", secondKey, secondKey, nil)
	stands("both", maker.ID, second, secondKey, secondKey, nil)
	stands("a key of another app", maker.ID, first, secondKey, "", app.ErrNoChosenKey)
	stands("a name that is no ID", maker.ID, "second", "", "", app.ErrNoChosenKey)
	stands("somebody else's", other.ID, second, secondKey, "", app.ErrNoChosenKey)
	stands("the organization's", maker.ID, shared, sharedKey, sharedKey, nil)
	stands("the organization's, as its owner", owner.ID, "", sharedKey, sharedKey, nil)
	stands("the organization's, as a viewer", viewer.ID, shared, sharedKey, "", app.ErrNoChosenKey)
	stands("the organization's, as a stranger", other.ID, shared, "", "", app.ErrNoChosenKey)
	if _, err := a.RevokeKey(ctx, maker.ID, second, secondKey); err != nil {
		t.Fatal(err)
	}
	stands("a revoked key", maker.ID, second, secondKey, "", app.ErrNoChosenKey)
	off := false
	if _, _, err := a.Update(ctx, maker.ID, shared, app.Update{Active: &off}); err != nil {
		t.Fatal(err)
	}
	stands("an app that is off", maker.ID, shared, sharedKey, "", app.ErrNoChosenKey)
}
