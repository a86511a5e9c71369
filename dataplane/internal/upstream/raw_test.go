package upstream

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

const (
	rawHead = `{"id":"chatcmpl-7","object":"chat.completion.chunk","created":9,"model":"Darwin","choices":`
	calling = `{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]},"finish_reason":null}`
	foreign = `data: {"id":"up-1","object":"chat.completion.chunk","model":"gpt-secret","provider":"somebody","usage":null,"choices":[`
)

// rawChat is a chat in the dialect's own words.
func rawChat(change func(r *Raw)) *Chat {
	r := &Raw{
		Fields: []byte(`"messages":[{"role":"user","content":"Say hello."}],"seed":1`), Model: []byte(`"Darwin"`), ID: []byte(`"chatcmpl-7"`),
		Created: 9, TextBytes: 10,
	}
	if change != nil {
		change(r)
	}
	return &Chat{Raw: r}
}

// framesOf relays a raw stream to its end and returns its events.
func framesOf(t *testing.T, s call.Stream) (frames []string, out call.Outcome) {
	t.Helper()
	defer s.Close()
	var to bytes.Buffer
	w := sse.NewWriter(&to, nil)
	out = s.Relay(w)
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for frame := range strings.SplitSeq(strings.TrimSuffix(to.String(), "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(frame, "data: ")
		if frame != "" && (!ok || !json.Valid([]byte(data))) {
			t.Errorf("frame %q", frame)
		}
		if frame != "" {
			frames = append(frames, data)
		}
	}
	return frames, out
}

func TestRawStreams(t *testing.T) {
	text := func(s string) string { return `[{"index":0,"delta":{"content":"` + s + `"},"finish_reason":null}]` }
	offered := func(r *Raw) { r.Tools = true }
	counted := func(r *Raw) { r.Usage = true }
	stop := `[{"index":0,"delta":{},"finish_reason":"stop"}]`
	for _, test := range []struct {
		name   string
		change func(r *Raw)
		events string
		want   []string
		end    string
		use    call.Usage
		fails  string
	}{
		{
			name: "rewritten, the count kept to ourselves", events: foreign + text("H")[1:] + "}\n\n" + foreign + text("i")[1:] + "}\n\n" + tail,
			want: []string{rawHead + text("H") + "}", rawHead + text("i") + "}", rawHead + stop + "}"}, end: plane.EndDone, use: provider,
		},
		{
			name: "the count when it is asked for", change: counted, events: foreign + text("Hi")[1:] + "}\n\n" + tail,
			want: []string{
				rawHead + text("Hi") + `,"usage":null}`, rawHead + stop + `,"usage":null}`,
				rawHead + `[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9}}`,
			}, end: plane.EndDone, use: provider,
		},
		{
			name: "no count where there is none", change: counted, events: foreign + text("Hi")[1:] + "}\n\n" + stopEvent + doneEvent,
			want: []string{rawHead + text("Hi") + `,"usage":null}`, rawHead + stop + `,"usage":null}`}, end: plane.EndDone, use: seen(1),
		},
		{
			name: "a role waits for the text", events: foreign + `{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n" + foreign + text("Hi")[1:] + "}\n\n" + tail,
			want: []string{rawHead + `[{"index":0,"delta":{"role":"assistant"}}]}`, rawHead + text("Hi") + "}", rawHead + stop + "}"},
			end:  plane.EndDone, use: provider,
		},
		{
			name: "nothing but a role and an end", events: foreign + `{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n" + stopEvent,
			want: []string{rawHead + `[{"index":0,"delta":{"role":"assistant"}}]}`, rawHead + stop + "}"}, end: plane.EndDone, use: seen(0),
		},
		{
			name: "a tool call", change: offered, events: foreign + calling + "]}\n\n" + tail,
			want: []string{rawHead + "[" + calling + "]}", rawHead + stop + "}"}, end: plane.EndDone, use: provider,
		},
		{
			name: "line breaks in JSON", events: "data: {\"choices\":\ndata: [{\"index\":0,\ndata: \"delta\":{\"content\":\"Hi\"}}]}\n\n" + tail,
			want: []string{rawHead + `[{"index":0,"delta":{"content":"Hi"}}]}`, rawHead + stop + "}"}, end: plane.EndDone, use: provider,
		},
		{
			name: "a tool call that nobody offered", events: foreign + text("Hi")[1:] + "}\n\n" + foreign + calling + "]}\n\n" + tail,
			want: []string{rawHead + text("Hi") + "}"}, end: plane.EndUpstreamCut, use: seen(1), fails: "tool call",
		},
		{
			name: "cut", change: counted, events: foreign + text("Hi")[1:] + "}\n\n" + foreign,
			want: []string{rawHead + text("Hi") + `,"usage":null}`}, end: plane.EndUpstreamCut, use: seen(1), fails: "broke off",
		},
		{
			name: "an error object", events: foreign + text("Hi")[1:] + "}\n\n" + `data: {"error":{"message":"lost the GPU"}}` + "\n\n" + doneEvent,
			want: []string{rawHead + text("Hi") + "}"}, end: plane.EndUpstreamCut, use: seen(1), fails: "lost the GPU",
		},
		{
			name: "not UTF-8", events: foreign + text("Hi")[1:] + "}\n\n" + foreign + `{"index":0,"delta":{"reasoning":"` + "\xff" + `"}}]}` + "\n\n" + tail,
			want: []string{rawHead + text("Hi") + "}"}, end: plane.EndUpstreamCut, use: seen(1), fails: "UTF-8",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			up, script := newScript(t, Options{}, func(a *act) { a.events(); a.chunk(test.events); a.end() })
			s, err := up.Open(t.Context(), rawChat(test.change))
			if err != nil {
				t.Fatal(err)
			}
			frames, out := framesOf(t, s)
			if !slices.Equal(frames, test.want) || out.End != test.end || out.Usage != test.use {
				t.Errorf("got %s\n%q\n%+v\nwant\n%q", out.End, frames, out.Usage, test.want)
			}
			checkFault(t, out.Err, apierr.BadGateway, test.fails)
			const asked = `{"model":"m","messages":[{"role":"user","content":"Say hello."}],"seed":1,"stream":true,"stream_options":{"include_usage":true}}`
			if script.bodies[0] != asked {
				t.Errorf("asked %s", script.bodies[0])
			}
		})
	}
}

// Another server can be asked as long as there was no output.
func TestARawStreamThatFailsAfterItsRoleHasNotBegun(t *testing.T) {
	up, _ := newScript(t, Options{}, func(a *act) {
		a.events()
		a.chunk(foreign + `{"index":0,"delta":{"role":"assistant"}}]}` + "\n\n" + `data: {"error":{"message":"lost the GPU"}}` + "\n\n")
		a.end()
	})
	if s, err := up.Open(t.Context(), rawChat(nil)); err == nil || !strings.Contains(apierr.From(err).Detail, "lost the GPU") {
		t.Errorf("got %v, %v", s, err)
	}
}

// An answer without a choice is none, however it ends.
func TestARawStreamWithoutAChoiceFails(t *testing.T) {
	for events, want := range map[string]string{
		doneEvent:              "without beginning it",
		usageEvent + doneEvent: "without beginning it",
		`error: {"code":500,"message":"no free slot","type":"server_error"}` + "\n\n" + doneEvent: "no free slot",
	} {
		up, _ := newScript(t, Options{}, func(a *act) { a.events(); a.chunk(events); a.end() })
		_, err := up.Open(t.Context(), rawChat(nil))
		checkFault(t, err, apierr.BadGateway, want)
	}
}

func TestRawAsk(t *testing.T) {
	const message = `[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]`
	const count = `{"prompt_tokens":7,"completion_tokens":2}`
	answer := func(choices, usage string) string {
		return `{"id":"up-1","object":"chat.completion","created":5,"model":"gpt-secret","provider":"somebody","system_fingerprint":"fp","choices":` +
			choices + `,"usage":` + usage + `}`
	}
	const head = `{"id":"chatcmpl-7","object":"chat.completion","created":5,"model":"Darwin","system_fingerprint":"fp","choices":`
	for _, test := range []struct {
		name, body, want, fails string
		tools                   bool
		use                     call.Usage
	}{
		{name: "a tool call", tools: true, body: answer(message, count), want: head + message + `,"usage":` + count + "}", use: provider},
		{name: "no count", tools: true, body: answer(message, "null"), want: head + message + "}", use: estimated(int64(len(message)+3) / 4)},
		{name: "a tool call that nobody offered", body: answer(message, count), fails: "tool call"},
		{name: "no choices", body: answer("[]", count), fails: "not a chat completion"},
		{name: "an error", body: `{"error":{"message":"lost the GPU"}}`, fails: "lost the GPU"},
	} {
		t.Run(test.name, func(t *testing.T) {
			up, script := newScript(t, Options{}, func(a *act) { a.body(200, "application/json", test.body) })
			got, err := up.Ask(t.Context(), rawChat(func(r *Raw) { r.Tools = test.tools }))
			checkFault(t, err, apierr.BadGateway, test.fails)
			if string(got.Text) != test.want || got.Use != test.use {
				t.Errorf("got %s %+v", got.Text, got.Use)
			}
			if asked := `{"model":"m","messages":[{"role":"user","content":"Say hello."}],"seed":1}`; script.bodies[0] != asked {
				t.Errorf("asked %s", script.bodies[0])
			}
		})
	}
}

// Callers answer tool calls by their ids. Some servers leave them empty, or out.
func TestToolCallsHaveIDs(t *testing.T) {
	part := func(tools string) string {
		return `data: {"choices":[{"index":0,"delta":{"tool_calls":` + tools + `}}]}` + "\n\n"
	}
	type toolCall struct {
		Index    int
		ID       *string
		Function struct{ Name, Arguments string }
	}
	type chosen struct {
		Choices []struct {
			Delta, Message struct {
				ToolCalls []toolCall `json:"tool_calls"`
			}
		}
	}
	read := func(t *testing.T, text string) (c chosen) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &c); err != nil || len(c.Choices) != 1 {
			t.Fatalf("%s: %v", text, err)
		}
		return c
	}
	whole := func(t *testing.T, tools string) []toolCall {
		t.Helper()
		up, _ := newScript(t, Options{}, func(a *act) {
			a.body(200, "application/json", `{"choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":`+tools+`},"finish_reason":"tool_calls"}]}`)
		})
		got, err := up.Ask(t.Context(), rawChat(func(r *Raw) { r.Tools = true }))
		if err != nil {
			t.Fatal(err)
		}
		return read(t, string(got.Text)).Choices[0].Message.ToolCalls
	}
	streamed := func(t *testing.T, parts ...string) (calls []toolCall) {
		t.Helper()
		up, _ := newScript(t, Options{}, func(a *act) { a.events(); a.chunk(strings.Join(parts, "") + tail); a.end() })
		s, err := up.Open(t.Context(), rawChat(func(r *Raw) { r.Tools = true }))
		if err != nil {
			t.Fatal(err)
		}
		frames, out := framesOf(t, s)
		if out.Err != nil {
			t.Fatal(out.Err)
		}
		for _, frame := range frames {
			calls = append(calls, read(t, frame).Choices[0].Delta.ToolCalls...)
		}
		return calls
	}
	ids := func(calls []toolCall) (list []string) {
		for _, c := range calls {
			if c.ID == nil {
				list = append(list, "none")
			} else {
				list = append(list, *c.ID)
			}
		}
		return list
	}
	made := func(id string) bool { return strings.HasPrefix(id, "call_") && len(id) == len("call_")+24 }

	const two = `[{"id":"","type":"function","function":{"name":"f","arguments":"{\"a\":1e2}"}},{"type":"function","function":{"name":"g","arguments":"{}"}},{"id":"mine","function":{"name":"h","arguments":"{}"}}]`
	got := whole(t, two)
	if l := ids(got); len(l) != 3 || !made(l[0]) || !made(l[1]) || l[0] == l[1] || l[2] != "mine" {
		t.Errorf("a whole answer has the ids %q", l)
	}
	if got[0].Function.Name != "f" || got[0].Function.Arguments != `{"a":1e2}` {
		t.Errorf("the call became %+v", got[0])
	}

	calls := streamed(
		t, part(`[{"index":0,"id":"","function":{"name":"f","arguments":""}}]`), part(`[{"index":0,"id":"","function":{"arguments":"{"}}]`),
		part(`[{"index":1,"function":{"name":"g","arguments":"{}"}},{"index":0,"function":{"arguments":"}"}}]`),
		part(`[{"index":2,"id":"mine","function":{"name":"h","arguments":""}}]`), part(`[{"index":2,"id":"","function":{"arguments":"{}"}}]`),
	)
	l := ids(calls)
	if want := []string{ids(got)[0], "none", ids(got)[1], "none", "mine", "none"}; !slices.Equal(l, want) {
		t.Errorf("a stream has the ids %q, want %q", l, want)
	}
	if calls[1].Function.Arguments != "{" || calls[3].Function.Arguments != "}" {
		t.Errorf("the parts became %+v", calls)
	}
}

func TestLowerHasTheMembersAskForLess(t *testing.T) {
	for _, tt := range []struct {
		fields string
		bounds [][2]int
		want   string
	}{
		{`"seed":1`, nil, `"seed":1`},
		{`"max_tokens":900,"seed":1`, [][2]int{{13, 16}}, `"max_tokens":70,"seed":1`},
		{`"max_tokens":60,"seed":1`, [][2]int{{13, 15}}, `"max_tokens":60,"seed":1`},
		{`"max_tokens":9e2,"max_completion_tokens":100`, [][2]int{{13, 16}, {41, 44}}, `"max_tokens":70,"max_completion_tokens":70`},
	} {
		r := Raw{Fields: []byte(tt.fields), Bounds: tt.bounds}
		if r.Lower(70); string(r.Fields) != tt.want {
			t.Errorf("%s became %s, want %s", tt.fields, r.Fields, tt.want)
		}
	}
}
