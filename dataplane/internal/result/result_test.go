package result_test

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/result"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// example is an operation of the document, as far as it says what is asked and answered.
type operation struct {
	ID      string `json:"operationId"`
	Request struct {
		Content map[string]media `json:"content"`
	} `json:"requestBody"`
	Responses map[string]struct {
		Content map[string]media `json:"content"`
	} `json:"responses"`
}

type media struct {
	Example json.RawMessage `json:"example"`
}

// examples returns request and answer of the document's operations.
func examples(t *testing.T) map[string][2]json.RawMessage {
	t.Helper()
	text, err := contract.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	found := map[string][2]json.RawMessage{}
	for _, methods := range doc.Paths {
		for _, raw := range methods {
			var op operation
			if json.Unmarshal(raw, &op) == nil && op.ID != "" {
				found[op.ID] = [2]json.RawMessage{
					op.Request.Content["application/json"].Example, op.Responses["200"].Content["application/json"].Example,
				}
			}
		}
	}
	return found
}

// TestShapesFitTheDocument takes every example of the document, and refuses it without any one of the fields that it has.
func TestShapesFitTheDocument(t *testing.T) {
	documented := examples(t)
	for id, shape := range map[string]result.Shape{
		"detect": result.Detect(), "extract": result.Extract(), "compare": result.Compare(), "identify": result.Identify(),
		"enroll": result.Enroll(), "deleteEnrollment": result.Delete(), "match": result.Match(), "depthEstimate": result.Depth(),
		"spatialQuery": result.Spatial(), "multicamIdentify": result.Multicam(), "trackingAnalyze": result.Tracking(),
	} {
		var asked, answer map[string]any
		numbers := func(text json.RawMessage, into *map[string]any) {
			d := json.NewDecoder(strings.NewReader(string(text)))
			d.UseNumber()
			if err := d.Decode(into); err != nil {
				t.Fatalf("%s: %v in %q", id, err, text)
			}
		}
		numbers(documented[id][0], &asked)
		numbers(documented[id][1], &answer)
		if _, wrong := shape.Check(asked, documented[id][1]); wrong != "" {
			t.Errorf("%s: the example %s", id, wrong)
		}
		for name, value := range answer {
			if name == "backend" {
				continue
			}
			for what, change := range map[string]func(){
				"without":        func() { delete(answer, name) },
				"with a strange": func() { answer[name] = map[string]any{"strange": true} },
			} {
				change()
				text, _ := json.Marshal(answer)
				if _, wrong := shape.Check(asked, text); wrong == "" {
					t.Errorf("%s: an answer %s %s is taken", id, what, name)
				}
				answer[name] = value
			}
		}
	}
}

func TestAnswersThatLie(t *testing.T) {
	asked := map[string]any{
		"radius_m": json.Number("2"), "views": []any{1, 2}, "frames": []any{1},
		"input_data": map[string]any{"org_id": "o", "subject_id": "s"},
	}
	for _, tt := range []struct {
		shape  result.Shape
		answer string
		wrong  string
	}{
		{result.Detect(), `[]`, "not a JSON object"},
		{result.Detect(), `null`, "not a JSON object"},
		{result.Detect(), `{"detections":[],"count":0}{}`, "not a JSON object"},
		{result.Detect(), "{\"detections\":[],\"count\":0,\"x\":\"\xff\"}", "not a JSON object"},
		{result.Detect(), `{"detections":[{"bbox":[1,2,3],"confidence":1}],"count":1}`, "detections[0].bbox has 3 items"},
		{result.Detect(), `{"detections":[{"bbox":[1,2,3,"4"],"confidence":1}],"count":1}`, "bbox[3] is not a finite number"},
		{result.Detect(), `{"detections":[{"bbox":[1,2,3,4],"confidence":1.5}],"count":1}`, "confidence is 1.5"},
		{result.Detect(), `{"detections":[],"count":0.5}`, "whole number"},
		{result.Extract(), `{"embedding":[1e999],"embedding_dim":1}`, "finite"},
		{result.Extract(), `{"embedding":[],"embedding_dim":0}`, "0 items"},
		{result.Extract(), `{"embedding":[1,2],"embedding_dim":3}`, "embedding_dim is 3"},
		{result.Compare(), `{"match":"true","score":1,"confidence":1,"threshold":1}`, "neither true nor false"},
		{result.Identify(), `{"matches":[{"id":"a","score":1,"confidence":1}],"total_matches":0}`, "total_matches is 0"},
		{result.Enroll(), `{"status":"queued","org_id":"o","subject_id":"s","embedding_dim":1}`, "not enrolled"},
		{result.Enroll(), `{"status":"enrolled","org_id":"p","subject_id":"s","embedding_dim":1}`, "org_id is not"},
		{result.Delete(), `{"deleted":true,"org_id":"o","subject_id":"t"}`, "subject_id is not"},
		{result.Match(), `{"matched":true,"subject_id":null,"score":1,"threshold":0.5,"candidates":[]}`, "does not go with"},
		{result.Match(), `{"matched":false,"subject_id":"s","score":1,"threshold":0.5,"candidates":[]}`, "does not go with"},
		{
			result.Spatial(), `{"subjects_in_radius":[{"subject_id":"s","score":1,"distance_m":3,"bbox":[1,2,3,4]}],"total_detected":1,"query_radius_m":2,"latency_ms":1}`,
			"3 m is not within 2 m",
		},
		{result.Spatial(), `{"subjects_in_radius":[],"total_detected":1,"query_radius_m":5,"latency_ms":1}`, "not the radius"},
		{result.Multicam(), `{"tracks":[],"total_views":1,"fused_subjects":0,"latency_ms":1}`, "1 for 2 views"},
		{result.Tracking(), `{"tracks":[],"total_frames":1,"total_tracks":1,"latency_ms":1}`, "total_tracks is 1"},
		{result.Answer(), `{"type":"poem"}`, "type that the contract does not have"},
		{result.Answer(), `{"error":{"message":"out of memory"}}`, "tells of an error"},
		{result.Answer(), `{"type":"image"}`, "lacks image_b64"},
		{result.Answer(), `{"type":"model3d","model_url":""}`, "neither model_b64"},
		{result.Answer(), `{"type":"job","skill":"s","job":{"id":"j","status":"queued","stream":"http://elsewhere/j"}}`, "firmware/jobs"},
		{result.Answer(), `{"type":"job","skill":"s","job":{"id":"j","status":"odd","stream":"/api/v1/firmware/jobs/j"}}`, "job.status is not"},
		{result.Answer(), `{"type":"text","text":"x","model":"m","usage":{"tokens_in":1,"tokens_out":-1,"source":"provider"}}`, "tokens_out"},
		{result.Event(), `{"type":"delta"}`, "lacks text"},
		{result.Event(), `{"type":"progress","progress":2}`, "progress is 2"},
		{result.Skill("biometrix_enroll", map[string]any{"action": "enroll", "user_id": "a"}), `{"status":"enrolled","enrolled":"b","task":"face","samples":1,"dim":2}`, "enrolled is not"},
		{result.Skill("biometrix_identify", map[string]any{"action": "identify"}), `{"status":"no_match","user_id":"a","score":0.1,"threshold":0.5}`, "does not go with"},
		{result.Skill("biometrix_enroll", map[string]any{"action": "list_enrolled"}), `{"enrolled":[1]}`, "enrolled[0]"},
		{result.Skill("biometrix_enroll", map[string]any{"action": "delete_enrolled"}), `{"status":"gone","user_id":"a"}`, "deleted or not_found"},
	} {
		if _, wrong := tt.shape.Check(asked, []byte(tt.answer)); !strings.Contains(wrong, tt.wrong) {
			t.Errorf("%s: got %q, want %q", tt.answer, wrong, tt.wrong)
		}
	}
	for _, fine := range []string{`{}`, `{"type":"job","skill":"s","job":{"id":"j","status":"queued","stream":"/api/v1/firmware/jobs/j"}}`} {
		if _, wrong := result.Answer().Check(asked, []byte(fine)); wrong != "" {
			t.Errorf("%s %s", fine, wrong)
		}
	}
}

func TestLabel(t *testing.T) {
	for _, tt := range []struct {
		body, want string
		simulator  bool
	}{
		{`{}`, `{"backend":"b"}`, false},
		{"{ \"a\": 1.50,\n \"z\": \"<}\" }\n", `{"a":1.50,"z":"<}","backend":"b"}`, false},
		{`{"backend":"midas"}`, `{"backend":"midas"}`, false},
		{`{"backend":"midas","a":1}`, `{"a":1,"backend":"b"}`, true},
		{`{"backend":5}`, `{"backend":"b"}`, false},
		{`{"a":{"backend":"inner"}}`, `{"a":{"backend":"inner"},"backend":"b"}`, true},
	} {
		said, wrong := result.Shape{}.Check(nil, []byte(tt.body))
		if got, err := result.Label([]byte(tt.body), said, "b", tt.simulator); wrong != "" || err != nil || string(got) != tt.want {
			t.Errorf("%s: got %s, %v %s; want %s", tt.body, got, err, wrong, tt.want)
		}
	}
}

func TestTensors(t *testing.T) {
	if _, wrong := result.Embedding(plane.InferTask{Dim: 3}, []float64{1, 2}); !strings.Contains(wrong, "2 numbers instead of 3") {
		t.Errorf("another length: %q", wrong)
	}
	if _, wrong := result.Embedding(plane.InferTask{Dim: 2}, []float64{0, 0}); wrong == "" {
		t.Error("zeros are taken")
	}
	labels := plane.InferTask{Labels: []string{"joy", "fear"}, Softmax: true}
	if _, wrong := result.Scores(labels, "f", "t", []float64{1}); wrong == "" {
		t.Error("a missing score is taken")
	}
	answer, wrong := result.Scores(labels, "f", "t", []float64{1000, 1000 + math.Log(3)})
	said, _ := answer["result"].(map[string]any)
	if score, _ := said["score"].(float64); wrong != "" || said["label"] != "fear" || math.Abs(score-0.75) > 1e-9 {
		t.Errorf("scores %+v, %s", answer, wrong)
	}
	scene := result.Scene{Width: 40, Height: 20, Request: &wire.DepthRequest{Detections: []wire.DepthDetection{
		{Bbox: []float64{20, 0, 40, 20}}, {Bbox: []float64{1e300, -1e300, 5, -7}},
	}}}
	answer, wrong = scene.DepthMap(plane.InferTask{Scale: 2}, []int{1, 2, 2}, []float64{1, 2, 1, 2}, time.Millisecond)
	if wrong != "" || answer["latency_ms"] != 1.0 {
		t.Fatalf("depth %+v, %s", answer, wrong)
	}
	placed, _ := answer["detections_3d"].([]map[string]any)
	if place, _ := placed[0]["position_m"].([]float64); len(placed) != 2 || place[0] != 1 || place[1] != 0 || place[2] != 4 {
		t.Errorf("placed %+v", placed)
	}
	if text, _ := json.Marshal(answer); !json.Valid(text) {
		t.Errorf("the answer does not encode: %+v", answer)
	}
	for wrongShape, data := range map[string][]float64{"[4]": {1, 1, 1, 1}, "-1": {1, 1, 1, -1}} {
		shape := []int{4}
		if wrongShape == "-1" {
			shape = []int{2, 2}
		}
		if _, wrong := scene.DepthMap(plane.InferTask{}, shape, data, 0); wrong == "" {
			t.Errorf("%s is taken", wrongShape)
		}
	}
	if _, err := result.SceneOf(&wire.DepthRequest{ImageBase64: base64.StdEncoding.EncodeToString([]byte("GIF89a"))}, false); err == nil {
		t.Error("no picture is taken")
	}
}
