package upstream

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
	"modelgate.internal/shared/wire"
)

// audioService is a service of a dialect whose server answers with handler.
func audioService(t *testing.T, dialect, model string, o Options, handler http.HandlerFunc) *Service {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	s, err := NewService(plane.UpstreamSpec{ID: "up", Dialect: dialect, BaseURL: server.URL + "/v1", Model: model, Voice: "asha"}, "sesame", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

func TestATranscriptionIsAskedForAsOpenAIDoes(t *testing.T) {
	for model, format := range map[string]string{"whisper-1": "verbose_json", "": "verbose_json", "gpt-4o-transcribe": "json"} {
		s := audioService(t, plane.DialectTranscriptions, model, Options{}, func(w http.ResponseWriter, r *http.Request) {
			err := r.ParseMultipartForm(1 << 20)
			_, file, fileErr := r.FormFile("file")
			got := fmt.Sprint(r.Method, r.URL, r.Header["Authorization"], r.Form, file.Filename, file.Size, err, fileErr)
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]string{"text": got})
		})
		got, err := s.Transcribe(t.Context(), recordingOf([]byte("sound"), "mp3", "sw"))
		wanted := "model:[" + model + "] "
		if model == "" {
			wanted = ""
		}
		want := "POST /v1/audio/transcriptions [Bearer sesame] map[language:[sw] " + wanted + "response_format:[" + format + "]] audio.mp3 5 <nil> <nil>"
		if strings.ReplaceAll(got.Text, " ", "") != strings.ReplaceAll(want, " ", "") || err != nil {
			t.Errorf("got  %s, %v\nwant %s", got.Text, err, want)
		}
	}
}

func TestTranscriptsAreReadStrictly(t *testing.T) {
	for body, wrong := range map[string]string{
		`{"text":""}`: "", `{"text":"a","language":null,"duration":0,"segments":[{"start":0,"end":0,"text":""}]}`: "",
		`{}`: "no text", `{"text":null}`: "no text", `{"text":5}`: "not a transcript", `[]`: "not a transcript", `{"text":"a"`: "not a transcript",
		"{\"text\":\"\xff\"}": "not a transcript", `{"text":"a","duration":-1}`: "negative duration", `{"text":"a","duration":"1"}`: "not a transcript",
		`{"text":"a","segments":[{"end":1,"text":"a"}]}`:             "segment without text",
		`{"text":"a","segments":[{"start":2,"end":1,"text":"a"}]}`:   "segment without text",
		`{"text":"a","segments":[{"start":0,"end":1}]}`:              "segment without text",
		`{"text":"a","segments":[{"start":-1,"end":1,"text":"a"}]}`:  "segment without text",
		`{"text":"a","segments":[{"start":"0","end":1,"text":"a"}]}`: "not a transcript",
	} {
		_, err := audioService(t, plane.DialectTranscriptions, "m", Options{}, says(body)).Transcribe(t.Context(), recordingOf([]byte("x"), "", ""))
		_, spent := errors.AsType[*UploadError](err)
		if e := apierr.From(err); (wrong == "") != (err == nil) || err != nil && (!spent || e.Kind != apierr.BadGateway || !strings.Contains(e.Detail, wrong)) {
			t.Errorf("%s: %v, want %q", body, err, wrong)
		}
	}
}

func TestLanguagesHaveCodes(t *testing.T) {
	for said, want := range map[string]string{"English": "en", "swahili": "sw", "sw": "sw", "Cantonese": "yue", "Haitian Creole": "ht", "": "", "klingon": "klingon"} {
		if got := languageCode(said); got != want {
			t.Errorf("%q is %q, want %q", said, got, want)
		}
	}
}

func TestPiecesAreTheText(t *testing.T) {
	part := func(texts ...string) (all []Segment) {
		for _, text := range texts {
			all = append(all, Segment{Text: text})
		}
		return all
	}
	for _, tt := range []struct {
		t    Transcript
		want string
	}{
		{Transcript{Text: "One. Two.", Segments: part(" One.", " Two.")}, "One.| Two."},
		{Transcript{Text: "One. Two. ", Segments: part("One.", "Two.")}, "One.| Two. "},
		{Transcript{Text: "一。二。", Segments: part("一。", "二。")}, "一。|二。"},
		{Transcript{Text: "Whole."}, "Whole."},
		{Transcript{Text: ""}, ""},
		{Transcript{Text: "Other.", Segments: part("One.", "Two.")}, "One.|Two."},
		{Transcript{Text: "One. Two. Three.", Segments: part("One.", "Two.")}, "One.|Two."},
	} {
		if got := strings.Join(tt.t.Pieces(), "|"); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.t, got, tt.want)
		}
	}
}

func TestAnUploadThatCannotConnectCanBeMadeAgain(t *testing.T) {
	s, err := NewService(plane.UpstreamSpec{ID: "up", Dialect: plane.DialectTranscriptions, BaseURL: "http://127.0.0.1:1"}, "", Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Transcribe(t.Context(), &Recording{Audio: iotest.ErrReader(errors.New("read"))})
	if _, spent := errors.AsType[*UploadError](err); spent || apierr.From(err).Kind != apierr.BadGateway {
		t.Errorf("got %v", err)
	}
}

func TestASilentServerOfUploads(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := audioService(t, plane.DialectTranscriptions, "m", Options{Timeouts: Timeouts{Answer: 100 * time.Millisecond}}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
	})
	_, err := s.Transcribe(t.Context(), recordingOf([]byte("x"), "", ""))
	if e := apierr.From(err); e.Kind != apierr.BadGateway || !strings.Contains(e.Detail, "did not finish its answer within 100ms") {
		t.Errorf("got %v", err)
	}
}

func TestASlowWholeAnswerIsBridgedByComments(t *testing.T) {
	release := make(chan struct{})
	s := audioService(t, plane.DialectTranscriptions, "m", Options{KeepAlive: 20 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-release
		says(`{"text":"a \"b\""}`)(w, r)
	})
	stream, err := s.TranscribeEvents(t.Context(), []byte("x"), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	if stream.(interface{ Started() bool }).Started() { //nolint:forcetypeassert // it must have the method
		t.Error("a stream without an answer has started")
	}
	var got bytes.Buffer
	w := sse.NewWriter(writer(func(p []byte) (int, error) {
		if got.Len() == 0 {
			time.AfterFunc(50*time.Millisecond, func() { close(release) })
		}
		return got.Write(p)
	}), nil)
	out := stream.Relay(w)
	_ = w.Flush()
	if text := got.String(); out.End != plane.EndDone || out.First.IsZero() || !strings.HasPrefix(text, ": keep-alive\n\n") ||
		!strings.HasSuffix(text, `data: {"type":"delta","text":"a \"b\""}`+"\n\n") {
		t.Errorf("%+v: %q", out, text)
	}
}

type writer func(p []byte) (int, error)

func (f writer) Write(p []byte) (int, error) { return f(p) }

func TestSpeechIsEncodedAsItArrives(t *testing.T) {
	audio := append([]byte("ID3"), bytes.Repeat([]byte{1, 2, 3, 4, 5, 6, 7}, 100_000)...)
	for name, counted := range map[string]bool{"counted": true, "in chunks": false} {
		s := audioService(t, plane.DialectSpeech, "tts", Options{}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if got := string(body); got != `{"input":"hello","model":"tts","response_format":"mp3","voice":"asha"}` {
				t.Errorf("asked %s", got)
			}
			if !counted {
				w.(http.Flusher).Flush() //nolint:forcetypeassert // of net/http
			}
			for rest := audio; len(rest) > 0; {
				n := min(len(rest), 1001)
				_, _ = w.Write(rest[:n])
				rest = rest[n:]
			}
		})
		got, said, err := s.Speak(t.Context(), "hello", []byte(`"`))
		if want := `"` + base64.StdEncoding.EncodeToString(audio); err != nil || said.Format != "mp3" || said.Seconds != nil || string(got) != want {
			t.Errorf("%s: %d bytes of %d, %+v, %v", name, len(got), len(want), said, err)
		}
	}
	s := audioService(t, plane.DialectSpeech, "tts", Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(append([]byte("ID3"), make([]byte, speechBytesMax)...))
	})
	if got, _, err := s.Speak(t.Context(), "hello", []byte("x")); string(got) != "x" || !strings.Contains(apierr.From(err).Detail, "over 16 MiB") {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestVoiceAnswersAreHeldToTheContract(t *testing.T) {
	const good = `{"f0":{"mean_hz":196,"median_hz":195,"min_hz":120,"max_hz":290,"std_hz":31},"gender":{"estimate":"female","confidence":0.8},` +
		`"register":"medium","speaking_rate":4.5,"voiced_ratio":0.6,"energy":{"mean_db":-23,"max_db":-9,"loudness_lufs":null},"duration_seconds":3}`
	if c, wrong := voiceCharacteristics([]byte(good)); wrong != "" || *c.F0.MeanHz != 196 || *c.SpeakingRate != 4.5 || c.Energy.LoudnessLUFS != nil {
		t.Errorf("%+v %s", c, wrong)
	}
	silence := strings.NewReplacer("196", "null", "195", "null", "120", "null", "290", "null", "31", "null").Replace(good)
	if _, wrong := voiceCharacteristics([]byte(silence)); wrong != "" {
		t.Errorf("silence %s", wrong)
	}
	for from, to := range map[string]string{
		`"mean_hz":196,`: ``, `196`: `null`, `120`: `300`, `31`: `-1`, `female`: `woman`, `0.8`: `1.1`, `medium`: `high`, `"speaking_rate":4.5,`: ``,
		`4.5`: `-1`, `0.6`: `2`, `"mean_db":-23,`: ``, `-9`: `null`, `,"loudness_lufs":null`: ``, `,"duration_seconds":3`: ``, `:3}`: `:"3"}`,
	} {
		body := strings.Replace(good, from, to, 1)
		if _, wrong := voiceCharacteristics([]byte(body)); wrong == "" || body == good {
			t.Errorf("%s is taken", body)
		}
	}
	for body, ok := range map[string]bool{
		`{"embedding":[0.5,0],"embedding_dim":2}`: true, `{"embedding":[0.5,0],"embedding_dim":2,"speaker_label":"a","score":0.5}`: true,
		`{"embedding":[0.5],"embedding_dim":2}`: false, `{"embedding":[0,0],"embedding_dim":2}`: false, `{"embedding":[],"embedding_dim":0}`: false,
		`{"embedding":[1]}`: false, `{}`: false, `{"embedding":[1],"embedding_dim":1,"score":"x"}`: false,
	} {
		if _, wrong := voiceFootprint([]byte(body)); (wrong == "") != ok {
			t.Errorf("%s: %q", body, wrong)
		}
	}
}

func TestAVoiceIsSentAsJSON(t *testing.T) {
	audio := bytes.Repeat([]byte("sound"), 10_000)
	s := audioService(t, plane.DialectNative, "", Options{}, func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Audio  []byte `json:"audio_base64"`
			Action string `json:"action"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || !bytes.Equal(q.Audio, audio) || q.Action != "extract" ||
			r.URL.Path != "/v1/voice-id" || r.Header.Get("X-Account-Id") != "acc" {
			t.Errorf("got %d bytes, %q, %s, %v", len(q.Audio), q.Action, r.URL, err)
		}
		says(`{"embedding":[1],"embedding_dim":1}`)(w, r)
	})
	voice := &Voice{Account: "acc", Audio: iotest.HalfReader(bytes.NewReader(audio)), Fields: func() ([]byte, error) { return []byte(`{"action":"extract"}`), nil }}
	got, err := s.VoiceFootprint(t.Context(), voice)
	if want := (wire.VoiceFootprint{Type: "voice_footprint", EmbeddingDim: 1}); err != nil || got.Type != want.Type || got.EmbeddingDim != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
}
