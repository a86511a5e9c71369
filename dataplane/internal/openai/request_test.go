package openai_test

import (
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/openai"
	"modelgate.internal/shared/apierr"
)

const hi = `"messages":[{"role":"user","content":"hi"}]`

func TestWhatIsPassedOn(t *testing.T) {
	r, err := openai.Parse([]byte(`{"stream":true,"store":true,"service_tier":"priority","model":"first","model":"Darwin","temperature":1.50,
		"stream_options":{"include_usage":true,"include_obfuscation":false},"seed":null,"tools":[{"type":"function","function":{"name":"f"}}],` + hi + `}`))
	if err != nil {
		t.Fatal(err)
	}
	raw := r.Chat.Raw
	const want = hi + `,"tools":[{"type":"function","function":{"name":"f"}}],"temperature":1.50`
	if string(raw.Fields) != want || r.Model != "Darwin" || !r.Stream || !raw.Tools || !raw.Usage || raw.TextBytes != 2 {
		t.Errorf("got %+v, fields %s", r, raw.Fields)
	}
	if r, err = openai.Parse([]byte(`{"model":"Darwin","stream_options":{"include_usage":true},"tools":[],` + hi + `}`)); err != nil ||
		r.Stream || r.Chat.Raw.Usage || r.Chat.Raw.Tools {
		t.Errorf("a plain call: %+v, %v", r, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	parts := func(part string) string { return `{"model":"m","messages":[{"role":"user","content":[` + part + `]}]}` }
	for body, where := range map[string]string{
		``:                                   "missing body",
		`[]`:                                 "model_attributes_type body",
		`{` + hi + `}`:                       "missing body model",
		`{"model":"m"}`:                      "missing body messages",
		`{"model":"m",`:                      "json_invalid body",
		`{"MODEL":"m",` + hi + `}`:           "missing body model",
		`{"model":"m","messages":[]}`:        "too_short body messages",
		`{"model":"m","n":0,` + hi + `}`:     "greater_than_equal body n",
		`{"model":"m","top_p":2,` + hi + `}`: "less_than_equal body top_p",
		`{"model":"m","tools":[{"type":"browser"}],` + hi + `}`:                                                   "literal_error body tools 0 type",
		`{"model":"m","messages":[{"role":"user","content":5}]}`:                                                  "string_type body messages 0 content",
		`{"model":"m","messages":[{"role":"boss","content":"x"}]}`:                                                "literal_error body messages 0 role",
		parts(`{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`):                             "value_error body messages 0 content 0 image_url url",
		parts(`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA==","url":"file:///etc/passwd"}}`): "value_error body messages 0 content 0 image_url url",
		parts(`{"type":"image_url","image_url":"https://example.com/a.png"}`):                                     "value_error body messages 0 content 0 image_url url",
		parts(`{"type":"text","text":"a"},{"type":"video_url","video_url":{"url":"http://10.0.0.1"}}`):            "literal_error body messages 0 content 1 type",
		parts(`{"image_url":"http://10.0.0.1"}`):                                                                  "literal_error body messages 0 content 0 type",
		parts(`"text"`):                                                                                           "literal_error body messages 0 content 0 type",
		parts(`{"type":"text"}`):                                                                                  "string_type body messages 0 content 0 text",
	} {
		_, err := openai.Parse([]byte(body))
		e := apierr.From(err)
		if e == nil || e.Kind != apierr.Invalid {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if got := place(e.Items[0]); !strings.HasPrefix(got, where) {
			t.Errorf("%s: %s, want %s", body, got, where)
		}
	}
	for _, part := range []string{
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}`, `{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}`,
	} {
		if _, err := openai.Parse([]byte(parts(part))); err != nil {
			t.Errorf("%s: %v", part, err)
		}
	}
}

func place(item apierr.Item) string {
	words := []string{item.Type}
	for _, step := range item.Loc {
		switch step := step.(type) {
		case string:
			words = append(words, step)
		case int:
			words = append(words, string(rune('0'+step)))
		}
	}
	return strings.Join(words, " ")
}

// Where the bound of an answer stands is known, so that less can be asked for.
func TestTheBoundCanBeLowered(t *testing.T) {
	r, err := openai.Parse([]byte(`{"model":"m","seed":1,"max_completion_tokens":800,"max_tokens": 900,"messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Chat.Raw.Lower(70)
	const want = `"messages":[{"role":"user","content":"hi"}],"max_tokens":70,"max_completion_tokens":70,"seed":1`
	if got := string(r.Chat.Raw.Fields); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
