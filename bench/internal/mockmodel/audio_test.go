package mockmodel

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAudioIsAnsweredByWhatArrived(t *testing.T) {
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	defer server.Close()
	ask := func(path, contentType, body string) (int, string) {
		t.Helper()
		answer, err := http.Post(server.URL+path, contentType, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil || answer.Header.Get("X-Simulator") == "" {
			t.Errorf("%s: %v, header %v", path, err, answer.Header)
		}
		return answer.StatusCode, string(text)
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, _ := w.CreateFormFile("file", "a.wav")
	_, _ = part.Write([]byte("sound"))
	_ = w.WriteField("response_format", "verbose_json")
	_ = w.Close()
	status, got := ask("/v1/audio/transcriptions", w.FormDataContentType(), form.String())
	want := fmt.Sprintf("Simulated transcript of a.wav. 5 bytes, sha256 %x.", sha256.Sum256([]byte("sound")))[:58]
	if status != 200 || !strings.Contains(got, want) || !strings.Contains(got, `"segments"`) {
		t.Errorf("got %d %s, want %s", status, got, want)
	}
	status, got = ask("/v1/audio/speech", "application/json", `{"input":"hello"}`)
	if size := binary.LittleEndian.Uint32([]byte(got[40:])); status != 200 || got[:4] != "RIFF" || int(size) != len(got)-44 || size != 5*toneRate/20*2 {
		t.Errorf("got %d, %q, %d bytes of %d", status, got[:44], size, len(got))
	}
	for path, want := range map[string]string{"/native/voice/characteristics": `"median_hz"`, "/native/voice/analyze": `"register"`, "/native/voice-id": `"embedding_dim":32`} {
		_, first := ask(path, "application/json", `{"audio_base64":"c291bmQ="}`)
		status, again := ask(path, "application/json", `{"audio_base64":"c291bmQ="}`)
		if status != 200 || first != again || !strings.Contains(first, want) || !strings.Contains(first, "simulator") {
			t.Errorf("%s: got %d %s, then %s", path, status, first, again)
		}
		if status, _ := ask(path, "application/json", `{"audio_base64":"?"}`); status != 400 {
			t.Errorf("%s: status %d for no base64", path, status)
		}
	}
	for path, contentType := range map[string]string{"/v1/audio/transcriptions": "application/json", "/v1/audio/speech": "application/json"} {
		if status, _ := ask(path, contentType, `{}`); status != 400 {
			t.Errorf("%s: status %d for nothing", path, status)
		}
	}
}
