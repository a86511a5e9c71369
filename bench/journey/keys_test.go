package journey

import (
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/wire"
)

// change makes a change and waits for the nodes; what the receipt says counts from then on.
func (w *traveller) change(t *testing.T, method, path string, body, v any, receipt **wire.Receipt) {
	t.Helper()
	w.portal(t, method, path+"?wait=nodes", body).want(t, 200).into(t, v)
	if r := *receipt; r == nil || !r.Complete || len(r.Nodes) == 0 {
		t.Fatalf("%s %s: receipt %+v", method, path, r)
	}
}

// rotate lives through the life of a key without waiting for anything but the answers.
func (w *traveller) rotate(t *testing.T) {
	app := w.newApp(t, "test")
	var first, second wire.NewKey
	w.change(t, "POST", "/dev/apps/"+app+"/keys", nil, &first, &first.Receipt)
	t.Logf("the node served by the new key after %d ms", first.Receipt.Nodes[0].MS)
	w.call(t, first.Key, "Hello").want(t, 200)

	of := "/dev/apps/" + app + "/keys/" + first.KeyID
	w.change(t, "POST", of+"/regenerate", wire.RegenerateKeyRequest{Grace: 3600}, &second, &second.Receipt)
	w.call(t, first.Key, "Hello").want(t, 200)
	w.call(t, second.Key, "Hello").want(t, 200)
	var third wire.NewKey
	w.change(t, "POST", of+"/regenerate", wire.RegenerateKeyRequest{Grace: 2}, &third, &third.Receipt)
	w.call(t, third.Key, "Hello").want(t, 200)
	w.await(t, second.Key, 401, 30*time.Second) // by the node's clock; nobody tells it
	if now := time.Now(); now.Before(*third.PreviousExpiresAt) {
		t.Errorf("the old value ended %s early", third.PreviousExpiresAt.Sub(now))
	}
	w.call(t, first.Key, "Hello").want(t, 401) // 2 s are less than what was left of its hour
	w.call(t, third.Key, "Hello").want(t, 200)

	var changed wire.AppUpdated
	w.change(t, "PUT", "/dev/apps/"+app, map[string]any{"active": false}, &changed, &changed.Receipt)
	w.call(t, third.Key, "Hello").want(t, 401)
	w.change(t, "PUT", "/dev/apps/"+app, map[string]any{"active": true}, &changed, &changed.Receipt)
	w.call(t, third.Key, "Hello").want(t, 200)
	var revoked wire.KeyRevoked
	w.change(t, "DELETE", of, nil, &revoked, &revoked.Receipt)
	w.call(t, third.Key, "Hello").want(t, 401)
	w.portal(t, "DELETE", "/dev/apps/"+app, nil).want(t, 200)
}

// expire uses a key until its app's time is over.
func (w *traveller) expire(t *testing.T) {
	end := time.Now().Add(4 * time.Second)
	var app wire.App
	w.portal(t, "POST", "/dev/apps", map[string]any{"name": "Short", "expires_at": end}).want(t, 200).into(t, &app)
	var key wire.NewKey
	w.change(t, "POST", "/dev/apps/"+app.AppID+"/keys", nil, &key, &key.Receipt)
	if a := w.call(t, key.Key, "Hello"); a.status != 200 && time.Now().Before(end) {
		t.Errorf("before the end: %d %s", a.status, a.body)
	}
	w.await(t, key.Key, 401, 30*time.Second)
	if time.Now().Before(end) {
		t.Error("the key ended early")
	}
	w.portal(t, "DELETE", "/dev/apps/"+app.AppID, nil).want(t, 200)
}

// playground makes test calls as the portal does.
func (w *traveller) playground(t *testing.T) {
	choice := map[string]any{"prompt": "Hello", "app_id": w.app, "key_id": w.key.KeyID}
	a := w.portal(t, "POST", "/dev/playground", choice).want(t, 200)
	if !strings.Contains(a.body, `"type":"text"`) || a.header.Get("X-RateLimit-Limit") == "" || strings.Contains(a.body, w.key.Key) {
		t.Errorf("%v %s", a.header, a.body)
	}
	choice["prompt"] = "[[scenario:many-tokens n=20 delay=50ms]]"
	events, _ := stream(t, w.in.PortalURL+"/dev/playground/stream", w.session, choice, nil)
	last := len(events) - 1
	if last < 10 || events[last].data != "[DONE]" || events[last].at.Sub(events[0].at) < 300*time.Millisecond {
		t.Errorf("%d events, held back or without an end", len(events))
	}
	choice["prompt"] = "[[scenario:cut-after n=5]]"
	events, _ = stream(t, w.in.PortalURL+"/dev/playground/stream", w.session, choice, nil)
	if last = len(events) - 1; last < 1 || events[last].data != "[DONE]" || !strings.Contains(events[last-1].data, `"error"`) {
		t.Errorf("a cut stream ends with %v", events)
	}
	eventually(t, usageWithin, func() (bool, string) {
		shown := w.portal(t, "GET", "/dev/apps/"+w.app, nil).want(t, 200)
		var detail wire.AppDetail
		shown.into(t, &detail)
		return detail.Keys[0].LastUsedAt != nil && time.Since(*detail.Keys[0].LastUsedAt) < time.Hour, shown.body
	})
}
