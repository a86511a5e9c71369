package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func decode(t *testing.T, body string) *Request {
	t.Helper()
	req, err := Decode([]byte(body))
	if err != nil {
		t.Fatalf("Decode(%s): %v", body, err)
	}
	return req
}

func TestTokensJoinToTheText(t *testing.T) {
	for _, text := range []string{
		"", " ", "one", "one two", "  lead", "trail  ", "a\n\nb", strings.Repeat("x", 12), strings.Repeat("x", 13),
		strings.Repeat("é", 25) + " end", "日本語 のテキスト", "\xff\xfe broken",
	} {
		checkTokens(t, text)
	}
	if got := Tokens("Hello big  world "); fmt.Sprintf("%q", got) != `["Hello" " big" "  world "]` {
		t.Errorf("tokens are %q", got)
	}
}

func checkTokens(t *testing.T, text string) {
	t.Helper()
	tokens := Tokens(text)
	if got := strings.Join(tokens, ""); got != text {
		t.Errorf("tokens of %q join to %q", text, got)
	}
	if got := CountTokens(text); got != len(tokens) {
		t.Errorf("CountTokens(%q) = %d, but there are %d tokens", text, got, len(tokens))
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("one two  three")
	f.Fuzz(func(t *testing.T, text string) { checkTokens(t, text) })
}

func TestDecodeRefuses(t *testing.T) {
	const msgs = `"messages":[{"role":"user","content":"hi"}]`
	for _, tc := range []struct{ body, param, part string }{
		{`{`, "", "could not parse"},
		{`[]`, "", "Invalid type"},
		{`{"model":"m",` + msgs + `} x`, "", "could not parse"},
		{`{` + msgs + `}`, "model", "must provide a model"},
		{`{"model":7,` + msgs + `}`, "model", "expected string"},
		{`{"model":"m"}`, "messages", "empty array"},
		{`{"model":"m","messages":[{"role":"king","content":"hi"}]}`, "messages[0].role", "Supported values"},
		{`{"model":"m","messages":[{"role":"user"}]}`, "messages[0].content", "got null"},
		{`{"model":"m","messages":[{"role":"user","content":null}]}`, "messages[0].content", "got null"},
		{`{"model":"m","messages":[{"role":"user","content":5}]}`, "messages.content", "Invalid type"},
		{`{"model":"m","messages":[{"role":"user","content":[{"type":"film"}]}]}`, "messages.content.type", "'film'"},
		{`{"model":"m","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, "messages.content.image_url", "Missing"},
		{`{"model":"m","messages":[{"role":"tool","content":"x"}]}`, "messages[0].tool_call_id", "tool_call_id"},
		{`{"model":"m",` + msgs + `,"temperature":2.1}`, "temperature", "between 0 and 2"},
		{`{"model":"m",` + msgs + `,"temperature":"hot"}`, "temperature", "Invalid type"},
		{`{"model":"m",` + msgs + `,"top_p":-1}`, "top_p", "between 0 and 1"},
		{`{"model":"m",` + msgs + `,"max_tokens":0}`, "max_tokens", "minimum"},
		{`{"model":"m",` + msgs + `,"max_tokens":1,"max_completion_tokens":1}`, "max_tokens", "same time"},
		{`{"model":"m",` + msgs + `,"n":2}`, "n", "one choice"},
		{`{"model":"m",` + msgs + `,"stream_options":{"include_usage":true}}`, "stream_options", "only allowed"},
		{`{"model":"m",` + msgs + `,"tools":[]}`, "tools", "empty array"},
		{`{"model":"m",` + msgs + `,"tools":[{"type":"function","function":{"name":"a b"}}]}`, "tools.function.name", "64"},
		{`{"model":"m",` + msgs + `,"tool_choice":"required"}`, "tool_choice", "only allowed"},
		{`{"model":"m",` + msgs + `,"tool_choice":"maybe"}`, "tool_choice", "'maybe'"},
		{`{"model":"m",` + msgs + `,"tools":[{"type":"function","function":{"name":"a"}}],"tool_choice":{"type":"function","function":{"name":"b"}}}`, "tool_choice", "not among"},
		{`{"model":"m",` + msgs + `,"stop":["1","2","3","4","5"]}`, "stop", "too long"},
		{`{"model":"m",` + msgs + `,"response_format":{"type":"xml"}}`, "response_format.type", "'xml'"},
	} {
		_, err := Decode([]byte(tc.body))
		var e *Error
		if !errors.As(err, &e) || e.Status != 400 || e.Type != "invalid_request_error" {
			t.Errorf("%s: got %v, want a 400", tc.body, err)
			continue
		}
		if e.Param != tc.param || !strings.Contains(e.Message, tc.part) {
			t.Errorf("%s: param %q, message %q; want %q and %q", tc.body, e.Param, e.Message, tc.param, tc.part)
		}
	}
}

func TestComposeTextAndUsage(t *testing.T) {
	req := decode(t, `{"model":"m","messages":[{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"look at this"},{"type":"image_url","image_url":{"url":"data:,x"}}]}]}`)
	a := Compose(req, "look at this", "chatcmpl-1", 7)
	want := "Simulated answer. You said: look at this [images received: 1] [messages received: 2]"
	if a.Text() != want {
		t.Errorf("text is %q, want %q", a.Text(), want)
	}
	if a.Usage.PromptTokens != 2+3+PartTokens || a.Usage.CompletionTokens != len(a.Tokens) ||
		a.Usage.TotalTokens != a.Usage.PromptTokens+a.Usage.CompletionTokens {
		t.Errorf("usage is %+v", a.Usage)
	}
}

func TestComposeLimitAndStop(t *testing.T) {
	req := decode(t, `{"model":"m","max_tokens":3,"messages":[{"role":"user","content":"hi there you"}]}`)
	if a := Compose(req, "hi there you", "i", 0); a.FinishReason != "length" || a.Text() != "Simulated answer. You" || a.Usage.CompletionTokens != 3 {
		t.Errorf("limited: %q %q %+v", a.FinishReason, a.Text(), a.Usage)
	}
	req = decode(t, `{"model":"m","stop":" said","messages":[{"role":"user","content":"hi"}]}`)
	if a := Compose(req, "hi", "i", 0); a.FinishReason != "stop" || a.Text() != "Simulated answer. You" {
		t.Errorf("stopped: %q %q", a.FinishReason, a.Text())
	}
}

func TestComposeTools(t *testing.T) {
	const tools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object",
		"properties":{"city":{"type":"string"},"unit":{"enum":["C","F"]},"days":{"type":"integer","minimum":2},"opt":{"type":"string"}},
		"required":["city","unit","days"]}}},{"type":"function","function":{"name":"clock"}}]`
	for _, tc := range []struct{ choice, said, want string }{
		{`"none"`, "call clock", ""},
		{`"auto"`, "how is it", ""},
		{`"auto"`, "please call clock, now", "clock{}"},
		{`"auto"`, "call clock and call weather", `weather{"city":"call clock and call weather","days":2,"unit":"C"}clock{}`},
		{`"required"`, "Lyon", `weather{"city":"Lyon","days":2,"unit":"C"}`},
		{`{"type":"function","function":{"name":"clock"}}`, "Lyon", "clock{}"},
	} {
		said, _ := json.Marshal(tc.said)
		req := decode(t, `{"model":"m","messages":[{"role":"user","content":`+string(said)+`}],`+tools+`,"tool_choice":`+tc.choice+`}`)
		a := Compose(req, tc.said, "chatcmpl-1", 0)
		var calls strings.Builder
		for _, c := range a.Calls {
			calls.WriteString(c.Function.Name + c.Function.Arguments)
		}
		got := calls.String()
		if got != tc.want || (got != "") != (a.FinishReason == "tool_calls") {
			t.Errorf("%s %q: calls %q, finish %q; want %q", tc.choice, tc.said, got, a.FinishReason, tc.want)
		}
	}
}

func TestComposeJSONFormats(t *testing.T) {
	const head = `{"model":"m","messages":[{"role":"user","content":"hi"}],"response_format":`
	a := Compose(decode(t, head+`{"type":"json_object"}}`), "hi", "i", 0)
	if a.Text() != `{"simulated":true,"you_said":"hi"}` {
		t.Errorf("json_object: %s", a.Text())
	}
	a = Compose(decode(t, head+`{"type":"json_schema","json_schema":{"schema":{"$ref":"#/$defs/a",
		"$defs":{"a":{"type":"object","properties":{"list":{"type":"array","items":{"anyOf":[{"type":"boolean"}]}},"self":{"$ref":"#/$defs/a"}},"required":["list"]}}}}}}`), "hi", "i", 0)
	if a.Text() != `{"list":[true]}` {
		t.Errorf("json_schema: %s", a.Text())
	}
}

func TestChunksAddUpToTheUnaryAnswer(t *testing.T) {
	req := decode(t, `{"model":"m","stream":true,"messages":[{"role":"user","content":"one <two> three"}]}`)
	a := Compose(req, "one <two> three", "chatcmpl-1", 9)
	var text strings.Builder
	var kinds []Kind
	for c := range a.Chunks(true) {
		var chunk struct {
			Object  string
			Choices []struct {
				Delta        struct{ Role, Content string }
				FinishReason *string `json:"finish_reason"`
			}
			Usage *Usage
		}
		if err := json.Unmarshal(c.Data, &chunk); err != nil || chunk.Object != "chat.completion.chunk" {
			t.Fatalf("chunk %s: %v", c.Data, err)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != c.Kind {
			kinds = append(kinds, c.Kind)
		}
		if (c.Kind == KindUsage) != (chunk.Usage != nil) || (c.Kind == KindUsage) != (len(chunk.Choices) == 0) {
			t.Errorf("usage in the wrong place: %s", c.Data)
		}
		if len(chunk.Choices) == 1 {
			text.WriteString(chunk.Choices[0].Delta.Content)
		}
	}
	if fmt.Sprint(kinds) != "[0 1 2 3]" || text.String() != a.Text() {
		t.Errorf("kinds %v, text %q; want %q", kinds, text.String(), a.Text())
	}
	if !strings.Contains(string(a.JSON(true)), "one <two> three") {
		t.Errorf("unary answer escapes: %s", a.JSON(true))
	}
}

func TestErrorObject(t *testing.T) {
	if got := string(ForStatus(429).JSON()); got != `{"error":{"message":"Simulated failure: 429 Too Many Requests.","type":"requests","param":null,"code":"rate_limit_exceeded"}}` {
		t.Error(got)
	}
}
