package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestAGalleryIsOfItsAccount names galleries in every place in which a body can, as two accounts: what the server is told is never the
// same for both, and what a caller is told is the name that it gave.
func TestAGalleryIsOfItsAccount(t *testing.T) {
	n, server := startNative(t, unlimited)
	const image = `"image_base64":"aGk=","subject_id":"emp-17"`
	for _, tt := range []struct{ path, body string }{
		{"/api/v1/enroll", `{"input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/enroll", `{"input_data":{"org_id":"other","org_id":"@",` + image + `}}`}, // the last of two counts
		{"/api/v1/enroll", `{"input_data":{"org_id":"@","more":{"org_id":"@"},"list":[[{"org_id":"@"}]],"ORG_ID":"@",` + image + `}}`},
		{"/api/v1/delete_enrollment", `{"input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/match", `{"input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/match", `{"org_id":"@","input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/identify", `{"input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/detect", `{"input_data":{"org_id":"@",` + image + `}}`},
		{"/api/v1/spatial-query", `{"org_id":"@","radius_m":3.5,"image_base64":"aGk="}`},
		{"/api/v1/multicam-identify", `{"org_id":"@","views":[{"camera_id":"a","image_base64":"aGk="}]}`},
		{"/api/v1/predict", `{"family":"biometrix","task":"face","input_data":{"org_id":"@"}}`},
		{"/api/v1/generate", `{"family":"emoticore","task":"text","prompt":"x","kwargs":{"org_id":"@"}}`},
		{"/api/v1/stream", `{"family":"emoticore","task":"text","prompt":"does:events","kwargs":{"org_id":"@"}}`},
		{"/api/v1/skills/biometrix_face/invoke", `{"args":{"org_id":"@"}}`},
	} {
		ask := func(key, org string) (sent, answer string) {
			conn := send(t, n.main, post(tt.path, key, strings.ReplaceAll(tt.body, "@", org)))
			defer conn.Close()
			answer = string(receive(t, conn, "POST"))
			if !strings.HasPrefix(answer, "HTTP/1.1 200") {
				t.Fatalf("%s %s: %s", tt.path, org, answer)
			}
			return string(<-server.bodies), answer
		}
		for _, org := range []string{"acme", "org_3f7k2m9p", "dev_1", "dev_2", "0.a-b"} {
			mine, answer := ask("svc_test_ok", org)
			theirs, other := ask("svc_test_other", org)
			if want := named("dev_1", org); !strings.Contains(mine, `"org_id":"`+want+`"`) || strings.Count(strings.ToLower(mine), `"org_id"`) != strings.Count(mine, want) {
				t.Errorf("%s %s: dev_1's server is told %s", tt.path, org, mine)
			}
			if want := named("dev_2", org); !strings.Contains(theirs, `"org_id":"`+want+`"`) {
				t.Errorf("%s %s: dev_2's server is told %s", tt.path, org, theirs)
			}
			if strings.Contains(answer, `"org_id":"`) && (!strings.Contains(answer, `"org_id":"`+org+`"`) || !strings.Contains(other, `"org_id":"`+org+`"`)) {
				t.Errorf("%s %s: told %s and %s", tt.path, org, answer, other)
			}
		}
	}
}

func named(account, org string) string {
	if account == org {
		return org
	}
	return account + "/" + org
}

// TestNoNameReachesOutOfTheAccount tries names that are none.
func TestNoNameReachesOutOfTheAccount(t *testing.T) {
	n, _ := startNative(t, unlimited)
	for _, org := range []any{
		"", "dev_2/acme", "dev_1/acme", "/", "..", "../dev_2", ".a", "-", "a b", "a\x00", "ü", strings.Repeat("a", 129), 7, nil, []string{"dev_2"}, map[string]any{"a": 1}, true,
	} {
		name, err := json.Marshal(org)
		must(t, err)
		for path, body := range map[string]string{
			"/api/v1/match":                        `{"input_data":{"image_base64":"aGk=","org_id":@}}`,
			"/api/v1/identify":                     `{"input_data":{"image_base64":"aGk=","org_id":@}}`,
			"/api/v1/spatial-query":                `{"radius_m":1,"image_base64":"aGk=","org_id":@}`,
			"/api/v1/predict":                      `{"family":"biometrix","task":"face","input_data":{"org_id":@}}`,
			"/api/v1/skills/biometrix_face/invoke": `{"args":{"org_id":@}}`,
			"/api/v1/stream":                       `{"family":"emoticore","task":"text","prompt":"x","kwargs":{"org_id":@}}`,
		} {
			conn := send(t, n.main, post(path, "svc_test_ok", strings.ReplaceAll(body, "@", string(name))))
			answer := string(receive(t, conn, "POST"))
			must(t, conn.Close())
			if !strings.HasPrefix(answer, "HTTP/1.1 422") || !strings.Contains(answer, `"org_id"]`) {
				t.Errorf("%s %s: %s", path, name, answer)
			}
		}
	}
}
