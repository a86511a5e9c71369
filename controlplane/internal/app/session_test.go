package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/app"
	"modelgate.internal/controlplane/internal/plan"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// terms is a store that knows what an account may do.
type terms struct {
	app.Store
	terms plan.Terms
}

func (s terms) SessionTerms(context.Context, string) (plan.Terms, plane.Version, error) {
	return s.terms, 7, nil
}

func TestASessionHasTheLimitsOfItsPlan(t *testing.T) {
	const developer = "2b6f0cc9-04d1-4a54-8f4f-6b1c8d1fa0a1"
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	signer, err := key.NewStreamSigner([][]byte{bytes.Repeat([]byte{1}, 32)})
	if err != nil {
		t.Fatal(err)
	}
	perDay := int64(5)
	apps := &app.Apps{
		Store: terms{terms: plan.Terms{AccountID: developer, Plan: plan.Starter, PerDay: &perDay}}, Streams: signer,
		Now: func() time.Time { return noon },
	}
	text, err := apps.Session(t.Context(), developer)
	if err != nil {
		t.Fatal(err)
	}
	token, err := key.NewStreamVerifier(signer.Public()).Verify([]byte(text), noon)
	if err != nil || !token.Expires.Equal(noon.Add(key.SessionLife)) {
		t.Fatalf("%+v, %v", token, err)
	}
	var s plane.Session
	if err := json.Unmarshal(token.Session, &s); err != nil {
		t.Fatal(err)
	}
	p := s.Principal
	if s.Seen != 7 || p.Kind != key.Portal || p.KeyID != developer || p.DeveloperID != developer || p.AppID != "" || len(p.Scope.Families) > 0 {
		t.Errorf("got %+v", s)
	}
	limits := map[string]plane.Limit{}
	for _, l := range p.Limits {
		limits[l.Name] = l
	}
	if day := limits[plane.LimitAccountDay]; day.Max != 5 || day.Bucket != "account/"+developer+"/day" {
		t.Errorf("the day is %+v", day)
	}
	if minute := limits[plane.LimitKeyMinute]; minute.Max != 120 || minute.Bucket != "key/"+developer+"/minute" {
		t.Errorf("the minute is %+v", minute)
	}
	if _, ok := limits[plane.LimitAppMinute]; ok {
		t.Error("there is a limit of an app")
	}
}
