package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// results asks for predictions, biometrics, vision and skills as an app would, with the mistakes of one.
func (k *caller) results(t *testing.T, key, session string) {
	account := field(t, k.want(t, 200, "me", "", session, ""), "id")
	k.raised(t, key)
	const image = `"image_base64":"aGVsbG8="`
	k.biometrics(t, key, account, image)
	k.vision(t, key, account, image)
	k.skills(t, key)

	k.want(t, 200, "predict", "", key, `{"family":"emoticore","task":"text","input_data":{"text":"What a day!"}}`)
	k.want(t, 200, "predict", "", key, `{"audio_base64":"UklGRg==","speaker_label":"ada"}`)
	k.want(t, 200, "predict", "", key, `{"action":"register","audio_base64":"UklGRg==","speaker_label":"ada"}`)
	k.want(t, 404, "predict", "", key, `{"family":"cats","task":"face"}`)
	k.want(t, 404, "predict", "", key, `{"family":"emoticore","task":"smell"}`)
	k.want(t, 200, "predict", "", key, `{"family":"biometrix","task":"face","input_data":{"org_id":"another"}}`)
	k.want(t, 422, "predict", "", key, `{"family":"biometrix","task":"face","input_data":{"org_id":"an/other"}}`)
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"family":5,"task":"face"}`, `{"audio_base64":"UklGRg=="}`} {
		k.want(t, 422, "predict", "", key, bad)
	}
	k.want(t, 200, "generate", "", key, `{"family":"emoticore","task":"text","prompt":"What a day!"}`)
	stream := k.want(t, 200, "generateStream", "", key, `{"family":"emoticore","task":"text","prompt":"What a day!"}`)
	if n := strings.Count(stream.body, "data: "); n != 2 {
		t.Errorf("a result is streamed in %d events: %s", n-1, stream.body)
	}
	if list := k.want(t, 200, "listModels", "", key, ""); !strings.Contains(list.body, `"id":"biometrix"`) {
		t.Errorf("the key may use a model that is not listed: %s", list.body)
	}
}

// raised waits until the node judges the key by the account's new limits.
func (k *caller) raised(t *testing.T, key string) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		a := k.call(t, "predict", "", key, `{}`)
		if strings.Contains(a.header.Get("RateLimit-Policy"), "q=100000") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the limits are still %s", a.header.Get("RateLimit-Policy"))
		}
	}
}

func (k *caller) biometrics(t *testing.T, key, account, image string) {
	one := `{"family":"biometrix","task":"face","input_data":{` + image + `}}`
	subject := fmt.Sprintf(`"org_id":%q,"subject_id":"emp-17"`, account)
	for _, id := range []string{"detect", "extract", "identify"} {
		k.want(t, 200, id, "", key, one)
		k.want(t, 422, id, "", key, `{"input_data":{"image_base64":7}}`)
		k.want(t, 422, id, "", key, `{"input_data":{"image_base64":"data:image/png;base64,aGk="}}`)
	}
	k.want(t, 200, "compare", "", key, `{"input_data":{"probe":{`+image+`},"reference":{`+image+`}}}`)
	k.want(t, 422, "compare", "", key, `{"input_data":{"probe":{`+image+`}}}`)
	k.want(t, 200, "enroll", "", key, `{"input_data":{`+subject+`,`+image+`}}`)
	k.want(t, 200, "enroll", "", key, `{"input_data":{"org_id":"another","subject_id":"emp-18",`+image+`}}`)
	k.want(t, 422, "enroll", "", key, `{"input_data":{"org_id":"an/other","subject_id":"emp-18",`+image+`}}`)
	k.want(t, 422, "enroll", "", key, `{"input_data":{`+subject+`}}`)
	match := `{"input_data":{"org_id":"` + account + `",` + image + `}}`
	if a := k.want(t, 200, "match", "", key, match); !strings.Contains(a.body, `"subject_id":"emp-17"`) {
		t.Errorf("who was enrolled is not matched: %s", a.body)
	}
	if a := k.want(t, 200, "match", "", key, `{"input_data":{"org_id":"another",`+image+`}}`); !strings.Contains(a.body, `"subject_id":"emp-18"`) {
		t.Errorf("who was enrolled under a name is not matched under it: %s", a.body)
	}
	k.want(t, 422, "match", "", key, `{}`)
	k.want(t, 200, "deleteEnrollment", "", key, `{"input_data":{`+subject+`}}`)
	k.want(t, 200, "deleteEnrollmentByPost", "", key, `{"input_data":{`+subject+`}}`)
	for _, id := range []string{"deleteEnrollment", "deleteEnrollmentByPost"} {
		k.want(t, 200, id, "", key, `{"input_data":{"org_id":"another","subject_id":"emp-18"}}`)
		k.want(t, 422, id, "", key, `{"input_data":{}}`)
	}
	k.want(t, 413, "detect", "", key, `{"input_data":{"image_base64":"`+strings.Repeat("x", 13<<20)+`"}}`)
}

func (k *caller) vision(t *testing.T, key, account, image string) {
	org := fmt.Sprintf(`"org_id":%q`, account)
	k.want(t, 200, "depthEstimate", "", key, `{`+image+`,"detections":[{"bbox":[1,2,3,4]}],"intrinsics":{"fx":900,"fy":900,"cx":640,"cy":360}}`)
	k.want(t, 422, "depthEstimate", "", key, `{`+image+`,"detections":[{"bbox":[1,2,3]}]}`)
	k.want(t, 200, "spatialQuery", "", key, `{`+image+`,`+org+`,"radius_m":3.5,"task":"face"}`)
	k.want(t, 200, "spatialQuery", "", key, `{`+image+`,"org_id":"another","radius_m":3.5}`)
	k.want(t, 422, "spatialQuery", "", key, `{`+image+`,`+org+`,"radius_m":-1}`)
	views := `"views":[{"camera_id":"cam-1",` + image + `},{"camera_id":"cam-2",` + image + `}]`
	k.want(t, 200, "multicamIdentify", "", key, `{`+org+`,`+views+`,"enrich_depth":true,"similarity_threshold":0.6}`)
	k.want(t, 200, "multicamIdentify", "", key, `{"org_id":"another",`+views+`}`)
	k.want(t, 422, "multicamIdentify", "", key, `{`+org+`,"views":[]}`)
	frames := `{"frames":[{"t":0,"detections":[{"bbox":[40,32,180,410],"score":0.9}]},{"t":0.04,` + image + `}]}`
	for _, query := range []string{"", "?request=", "?request=anything"} {
		k.want(t, 200, "trackingAnalyze", "/api/v1/tracking/analyze"+query, key, frames)
	}
	k.want(t, 422, "trackingAnalyze", "", key, `{"frames":[{"t":0}]}`)
}

func (k *caller) skills(t *testing.T, key string) {
	if list := k.want(t, 200, "listSkills", "", key, ""); strings.Count(list.body, `"available":true`) != 13 {
		t.Errorf("not every skill of the specification is there: %s", list.body)
	}
	if c := k.want(t, 200, "catalog", "", "", ""); !strings.Contains(c.body, `"name":"biometrix_enroll"`) {
		t.Errorf("the catalog lacks the skills: %s", c.body)
	}
	invoke := func(status int, skill, body string) answer {
		return k.want(t, status, "invokeSkill", "/api/v1/skills/"+skill+"/invoke", key, body)
	}
	const face = `"task":"face","image_b64":"aGk="`
	invoke(200, "biometrix_enroll", `{"args":{"action":"enroll","user_id":"ada",`+face+`}}`)
	invoke(200, "biometrix_enroll", `{"args":{"action":"list_enrolled","task":"face"}}`)
	if a := invoke(200, "biometrix_identify", `{"args":{"action":"identify",`+face+`}}`); field(t, a, "user_id") != "ada" {
		t.Errorf("who was enrolled is not identified: %s", a.body)
	}
	invoke(200, "biometrix_enroll", `{"args":{"action":"delete_enrolled","task":"face","user_id":"ada"}}`)
	invoke(200, "create_pdf", `{"args":{"title":"Report","sections":[]}}`)
	invoke(200, "firmware_build", `{"args":{}}`)
	invoke(404, "fly", `{"args":{}}`)
	invoke(422, "biometrix_enroll", `{"args":{"action":"enroll",`+face+`}}`)
	for _, bad := range []string{``, `{`, `[]`, `{}`, `{"args":[]}`, `{"args":{"image_b64":"data:image/png;base64,aGk="}}`} {
		invoke(422, "create_pdf", bad)
	}
}
