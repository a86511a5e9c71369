package native

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
)

// ask returns the answer, and fails unless it says that it is simulated.
func ask(t *testing.T, n *Answers, path, body string) object {
	t.Helper()
	r := httptest.NewRequest("POST", "/native"+path, nil)
	r.Header.Set("X-Account-Id", "org_1")
	text, err := n.Answer(r, []byte(body))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var answer object
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	if answer["simulator"] != true || answer["backend"] != "simulator" {
		t.Errorf("%s: not labelled: %s", path, text)
	}
	return answer
}

func TestGalleryRemembers(t *testing.T) {
	n := New()
	const match = `{"input_data":{"org_id":"o","image_base64":"ada"}}`
	if a := ask(t, n, "/match", match); a["matched"] != false || a["score"] != nil {
		t.Errorf("an empty gallery: %v", a)
	}
	ask(t, n, "/enroll", `{"input_data":{"org_id":"o","subject_id":"s","image_base64":"ada"}}`)
	if a := ask(t, n, "/match", match); a["matched"] != true || a["subject_id"] != "s" {
		t.Errorf("the same sample: %v", a)
	}
	if a := ask(t, n, "/match", strings.Replace(match, `"o"`, `"p"`, 1)); a["matched"] != false {
		t.Errorf("another gallery: %v", a)
	}
	if a := ask(t, n, "/identify", match); a["total_matches"] != 1.0 {
		t.Errorf("identify: %v", a)
	}
	for _, want := range []bool{true, false} {
		if a := ask(t, n, "/delete_enrollment", `{"input_data":{"org_id":"o","subject_id":"s"}}`); a["deleted"] != want {
			t.Errorf("deleted: %v, want %v", a, want)
		}
	}
}

func TestSkillsRefineATemplate(t *testing.T) {
	n := New()
	for want := 1.0; want < 3; want++ {
		a := ask(t, n, "/skills/biometrix_enroll", `{"args":{"action":"enroll","task":"face","user_id":"ada","image_b64":"a"}}`)
		if a["samples"] != want {
			t.Errorf("enrolled: %v", a)
		}
	}
	if a := ask(t, n, "/skills/biometrix_identify", `{"args":{"action":"identify","task":"face","image_b64":"a"}}`); a["status"] != "match" {
		t.Errorf("identified: %v", a)
	}
	if a := ask(t, n, "/skills/firmware_build", `{"args":{}}`); a["type"] != "job" {
		t.Errorf("job: %v", a)
	}
}

func TestGalleriesAreBounded(t *testing.T) {
	g := gallery{known: map[string]map[string]sample{}}
	for i := range 3 * subjectsMax {
		g.enroll("g", string(rune('a'+i%26))+strings.Repeat("x", i/26), sample{count: 1})
		if held := len(g.known["g"]); held > subjectsMax || held != g.total {
			t.Fatalf("%d subjects, counted %d", held, g.total)
		}
	}
}

func TestUnknownIsAnError(t *testing.T) {
	for path, body := range map[string]string{"/fly": "{}", "/detect": "{"} {
		if _, err := New().Answer(httptest.NewRequest("POST", "/native"+path, nil), []byte(body)); err == nil {
			t.Errorf("%s %s is answered", path, body)
		}
	}
}
