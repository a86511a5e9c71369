package recording

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
)

type fields struct {
	Audio    string `json:"audio_base64" bind:"required,min=1"`
	Language string `json:"language" bind:"default=auto"`
	Filename string `json:"filename"`
}

const audioMax = 1 << 20

// read opens a body and reads it to its end.
func read(r io.Reader, contentType string) ([]byte, *fields, *Recording, error) {
	var f fields
	rec, err := Open(r, Options{Type: contentType, Length: -1, Max: audioMax, Fields: &f})
	if err != nil {
		return nil, nil, nil, err
	}
	audio, err := io.ReadAll(rec)
	return audio, &f, rec, err
}

const formType = "multipart/form-data; boundary=b"

func TestFieldsMayStandOnBothSides(t *testing.T) {
	const head = "--b\r\nContent-Disposition: form-data; name=\"audio\"; filename=\"a.WAV\"\r\n\r\n"
	const language = "--b\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nsw\r\n"
	audio := strings.Repeat("sound\r\n--b", 3000) + "."
	text := base64.StdEncoding.EncodeToString([]byte(audio))
	for name, tt := range map[string]struct{ contentType, body string }{
		"form, before": {formType, language + head + audio + "\r\n--b--"},
		"form, behind": {formType, "preamble\r\n" + head + audio + "\r\n" + language + "--b--\r\nepilogue"},
		"json, before": {"application/json", `{"language":"sw","filename":"a.wav","x":{"audio_base64":"no"},"audio_base64":"` + text + `"}`},
		"json, behind": {"Application/JSON; charset=utf-8", ` { "audio_base64" : "` + text + `" , "language":"s\u0077", "filename":"a.wav", "y":[1,"audio_base64"]}` + "\n"},
		"json, escaped": {
			"application/json",
			`{"filename":"a.wav","audio\u005fbase64":"` + strings.NewReplacer("/", `\/`, "+", `\u002B`).Replace(text) + `\r\n","language":"sw"}`,
		},
	} {
		for way, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.body), "byte by byte": iotest.OneByteReader(strings.NewReader(tt.body)),
			"error with data": iotest.DataErrReader(strings.NewReader(tt.body)),
		} {
			got, f, rec, err := read(r, tt.contentType)
			if err != nil || string(got) != audio || f.Language != "sw" || rec.Size() != int64(len(audio)) {
				t.Errorf("%s, %s: %d bytes of %d, fields %+v, %v", name, way, len(got), len(audio), f, err)
			} else if strings.Contains(name, "form") && rec.Format() != "wav" {
				t.Errorf("%s: format %q", name, rec.Format())
			}
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	const part = "--b\r\nContent-Disposition: form-data; name=\"audio\"\r\n\r\n"
	const jsonType = "application/json"
	for name, tt := range map[string]struct {
		contentType, body string
		status            int
		want              string
	}{
		"no type":              {"", `{}`, 422, "send multipart/form-data"},
		"other type":           {"audio/wav", `RIFF`, 422, "send multipart/form-data"},
		"no boundary":          {"multipart/form-data", part, 422, "send multipart/form-data"},
		"form without audio":   {formType, "--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n--b--", 422, `"loc":["body","audio"],"msg":"Field required"`},
		"empty form":           {formType, "", 422, "ends before its last boundary"},
		"empty file":           {formType, part + "\r\n--b--", 422, "the audio is empty"},
		"file twice":           {formType, part + "a\r\n" + part + "b\r\n--b--", 422, "twice"},
		"form that ends early": {formType, part + "abc", 422, "ends before its last boundary"},
		"form behind audio":    {formType, part + "abc\r\n--b\r\n", 422, "ends before its last boundary"},
		"bad part head":        {formType, "--b\r\nno colon\r\n\r\n", 422, "head cannot be read"},
		"many parts":           {formType, strings.Repeat("--b\r\n\r\n\r\n", partsMax+1) + "--b--", 422, "more than 32 parts"},
		"large head":           {formType, "--b\r\nX: " + strings.Repeat("x", fieldsBytesMax), 413, "beside the audio"},
		"large field":          {formType, part + "a\r\n--b\r\n\r\n" + strings.Repeat("x", 2*fieldsBytesMax), 413, "beside the audio"},
		"large epilogue":       {formType, part + "a\r\n--b--\r\n" + strings.Repeat("x", 2*fieldsBytesMax), 413, "beside the audio"},
		"large audio":          {formType, part + strings.Repeat("x", audioMax+1) + "\r\n--b--", 413, "The audio is larger than 1048576 bytes"},
		"empty body":           {jsonType, ``, 422, "Field required"},
		"no object":            {jsonType, `["audio_base64","QQ=="]`, 422, "body"},
		"no audio":             {jsonType, `{"language":5}`, 422, `"audio_base64"`},
		"audio no string":      {jsonType, `{"audio_base64":5}`, 422, "string_type"},
		"audio empty":          {jsonType, `{"audio_base64":""}`, 422, "string_too_short"},
		"audio of line ends":   {jsonType, `{"audio_base64":"\n"}`, 422, "the audio is empty"},
		"audio twice":          {jsonType, `{"audio_base64":"QQ==","audio_base64":"QQ=="}`, 422, "twice"},
		"field behind":         {jsonType, `{"audio_base64":"QQ==","language":[]}`, 422, `"loc":["body","language"]`},
		"data url":             {jsonType, `{"audio_base64":"data:audio/wav;base64,QQ=="}`, 422, "without a data: prefix; wrong at character 5"},
		"short base64":         {jsonType, `{"audio_base64":"QUI"}`, 422, "incomplete"},
		"padding in the midst": {jsonType, `{"audio_base64":"QQ==QQ=="}`, 422, "not base64"},
		"url alphabet":         {jsonType, `{"audio_base64":"QQ_-"}`, 422, "not base64"},
		"line end":             {jsonType, "{\"audio_base64\":\"QQ==\n\"}", 422, "control character"},
		"ends in the audio":    {jsonType, `{"audio_base64":"QUJD`, 422, `"loc":["body",21]`},
		"ends in an escape":    {jsonType, `{"audio_base64":"QUJD\u00`, 422, "unexpected end"},
		"ends behind":          {jsonType, `{"audio_base64":"QUJD"`, 422, `"loc":["body",22]`},
		"extra data":           {jsonType, `{"audio_base64":"QUJDQUJD"} x`, 422, `"loc":["body",28]`},
		"large fields":         {jsonType, `{"x":"` + strings.Repeat("x", fieldsBytesMax), 413, "beside the audio"},
		"large json audio":     {jsonType, `{"audio_base64":"` + strings.Repeat("QUJD", audioMax/3+1) + `"}`, 413, "The audio is larger"},
	} {
		_, _, _, err := read(strings.NewReader(tt.body), tt.contentType)
		if err == nil {
			t.Errorf("%s: accepted", name)
			continue
		}
		status, answer := apierr.Wire(err)
		if status != tt.status || !strings.Contains(string(answer), tt.want) {
			t.Errorf("%s: got %d %s, want %d with %s", name, status, answer, tt.status, tt.want)
		}
	}
}

func TestAStatedLengthIsJudgedFirst(t *testing.T) {
	for _, contentType := range []string{formType, "application/json"} {
		_, err := Open(iotest.ErrReader(errors.New("read")), Options{Type: contentType, Length: 3 * audioMax, Max: audioMax, Fields: &fields{}})
		if apierr.From(err).Kind != apierr.TooLarge {
			t.Errorf("%s: %v", contentType, err)
		}
	}
}

func TestErrorsOfTheBodyArePassedOn(t *testing.T) {
	slow := apierr.New(apierr.Timeout, "Too slow.")
	for _, body := range []string{
		"--b\r\nContent-Dis", "--b\r\nContent-Disposition: form-data; name=\"audio\"\r\n\r\nabc", `{"audio`, `{"audio_base64":"QUJD`, `{"audio_base64":"QUJD","x`,
	} {
		contentType := formType
		if body[0] == '{' {
			contentType = "application/json"
		}
		if _, _, _, err := read(io.MultiReader(strings.NewReader(body), iotest.ErrReader(slow)), contentType); !errors.Is(err, slow) {
			t.Errorf("%q: %v", body, err)
		}
		if _, _, _, err := read(io.MultiReader(strings.NewReader(body), iotest.ErrReader(slow.Because(io.EOF))), contentType); !errors.Is(err, slow) {
			t.Errorf("%q, around an end: %v", body, err)
		}
		_, _, _, err := read(io.MultiReader(strings.NewReader(body), iotest.ErrReader(io.ErrClosedPipe)), contentType)
		if !errors.Is(err, errBroken) || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestFormats(t *testing.T) {
	for head, want := range map[string]string{
		"RIFF\x00\x00\x00\x00WAVEfmt ": "wav", "RIFF\x00\x00\x00\x00AVI ": "", "ID3\x04": "mp3", "\xff\xfb\x90\x00": "mp3", "\xff\xf3\x40": "mp3", "\xff\xff": "",
		"fLaC": "flac", "OggS": "ogg", "\x1aE\xdf\xa3": "webm", "\x00\x00\x00\x20ftypM4A ": "m4a", "": "", "hello": "",
	} {
		if got := formatOf([]byte(head)); got != want {
			t.Errorf("%q is %q, want %q", head, got, want)
		}
	}
	for name, want := range map[string]string{"a.WAV": "wav", "b.tar.gz": "gz", "c": "", "d.": "", "e.\"x": "", "f.toolong": ""} {
		if got := ending(name); got != want {
			t.Errorf("%q ends in %q, want %q", name, got, want)
		}
	}
}

// endless is a body of n bytes of audio.
func endless(prefix, unit, suffix string, n int) io.Reader {
	return io.MultiReader(strings.NewReader(prefix), io.LimitReader(&cycle{unit: strings.Repeat(unit, 3000)}, int64(n)), strings.NewReader(suffix))
}

type cycle struct {
	unit string
	at   int
}

func (c *cycle) Read(p []byte) (int, error) {
	n := copy(p, c.unit[c.at:])
	c.at = (c.at + n) % len(c.unit)
	return n, nil
}

func TestMemoryIsBounded(t *testing.T) {
	const size = 16 << 20
	part := "--b\r\nContent-Disposition: form-data; name=\"audio\"\r\n\r\n"
	for name, tt := range map[string]struct {
		contentType string
		body        io.Reader
	}{
		"form": {formType, endless(part, "sound", "\r\n--b--\r\n", size)},
		"json": {"application/json", endless(`{"audio_base64":"`, "QUJD", `"}`, size/3*4)},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var f fields
		rec, err := Open(tt.body, Options{Type: tt.contentType, Length: -1, Max: size, Fields: &f})
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, rec, make([]byte, 32<<10))
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; err != nil || n < size-3 || got > 256<<10 {
			t.Errorf("%s: %d bytes, %d allocated, %v", name, n, got, err)
		}
	}
}

// FuzzObject holds that a JSON body is understood as package bind and encoding/base64 would understand it whole.
func FuzzObject(f *testing.F) {
	for _, seed := range []string{
		`{"audio_base64":"QUJD","language":"sw"}`, `{"language":"sw","x":[{"audio_base64":"QUJD"}],"audio_base64":"QU\/D\u002b\n"}`, `{"audio_base64":""}`,
		`{"audio_base64":null}`, ` [] `, `{"audio_base64":"QQ=="}}`, `{"audio_base64" "QQ=="}`, `{"audio\u005fbase64":"QQ=="}`, `"audio_base64":"QQ=="`,
		`{"a":"\"","audio_base64":"QQ==",}`, `{"a":"\\","audio_base64":"QQ=="}`, `{"audio_base64":1"QQ=="}`,
	} {
		f.Add([]byte(seed))
	}
	var whole fields
	if _, want := apierr.Wire(bind.JSON([]byte(`{"audio_base64":"QUJDQUJD"} x`), &whole)); !bytes.Contains(want, []byte(`"loc":["body",28]`)) {
		f.Errorf("the place of extra data: %s", want) // TestWhatIsRefused wants the same
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		audio, got, _, err := read(iotest.OneByteReader(bytes.NewReader(body)), "application/json")
		var want fields
		wantErr := bind.JSON(body, &want)
		var text []byte
		if wantErr == nil {
			text, wantErr = base64.StdEncoding.DecodeString(want.Audio)
			if wantErr == nil && len(text) == 0 {
				wantErr = io.EOF
			}
		}
		if wantErr != nil && err == nil {
			t.Fatalf("%q is taken for %q; it should be %v", body, audio, wantErr)
		}
		if wantErr == nil && err != nil && !strings.Contains(err.Error(), "Validation") {
			t.Fatalf("%q: %v", body, err)
		}
		if wantErr == nil && err != nil && json.Valid(body) && bytes.Count(body, []byte("audio")) == 1 && !bytes.Contains(body, []byte(`\`)) {
			_, answer := apierr.Wire(err)
			t.Fatalf("%q is refused: %s", body, answer)
		}
		if err == nil && (!bytes.Equal(audio, text) || got.Language != want.Language || got.Filename != want.Filename) {
			t.Fatalf("%q is %q with %+v, want %q with %+v", body, audio, got, text, want)
		}
	})
}

// FuzzForm holds that a form's audio is what mime/multipart gives for the whole body.
func FuzzForm(f *testing.F) {
	part := "--b\r\nContent-Disposition: form-data; name=\"audio\"; filename=a\r\n\r\n"
	for _, seed := range []string{part + "abc\r\n--b--", part + "--b\r\n--b--\r\n\r\n--b", "--b\r\n\r\nx\r\n" + part + "\r\n--b\r\n\r\n\r\n--b--"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		audio, _, _, err := read(iotest.HalfReader(bytes.NewReader(body)), formType)
		if err != nil {
			return
		}
		whole, err := multipart.NewReader(bytes.NewReader(body), "b").ReadForm(1 << 20)
		if err != nil {
			return // ReadForm judges the names of fields, too
		}
		defer whole.RemoveAll()
		var want []byte
		if files := whole.File["audio"]; len(files) == 1 {
			file, err := files[0].Open()
			if err != nil {
				t.Fatal(err)
			}
			want, _ = io.ReadAll(file)
		} else if values := whole.Value["audio"]; len(values) == 1 {
			want = []byte(values[0])
		} else {
			return
		}
		if !bytes.Equal(audio, want) {
			t.Fatalf("%q has the audio %q, want %q", body, audio, want)
		}
	})
}
