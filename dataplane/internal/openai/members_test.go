package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"modelgate.internal/dataplane/internal/openai"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// What becomes of a member.
const (
	passed  = "passed on"
	ours    = "acted on by the gateway"
	nothing = "accepted without effect"
	refused = "refused by name"
)

// members are all that OpenAI's chat completion request has (openai-python 3.54, types/chat/completion_create_params.py), each with a value,
// and what becomes of it at a server that no parameters are configured for. A member is there once for each outcome.
func members() []struct{ name, value, outcome string } {
	return []struct{ name, value, outcome string }{
		{"messages", `[{"role":"user","content":"hi"}]`, passed},
		{"model", `"Darwin"`, ours},
		{"audio", `{"voice":"alloy","format":"wav"}`, refused},
		{"frequency_penalty", `0.5`, passed},
		{"function_call", `"auto"`, passed},
		{"functions", `[{"name":"f"}]`, passed},
		{"logit_bias", `{"50256":-100}`, passed},
		{"logprobs", `true`, passed},
		{"max_completion_tokens", `10`, passed},
		{"max_tokens", `10`, passed},
		{"metadata", `{"team":"a"}`, nothing},
		{"modalities", `["text"]`, nothing},
		{"modalities", `[ "text" ]`, nothing},
		{"modalities", `["text","audio"]`, refused},
		{"moderation", `{"model":"omni"}`, refused},
		{"n", `1`, passed},
		{"n", `2`, refused},
		{"parallel_tool_calls", `false`, passed},
		{"prediction", `{"type":"content","content":"hi"}`, passed},
		{"presence_penalty", `0.5`, passed},
		{"prompt_cache_key", `"k"`, nothing},
		{"prompt_cache_options", `{"mode":"implicit"}`, nothing},
		{"prompt_cache_retention", `"24h"`, nothing},
		{"reasoning_effort", `"low"`, passed},
		{"response_format", `{"type":"json_object"}`, passed},
		{"safety_identifier", `"u-1"`, nothing},
		{"seed", `7`, passed},
		{"service_tier", `"auto"`, nothing},
		{"service_tier", `"default"`, nothing},
		{"service_tier", `"priority"`, refused},
		{"stop", `["END"]`, passed},
		{"store", `false`, nothing},
		{"store", `true`, refused},
		{"stream", `true`, ours},
		{"stream_options", `{"include_usage":true}`, ours},
		{"stream_options", `{"include_usage": true, "include_obfuscation": false}`, ours},
		{"stream_options", `{"include_usage":true,"continuous_usage_stats":true}`, refused},
		{"temperature", `1.50`, passed},
		{"tool_choice", `"none"`, passed},
		{"tools", `[{"type":"function","function":{"name":"f"}}]`, passed},
		{"top_logprobs", `2`, passed},
		{"top_p", `0.9`, passed},
		{"user", `"u-1"`, passed},
		{"verbosity", `"low"`, passed},
		{"web_search_options", `{}`, refused},
		// What is no member of OpenAI's.
		{"top_k", `40`, refused},
		{"min_p", `0.1`, refused},
		{"grammar", `"root ::= \"a\""`, refused},
		{"guided_json", `{}`, refused},
		{"chat_template_kwargs", `{"enable_thinking":false}`, refused},
		{"repetition_penalty", `1.1`, refused},
		{"no_such_thing", `1`, refused},
		{"Temperature", `1`, refused},
		{"", `1`, refused},
		{`a"b`, `1`, refused},
		{"best_of", `2`, refused},
		{"n_predict", `9`, refused},
	}
}

// body is a request with one member more.
func body(name, value string) []byte {
	key, _ := json.Marshal(name)
	var all []string
	for _, must := range []struct{ name, member string }{{"model", `"model":"m"`}, {"messages", hi}} {
		if must.name != name {
			all = append(all, must.member)
		}
	}
	return []byte("{" + strings.Join(append(all, string(key)+":"+value), ",") + "}")
}

// TestNothingIsDroppedInSilence: each member is sent to the model server as it was written, or the gateway acts on it, or it is refused by its
// name, or the contract says that it has no effect.
func TestNothingIsDroppedInSilence(t *testing.T) {
	told := described(t)
	for _, m := range members() {
		r, err := openai.Parse(body(m.name, m.value))
		if err == nil {
			err = r.Extend(nil)
		}
		if (err != nil) != (m.outcome == refused) {
			t.Errorf("%s: %s is %s: %v", m.name, m.value, m.outcome, err)
			continue
		}
		if err != nil {
			e := apierr.From(err)
			param, _, _ := strings.Cut(e.Param, ".")
			if e.Kind != apierr.BadRequest || param != strings.ReplaceAll(m.name, `"`, `\"`) || !strings.Contains(e.Detail, "'"+e.Param+"'") || e.Code == "" {
				t.Errorf("%s: %s is refused with %+v", m.name, m.value, e)
			}
			continue
		}
		sent := strings.Contains(","+string(r.Chat.Raw.Fields)+",", `,"`+m.name+`":`+m.value+",")
		if sent != (m.outcome == passed) {
			t.Errorf("%s: %s is %s, and the server is sent %s", m.name, m.value, m.outcome, r.Chat.Raw.Fields)
		}
		if _, ok := told[m.name]; !ok || strings.Contains(told[m.name], "without effect") != (m.outcome == nothing) {
			t.Errorf("%s: %s is %s, and the contract says %q", m.name, m.value, m.outcome, told[m.name])
		}
	}
	for name := range told {
		if _, err := openai.Parse(body(name, "null")); err != nil && name != "model" && name != "messages" && name != "tools" && name != "functions" {
			t.Errorf("%s: null is not as good as absent: %v", name, err)
		}
	}
}

// described returns what the contract says of the members of a request.
func described(t *testing.T) map[string]string {
	t.Helper()
	text, err := contract.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Components struct {
			Schemas struct {
				ChatCompletionRequest struct {
					Properties map[string]struct{ Description string }
				}
			}
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for name, p := range d.Components.Schemas.ChatCompletionRequest.Properties {
		told[name] = p.Description
	}
	if len(told) == 0 {
		t.Fatal("the contract describes no members")
	}
	return told
}

// TestAServerIsPassedWhatItTakes: with a list of its own, also what is ignored or refused elsewhere.
func TestAServerIsPassedWhatItTakes(t *testing.T) {
	takes, err := plane.ParseParameters("llama.cpp no_such_thing metadata service_tier store web_search_options")
	if err != nil {
		t.Fatal(err)
	}
	const rest = `"top_k":40,"grammar":"root ::= \"a\"","no_such_thing":[1, 2],"metadata":{},"service_tier":"priority","store":true,"web_search_options":{}`
	r, err := openai.Parse([]byte(`{` + rest + `,"min_p":null,"model":"m",` + hi + `}`))
	if err == nil {
		err = r.Extend(takes)
	}
	const want = hi + `,"grammar":"root ::= \"a\"","metadata":{},"no_such_thing":[1, 2],"service_tier":"priority","store":true,"top_k":40,"web_search_options":{}`
	if err != nil || string(r.Chat.Raw.Fields) != want {
		t.Errorf("%v, fields %s", err, r.Chat.Raw.Fields)
	}
	if r, err = openai.Parse([]byte(`{"guided_json":{},"top_k":40,"model":"m",` + hi + `}`)); err == nil {
		err = r.Extend(takes)
	}
	if e := apierr.From(err); e == nil || e.Code != "unsupported_parameter" || e.Param != "guided_json" {
		t.Errorf("what another server takes: %v", err)
	}
}

func TestTheBoundStaysWhereMembersAreAdded(t *testing.T) {
	r, err := openai.Parse([]byte(`{"model":"m","top_k":1,"max_tokens":900,` + hi + `}`))
	if err == nil {
		err = r.Extend(plane.Parameters{"top_k": true})
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Chat.Raw.Lower(70)
	if got, want := string(r.Chat.Raw.Fields), hi+`,"max_tokens":70,"top_k":1`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// FuzzExtend: whatever is added, what is sent stays members of one object, each of which the request has.
func FuzzExtend(f *testing.F) {
	for _, m := range members() {
		f.Add(m.name, m.value)
	}
	takes, err := plane.ParseParameters("vllm llama.cpp sglang store metadata")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		text := body(name, value)
		r, err := openai.Parse(text)
		if err != nil || r.Extend(takes) != nil {
			return
		}
		var asked, sent map[string]any
		if err := json.Unmarshal(text, &asked); err != nil {
			t.Fatalf("%s was taken for a request", text)
		}
		if err := json.Unmarshal([]byte("{"+string(r.Chat.Raw.Fields)+"}"), &sent); err != nil {
			t.Fatalf("%s is sent: %v", r.Chat.Raw.Fields, err)
		}
		for member := range sent {
			if _, ok := asked[member]; !ok {
				t.Errorf("%q is sent and was not asked for in %s", member, text)
			}
		}
	})
}
