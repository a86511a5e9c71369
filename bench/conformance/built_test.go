package conformance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// field returns a string out of a JSON answer, by a path of names.
func field(t *testing.T, a answer, names ...string) string {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		t.Fatalf("%q: %v", a.body, err)
	}
	for _, name := range names {
		object, ok := value.(map[string]any)
		if !ok {
			t.Fatalf("%s has no %s", a.body, strings.Join(names, "."))
		}
		value = object[name]
	}
	text, ok := value.(string)
	if !ok {
		t.Fatalf("%s: %s is %v", a.body, strings.Join(names, "."), value)
	}
	return text
}

// built walks through the operations in the order a developer would, with the mistakes a developer makes.
func (k *caller) built(t *testing.T) {
	for _, id := range []string{"portalPage", "docsPage", "openapiDocument", "googleClientId"} {
		k.want(t, 200, id, "", "", "")
	}
	session, other := k.accounts(t)
	app := k.apps(t, session, other)
	key := k.keys(t, session, other, app)
	k.tokens(t, session)
	k.gateway(t, key)
	k.offer(t, session)
	k.metrics(t)
	k.want(t, 200, "limits", "", session, "")
	k.want(t, 200, "appUsage", "/dev/apps/"+app+"/usage", session, "")
	k.want(t, 200, "appUsage", "/dev/apps/"+app+"/usage?days=7", session, "")
	k.want(t, 422, "appUsage", "/dev/apps/"+app+"/usage?days=soon", session, "")
	k.want(t, 404, "appUsage", "/dev/apps/"+app+"/usage", other, "")
	k.want(t, 200, "deleteApp", "/dev/apps/"+app, session, "")
	k.want(t, 404, "getApp", "/dev/apps/"+app, session, "")
}

func (k *caller) accounts(t *testing.T) (session, other string) {
	const body = `{"name":"Conny","email":"%s@example.com","password":"a long enough password"}`
	session = field(t, k.want(t, 200, "register", "", "", fmt.Sprintf(body, "conny")), "access_token")
	other = field(t, k.want(t, 200, "register", "", "", fmt.Sprintf(body, "other")), "access_token")
	k.want(t, 409, "register", "", "", fmt.Sprintf(body, "CONNY"))
	for _, bad := range []string{
		`{`, `[]`, `{}`, `{"name":"x","email":"not mail","password":"a long enough password"}`,
		`{"name":"x","email":"x@example.com","password":"short"}`, `{"name":5,"email":"x@example.com","password":"a long enough password"}`,
	} {
		k.want(t, 422, "register", "", "", bad)
	}
	k.want(t, 413, "register", "", "", `{"name":"`+strings.Repeat("x", 4<<20)+`"}`)
	k.want(t, 200, "login", "", "", `{"email":"conny@example.com","password":"a long enough password"}`)
	k.want(t, 401, "login", "", "", `{"email":"conny@example.com","password":"the wrong password"}`)
	k.want(t, 401, "login", "", "", `{"email":"nobody@example.com","password":"the wrong password"}`)
	k.want(t, 422, "login", "", "", `{"email":"conny@example.com"}`)
	k.want(t, 200, "me", "", session, "")
	return session, other
}

func (k *caller) apps(t *testing.T, session, other string) (app string) {
	app = field(t, k.want(t, 200, "createApp", "", session, `{"name":"One"}`), "app_id")
	for _, bad := range []string{
		`{}`, `{"name":""}`, `{"name":"x","environment":"prod"}`, `{"name":"x","families":["cats"]}`,
		`{"name":"x","rate_limit":0}`, `{"name":"x","expires_at":"tomorrow"}`, `nonsense`,
	} {
		k.want(t, 422, "createApp", "", session, bad)
	}
	second := field(t, k.want(t, 200, "createApp", "", session, `{"name":"Two","environment":"live","expires_at":"2040-01-01T00:00:00Z"}`), "app_id")
	k.want(t, 403, "createApp", "", session, `{"name":"One too many for the free plan"}`)
	k.want(t, 200, "listApps", "", session, "")
	path := "/dev/apps/" + app
	k.want(t, 200, "getApp", path, session, "")
	k.want(t, 404, "getApp", path, other, "")
	k.want(t, 404, "getApp", "/dev/apps/00000000-0000-4000-8000-000000000000", session, "")
	k.want(t, 404, "getApp", "/dev/apps/..%2fx", session, "")
	k.want(t, 200, "updateApp", path, session, `{"name":"Uno","rate_limit":1000,"description":null}`)
	k.want(t, 422, "updateApp", path, session, `{"rate_limit":"fast"}`)
	k.want(t, 404, "updateApp", path, other, `{"name":"mine"}`)
	k.want(t, 404, "deleteApp", path, other, "")
	k.want(t, 200, "deleteApp", "/dev/apps/"+second, session, "")
	return app
}

func (k *caller) keys(t *testing.T, session, other, app string) (key string) {
	path := "/dev/apps/" + app + "/keys"
	k.want(t, 404, "createKey", path, other, "")
	made := k.want(t, 200, "createKey", path, session, "")
	key, id := field(t, made, "key"), field(t, made, "key_id")
	again := k.want(t, 200, "createKey", path, session, "")
	spare, spareID := field(t, again, "key"), field(t, again, "key_id")

	reveal := "/dev/playground/key-for-stream?app_id=" + app + "&key_id=" + id
	shown := k.want(t, 200, "keyForStream", reveal, session, "")
	if field(t, shown, "key") != key {
		t.Error("another key than the one created is revealed")
	}
	if got := shown.header.Get("Cache-Control"); !strings.Contains(got, "no-store") {
		t.Errorf("a revealed key may be cached: %q", got)
	}
	k.want(t, 404, "keyForStream", reveal, other, "")
	k.want(t, 422, "keyForStream", "/dev/playground/key-for-stream?app_id="+app, session, "")

	k.want(t, 404, "regenerateKey", path+"/"+spareID+"/regenerate", other, "")
	if fresh := field(t, k.want(t, 200, "regenerateKey", path+"/"+spareID+"/regenerate", session, ""), "key"); fresh == spare {
		t.Error("the regenerated key is the old one")
	}
	k.want(t, 404, "revokeKey", path+"/"+spareID, other, "")
	k.want(t, 200, "revokeKey", path+"/"+spareID, session, "")
	k.want(t, 200, "revokeKey", path+"/"+spareID, session, "")
	k.want(t, 409, "regenerateKey", path+"/"+spareID+"/regenerate", session, "")
	if list := k.want(t, 200, "getApp", "/dev/apps/"+app, session, ""); strings.Contains(list.body, key) {
		t.Error("the app shows a raw key")
	}
	return key
}

func (k *caller) tokens(t *testing.T, session string) {
	made := k.want(t, 200, "createDarwinToken", "", session, `{"name":"laptop","colour":"blue"}`)
	k.want(t, 422, "createDarwinToken", "", session, `[]`)
	k.want(t, 422, "createDarwinToken", "", session, `{"expires_at":5}`)
	list := k.want(t, 200, "listDarwinTokens", "", session, "")
	if strings.Contains(list.body, field(t, made, "key")) {
		t.Error("the list shows a raw token")
	}
	k.want(t, 200, "revokeDarwinToken", "/dev/darwin-tokens/"+field(t, made, "key_id"), session, "")
	k.want(t, 404, "revokeDarwinToken", "/dev/darwin-tokens/00000000-0000-4000-8000-000000000000", session, "")
}

func (k *caller) gateway(t *testing.T, key string) {
	k.want(t, 200, "health", "", "", "")
	k.awaitKey(t, key)
	k.want(t, 200, "modelCatalog", "", key, "")
	k.want(t, 200, "listModels", "", key, "")
	k.want(t, 200, "agent", "", key, `{"prompt":"hello"}`)
	k.want(t, 200, "agent", "", key, `{"prompt":"hello","stream":true,"messages":[{"role":"user","content":"hi"}],"temperature":0}`)
	for _, bad := range []string{``, `{`, `{}`, `{"prompt":""}`, `{"prompt":7}`, `"prompt"`} {
		k.want(t, 400, "agent", "", key, bad)
	}
	k.want(t, 422, "agent", "", key, `{"prompt":"hello","max_tokens":0,"stream":"perhaps"}`)
	k.want(t, 404, "agent", "", key, `{"prompt":"hello","model":"Einstein"}`)
	k.want(t, 413, "agent", "", key, `{"prompt":"`+strings.Repeat("x", 13<<20)+`"}`)
	k.want(t, 200, "generate", "", key, `{"prompt":"hello"}`)
	k.want(t, 422, "generate", "", key, `{"prompt":"hello","max_tokens":"many"}`)
	k.want(t, 404, "generate", "", key, `{"prompt":"hello","family":"cats"}`)
	k.want(t, 200, "generateStream", "", key, `{"prompt":"hello"}`)
}

// offer is what there is to have. The stack has no images.
func (k *caller) offer(t *testing.T, session string) {
	if c := k.want(t, 200, "catalog", "", "", ""); !strings.Contains(c.body, `"id":"Darwin"`) {
		t.Errorf("the catalog lacks the model Darwin: %s", c.body)
	}
	k.want(t, 200, "listImageBuilds", "", session, "")
	k.want(t, 404, "downloadImage", "/dev/download/image/rpi4", "", "")
	k.want(t, 404, "downloadImage", "/dev/download/image/..%2f..%2fetc%2fpasswd?version=1", "", "")
}

// metrics is what a page that embeds the public counters does, and what an operator does who allowed it.
func (k *caller) metrics(t *testing.T) {
	k.want(t, 200, "developerInfo", "", "", "")
	k.want(t, 200, "resetMetrics", "", "", "")
	k.want(t, 200, "trackEvent", "", "", `{"event":"page_view"}`)
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"event":""}`, `{"event":"Page View"}`, `{"event":7}`, `{"event":"` + strings.Repeat("x", 65) + `"}`} {
		k.want(t, 422, "trackEvent", "", "", bad)
	}
	k.want(t, 413, "trackEvent", "", "", `{"event":"`+strings.Repeat("x", 2<<10)+`"}`)
	if m := k.want(t, 200, "getMetrics", "", "", ""); !strings.Contains(m.body, `"page_view":1`) {
		t.Errorf("one page view was counted, the counters are %s", m.body)
	}
	k.want(t, 200, "queryMetrics", "", "", `{}`)
	k.want(t, 200, "queryMetrics", "", "", `{"events":["page_view","other"]}`)
	k.want(t, 422, "queryMetrics", "", "", `{"events":["<b>"]}`)
	k.want(t, 413, "queryMetrics", "", "", `{"events":["`+strings.Repeat("x", 32<<10)+`"]}`)
	k.want(t, 200, "formattedMetrics", "", "", "")
	k.want(t, 200, "metricsScript", "", "", "")
	k.want(t, 200, "metricsBadge", "", "", "")
	k.want(t, 422, "metricsBadge", "/api/developer/embed/badge.svg?event=%3Cb%3E", "", "")
	k.want(t, 200, "debugMetrics", "", "", "")
}

// awaitKey waits until the node knows the key. The demand is far below the bound, which is for a busy machine.
func (k *caller) awaitKey(t *testing.T, key string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if k.call(t, "listModels", "", key, "").status == 200 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the node does not learn the new key")
		}
	}
}
