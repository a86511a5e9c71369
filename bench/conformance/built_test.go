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
	k.raise(t, "conny@example.com")
	app := k.apps(t, session, other)
	key := k.keys(t, session, other, app)
	k.tokens(t, session)
	k.gateway(t, key)
	k.speech(t, key)
	k.language(t, key)
	k.images(t, key)
	k.results(t, key, session)
	k.playground(t, session, other, app)
	k.offer(t, session)
	k.metrics(t)
	k.organization(t)
	k.billing(t)
	k.want(t, 200, "limits", "", session, "")
	k.want(t, 200, "appUsage", "/dev/apps/"+app+"/usage", session, "")
	k.want(t, 200, "appUsage", "/dev/apps/"+app+"/usage?days=7", session, "")
	k.want(t, 200, "appUsage", "/dev/apps/"+app+"/usage?days=2&bucket=minute&tz=Asia/Kolkata", session, "")
	k.want(t, 422, "appUsage", "/dev/apps/"+app+"/usage?days=soon", session, "")
	k.want(t, 422, "appUsage", "/dev/apps/"+app+"/usage?tz=Mars/Phobos", session, "")
	k.want(t, 200, "accountUsage", "", session, "")
	k.want(t, 200, "accountUsage", "/dev/usage?days=30&bucket=hour&tz=Europe/Berlin", session, "")
	k.want(t, 404, "appUsage", "/dev/apps/"+app+"/usage", other, "")
	k.want(t, 200, "listRequests", "/dev/apps/"+app+"/requests?limit=2", session, "")
	k.want(t, 200, "listRequests", "/dev/apps/"+app+"/requests?status=4xx&model=Darwin&from=2026-01-05T00:00:00Z", session, "")
	k.want(t, 422, "listRequests", "/dev/apps/"+app+"/requests?cursor=nowhere", session, "")
	k.want(t, 404, "listRequests", "/dev/apps/"+app+"/requests", other, "")
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
	k.sessions(t)
	k.mailed(t)
	k.secondFactor(t)
	k.google(t)
	k.removal(t)
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
	k.want(t, 200, "updateApp", path+"?wait=nodes", session, `{"name":"Uno","rate_limit":1000,"description":null}`)
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
	token := k.want(t, 200, "streamKey", "", session, "")
	if got := token.header.Get("Cache-Control"); field(t, token, "key_id") != id || !strings.Contains(got, "no-store") {
		t.Errorf("the stream token %s stands for another key than %s, or may be cached: %q", token.body, id, got)
	}
	k.want(t, 404, "streamKey", "", other, "")
	k.want(t, 404, "keyForStream", reveal, other, "")
	k.want(t, 422, "keyForStream", "/dev/playground/key-for-stream?app_id="+app, session, "")

	k.want(t, 422, "createKey", path+"?wait=all", session, "")
	k.want(t, 404, "regenerateKey", path+"/"+spareID+"/regenerate", other, "")
	k.want(t, 422, "regenerateKey", path+"/"+spareID+"/regenerate", session, `{"grace":-1}`)
	k.want(t, 200, "regenerateKey", path+"/"+spareID+"/regenerate?wait=nodes", session, `{"grace":3600}`)
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
	k.idempotent(t, key)
	k.want(t, 200, "generate", "", key, `{"prompt":"hello"}`)
	k.want(t, 422, "generate", "", key, `{"prompt":"hello","max_tokens":"many"}`)
	k.want(t, 404, "generate", "", key, `{"prompt":"hello","family":"cats"}`)
	k.want(t, 200, "generateStream", "", key, `{"prompt":"hello"}`)
	k.openai(t, key)
}

// idempotent calls are made once.
func (k *caller) idempotent(t *testing.T, key string) {
	for _, body := range []string{`{"prompt":"hello once"}`, `{"prompt":"hello once","stream":true}`} {
		id := fmt.Sprintf("conformance %d", len(body))
		first := k.under(t, id, 200, key, body)
		again := k.under(t, id, 200, key, body)
		if again.body != first.body || first.header.Get("Idempotency-Replayed") != "" || again.header.Get("Idempotency-Replayed") != "true" {
			t.Errorf("%s %v, then %s %v", first.body, first.header, again.body, again.header)
		}
		k.under(t, id, 409, key, `{"prompt":"hello twice"}`)
	}
	k.under(t, strings.Repeat("x", 256), 422, key, `{"prompt":"hello"}`)
}

// under calls the agent under an Idempotency-Key.
func (k *caller) under(t *testing.T, id string, status int, key, body string) answer {
	t.Helper()
	a := k.sendUnder(t, id, "agent", "", key, "application/json", body)
	if a.status != status {
		t.Errorf("agent under %.20q: status %d, want %d: %.300s", id, a.status, status, a.body)
	}
	return a
}

// openai is what OpenAI's clients call.
func (k *caller) openai(t *testing.T, key string) {
	const hello = `"model":"Darwin","messages":[{"role":"user","content":"hello"}]`
	for _, id := range []string{"chatCompletions", "openaiChatCompletions"} {
		k.want(t, 200, id, "", key, `{`+hello+`}`)
		k.want(t, 200, id, "", key, `{`+hello+`,"stream":true,"stream_options":{"include_usage":true}}`)
		for _, bad := range []string{``, `{`, `[]`, `{}`, `{"model":"Darwin","messages":[]}`, `{` + hello + `,"n":2}`} {
			k.want(t, 400, id, "", key, bad)
		}
		k.want(t, 404, id, "", key, `{"model":"Einstein","messages":[{"role":"user","content":"hello"}]}`)
		k.want(t, 413, id, "", key, `{"model":"`+strings.Repeat("x", 13<<20)+`"}`)
	}
	k.want(t, 200, "openaiModels", "", key, "")
	k.want(t, 200, "openaiModel", "/v1/models/Darwin", key, "")
	k.want(t, 404, "openaiModel", "/v1/models/Einstein", key, "")
}

// language is translation and deep search.
func (k *caller) language(t *testing.T, key string) {
	for id, credential := range map[string]string{"translate": key, "publicTranslate": ""} {
		if a := k.want(t, 200, id, "", credential, `{"text":"Good morning","target":"sw"}`); !strings.Contains(a.body, "[simulated sw] Good morning") {
			t.Errorf("%s: %s", id, a.body)
		}
		for _, bad := range []string{``, `{`, `[]`, `{}`, `{"text":"","target":"sw"}`, `{"text":" ","target":"sw"}`, `{"text":"Hi","target":"klingon"}`} {
			k.want(t, 422, id, "", credential, bad)
		}
	}
	k.want(t, 413, "publicTranslate", "", "", `{"text":"`+strings.Repeat("x", 64<<10)+`","target":"sw"}`)
	k.want(t, 422, "publicTranslate", "", "", `{"text":"`+strings.Repeat("x", 2001)+`","target":"sw"}`)
	k.want(t, 502, "translate", "", key, `{"text":"[[scenario:status code=500]]","target":"sw"}`)
	k.want(t, 429, "translate", "", key, `{"text":"[[scenario:status code=429]]","target":"sw"}`)
	k.want(t, 200, "translateLanguages", "", key, "")
	k.want(t, 200, "publicTranslateLanguages", "", "", "")

	report := k.want(t, 200, "deepSearch", "", key, `{"query":"history of the abacus"}`)
	for _, part := range []string{"data: Sources (query type: topic)\n", "data: [1] [simulated] Page 1 - https://page1.simulated.example/"} {
		if !strings.Contains(report.body, part) {
			t.Errorf("the report lacks %q: %s", part, report.body)
		}
	}
	for _, bad := range []string{``, `{`, `{}`, `{"query":""}`, `{"query":"x","max_tokens":0}`, `{"query":"x","language":"klingon"}`} {
		k.want(t, 422, "deepSearch", "", key, bad)
	}
	k.want(t, 502, "deepSearch", "", key, `{"query":"[[scenario:status code=403]]"}`)
}

// images are drawn by a model of the agent, or for a task.
func (k *caller) images(t *testing.T, key string) {
	const whole, task = `{"prompt":"a cat","model":"images"}`, `{"prompt":"a cat","task":"image_generation"}`
	for id, body := range map[string]string{"agent": whole, "generate": task} {
		if a := k.want(t, 200, id, "", key, body); field(t, a, "type") != "image" || !strings.HasPrefix(field(t, a, "image_b64"), "iVBORw0KGgo") {
			t.Errorf("%s: %.200s", id, a.body)
		}
	}
	for id, body := range map[string]string{"agent": `{"prompt":"a cat","model":"images","stream":true}`, "generateStream": task} {
		if a := k.want(t, 200, id, "", key, body); strings.Count(a.body, "data: ") != 2 || !strings.Contains(a.body, `"type":"image"`) {
			t.Errorf("%s: %.200s", id, a.body)
		}
	}
	k.want(t, 400, "agent", "", key, `{"prompt":"a cat","model":"translate"}`)
	k.want(t, 422, "generate", "", key, `{"prompt":"a cat","task":"image_generation","kwargs":{"size":"huge"}}`)
}

// speech is what an application does that listens and speaks.
func (k *caller) speech(t *testing.T, key string) {
	const audio = `"audio_base64":"UklGRgAAAABXQVZF"`
	k.want(t, 200, "sttStatus", "", key, "")
	said := k.want(t, 200, "transcribe", "", key, `{`+audio+`,"language":"sw","filename":"a.wav"}`)
	if !strings.Contains(said.body, "12 bytes, sha256 ") {
		t.Errorf("transcribe: got %s", said.body)
	}
	form := "--b\r\nContent-Disposition: form-data; name=\"audio\"; filename=\"a.wav\"\r\n\r\nsound\r\n" +
		"--b\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nauto\r\n--b--\r\n"
	if said := k.send(t, "transcribe", "", key, "multipart/form-data; boundary=b", form); said.status != 200 || !strings.Contains(said.body, "5 bytes, sha256 ") {
		t.Errorf("transcribe: got %d %s", said.status, said.body)
	}
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"audio_base64":""}`, `{"audio_base64":"?"}`, `{` + audio + `,"language":"?"}`} {
		k.want(t, 422, "transcribe", "", key, bad)
	}
	k.want(t, 413, "transcribe", "", key, `{"x":"`+strings.Repeat("x", 100<<10)+`",`+audio+`}`)
	k.want(t, 200, "synthesize", "", key, `{"text":"Habari yako","language":"sw"}`)
	k.want(t, 422, "synthesize", "", key, `{"text":""}`)
	for _, id := range []string{"voiceCharacteristics", "voiceAnalyze"} {
		k.want(t, 200, id, k.ops[id].Path+"?request=", key, `{`+audio+`,"format":"wav","language":"auto"}`)
		if got := k.send(t, id, "", key, "multipart/form-data; boundary=b", form); got.status != 200 {
			t.Errorf("%s: got %d %s", id, got.status, got.body)
		}
		k.want(t, 422, id, "", key, `{}`)
	}
	k.want(t, 200, "voiceID", "", key, `{"action":"extract",`+audio+`}`)
	k.want(t, 200, "voiceID", "", key, `{"action":"register","speaker_label":"asha",`+audio+`}`)
	k.want(t, 422, "voiceID", "", key, `{"action":"register",`+audio+`}`)
	k.want(t, 422, "voiceID", "", key, `{"action":"sing",`+audio+`}`)
	for _, id := range []string{"generate", "generateStream"} {
		for _, task := range []string{"speech_to_text", "text_to_speech", "voice_footprint"} {
			k.want(t, 200, id, "", key, `{"prompt":"hello","task":"`+task+`","kwargs":{`+audio+`}}`)
		}
		k.want(t, 422, id, "", key, `{"prompt":"hello","task":"speech_to_text"}`)
	}
}

// offer is what there is to have. The stack has no images.
func (k *caller) offer(t *testing.T, session string) {
	if c := k.want(t, 200, "catalog", "", "", ""); !strings.Contains(c.body, `"id":"Darwin"`) {
		t.Errorf("the catalog lacks the model Darwin: %s", c.body)
	}
	k.want(t, 200, "listDemos", "", session, "")
	k.want(t, 404, "demoPage", "/dev/demos/none-such", session, "")
	k.want(t, 404, "demoPage", "/dev/demos/none-such?t="+session, "", "")
	k.want(t, 401, "demoPage", "/dev/demos/none-such?t=nonsense", "", "")
	k.want(t, 404, "demoFilePage", "/dev/none-such.html", "", "")
	k.want(t, 404, "sdkFile", "/dev/sdk/none/such.js", "", "")
	k.want(t, 404, "sdkFile", "/dev/sdk/..%2f..%2fetc%2fpasswd", "", "")
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
