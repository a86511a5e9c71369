package conformance

import (
	"fmt"
	"strings"
	"testing"
)

// forwards are the operations that pass on the answer of one of the gateway.
func forwards() map[string]string {
	return map[string]string{
		"playgroundDeepSearch": "deepSearch", "playgroundVoice": "voiceCharacteristics", "playgroundBiometrix": "detect",
		"playgroundDepthEstimate": "depthEstimate", "playgroundSpatialQuery": "spatialQuery", "playgroundMulticamIdentify": "multicamIdentify",
	}
}

const (
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
	pairs = `"src_points":[[100,700],[1180,700],[900,400],[380,400]],"dst_points":[[0,0],[4,0],[4,6],[0,6]]`
)

// playground makes the calls that the portal makes for a developer. The key is there, and the nodes know it.
func (k *caller) playground(t *testing.T, session, other, app string) {
	account := field(t, k.want(t, 200, "me", "", session, ""), "id")
	if a := k.want(t, 200, "playground", "", session, `{"prompt":"hello","app_id":"`+app+`"}`); a.header.Get("X-Answered-By") != "gateway" {
		t.Errorf("who answered is not said: %v", a.header)
	}
	k.want(t, 200, "playground", "", session, `{"endpoint":"generate","prompt":"hello"}`)
	k.want(t, 400, "playground", "", session, `{"endpoint":"agent"}`)
	k.want(t, 401, "playground", "", session, `{"prompt":"hello","api_key":"svc_test_nonsense"}`)
	k.want(t, 404, "playground", "", session, `{"prompt":"hello","model":"Einstein"}`)
	k.want(t, 404, "playground", "", other, `{"prompt":"hello","app_id":"`+app+`"}`)
	k.want(t, 200, "playground", "", other, `{"prompt":"hello"}`) // without a key
	k.want(t, 200, "playground", "", other, `{"input_data":"hello"}`)
	k.want(t, 413, "playground", "", session, `{"prompt":"`+strings.Repeat("x", 13<<20)+`"}`)
	k.want(t, 422, "playground", "", session, `{"endpoint":"train"}`)
	if a := k.want(t, 200, "playgroundStream", "", session, `{"prompt":"hello"}`); !strings.HasSuffix(a.body, "data: [DONE]\n\n") {
		t.Errorf("the stream has no end: %s", a.body)
	}
	k.want(t, 422, "playgroundStream", "", session, `[]`)

	k.want(t, 422, "playgroundMulticamCalibrate", "", session, `{}`)
	k.want(t, 200, "playgroundMulticamCalibrate", "", session, `{"session_id":"lobby","camera_id":"cam-1",`+pairs+`}`)
	views := `{"session_id":"%s","org_id":"` + account + `","views":[{"camera_id":"cam-1","image_base64":"` + pixel + `"}]}`
	k.want(t, 409, "playgroundMulticamIdentify", "", session, fmt.Sprintf(views, "hall"))
	for id, body := range map[string]string{
		"playgroundDeepSearch":       `{"query":"history of the abacus"}`,
		"playgroundVoice":            `{"audio_base64":"UklGRg=="}`,
		"playgroundBiometrix":        `{"endpoint":"detect","input_data":{"image_base64":"` + pixel + `"}}`,
		"playgroundDepthEstimate":    `{"image_base64":"` + pixel + `"}`,
		"playgroundSpatialQuery":     `{"image_base64":"` + pixel + `","org_id":"` + account + `","radius_m":3}`,
		"playgroundMulticamIdentify": fmt.Sprintf(views, "lobby"),
	} {
		if id == "playgroundMulticamIdentify" {
			k.want(t, 409, id, "", other, body) // whose cameras are not calibrated
		} else {
			k.want(t, 200, id, "", other, body) // without a key
		}
		if !k.ops[forwards()[id]].Planned { // else the gateway's 501 is passed on
			k.want(t, 200, id, "", session, body)
		}
	}
}
