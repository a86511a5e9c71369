package bind_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/bind"
	"modelgate.internal/shared/wire"
)

// violation binds body to dst and returns its only violation as compact JSON.
func violation(t *testing.T, body string, dst any) string {
	t.Helper()
	e, ok := errors.AsType[*apierr.Error](bind.JSON([]byte(body), dst))
	if !ok || e.Kind != apierr.Invalid {
		t.Fatalf("body %s: got %v, want a 422", body, e)
	}
	if len(e.Items) != 1 {
		t.Fatalf("body %s: got %d violations, want 1: %+v", body, len(e.Items), e.Items)
	}
	text, err := json.Marshal(e.Items[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestViolationsHavePydanticNames(t *testing.T) {
	tests := []struct{ body, want string }{
		{``, `{"type":"missing","loc":["body"],"msg":"Field required","input":null}`},
		{`[]`, `{"type":"model_attributes_type","loc":["body"],"msg":"Input should be a valid dictionary or object to extract fields from","input":[]}`},
		{`{"name":`, `{"type":"json_invalid","loc":["body",8],"msg":"JSON decode error","input":{},"ctx":{"error":"unexpected end of input"}}`},
		{`{"name":"a"} x`, `{"type":"json_invalid","loc":["body",13],"msg":"JSON decode error","input":{},"ctx":{"error":"extra data after the value"}}`},
		{`{}`, `{"type":"missing","loc":["body","name"],"msg":"Field required","input":{}}`},
		{`{"name":5}`, `{"type":"string_type","loc":["body","name"],"msg":"Input should be a valid string","input":5}`},
		{`{"name":""}`, `{"type":"string_too_short","loc":["body","name"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}}`},
		{`{"name":"a","environment":"prod"}`, `{"type":"literal_error","loc":["body","environment"],"msg":"Input should be 'test' or 'live'","input":"prod","ctx":{"expected":"'test' or 'live'"}}`},
		{`{"name":"a","families":"darwin"}`, `{"type":"list_type","loc":["body","families"],"msg":"Input should be a valid list","input":"darwin"}`},
		{`{"name":"a","families":["darwin","x"]}`, `{"type":"literal_error","loc":["body","families",1],"msg":"Input should be 'biometrix', 'darwin' or 'emoticore'","input":"x","ctx":{"expected":"'biometrix', 'darwin' or 'emoticore'"}}`},
		{`{"name":"a","rate_limit":0}`, `{"type":"greater_than_equal","loc":["body","rate_limit"],"msg":"Input should be greater than or equal to 1","input":0,"ctx":{"ge":1}}`},
		{`{"name":"a","rate_limit":"x"}`, `{"type":"int_type","loc":["body","rate_limit"],"msg":"Input should be a valid integer","input":"x"}`},
		{`{"name":"a","rate_limit":1.5}`, `{"type":"int_from_float","loc":["body","rate_limit"],"msg":"Input should be a valid integer, got a number with a fractional part","input":1.5}`},
		{`{"name":"a","rate_limit":null}`, `{"type":"int_type","loc":["body","rate_limit"],"msg":"Input should be a valid integer","input":null}`},
		{`{"name":"a","expires_at":"tomorrow"}`, `{"type":"datetime_parsing","loc":["body","expires_at"],"msg":"Input should be a valid datetime, expected RFC 3339, for example 2030-01-31T12:00:00Z","input":"tomorrow","ctx":{"error":"expected RFC 3339, for example 2030-01-31T12:00:00Z"}}`},
	}
	for _, tt := range tests {
		if got := violation(t, tt.body, new(wire.CreateAppRequest)); got != tt.want {
			t.Errorf("body %s:\n got %s\nwant %s", tt.body, got, tt.want)
		}
	}
}

func TestDefaultsAndTheLastOfEqualNames(t *testing.T) {
	var req wire.AgentRequest
	if err := bind.JSON([]byte(`{"prompt":"hi","stream":true,"max_tokens":5e0,"temperature":1,"extra":{}}`), &req); err != nil {
		t.Fatal(err)
	}
	if !req.Stream || req.MaxTokens != 5 || req.Temperature != 1 || req.Model != "Darwin" || req.Messages == nil {
		t.Errorf("got %+v", req)
	}
	if err := bind.JSON([]byte(`{"prompt":"a","prompt":"b","max_tokens":2048.0}`), &req); err != nil {
		t.Fatal(err)
	}
	if req.Prompt != "b" || req.MaxTokens != 2048 || req.Temperature != 0.7 {
		t.Errorf("got %+v", req)
	}
}

func TestNoTypeStandsForAnother(t *testing.T) {
	type body struct {
		Whole  int64   `json:"whole"`
		Number float64 `json:"number"`
		Truth  bool    `json:"truth"`
		Text   string  `json:"text"`
		Either any     `json:"either" bind:"types=string|array|null"`
		Any    any     `json:"any"`
	}
	for _, tt := range []struct{ body, want string }{
		{`{"whole":true}`, `int_type whole`},
		{`{"whole":"5"}`, `int_type whole`},
		{`{"whole":1.5}`, `int_from_float whole`},
		{`{"whole":9223372036854775808}`, `int_parsing_size whole`},
		{`{"whole":-1e19}`, `int_parsing_size whole`},
		{`{"number":false}`, `float_type number`},
		{`{"number":"1.5"}`, `float_type number`},
		{`{"truth":1}`, `bool_type truth`},
		{`{"truth":"true"}`, `bool_type truth`},
		{`{"text":7}`, `string_type text`},
		{`{"text":{}}`, `string_type text`},
		{`{"either":{}}`, `value_error either`},
		{`{"either":7}`, `value_error either`},
		{`{"number":1e400}`, `finite_number number`},
		{`{"whole":-1e400}`, `finite_number whole`},
		{`{"any":[1,{"b":2,"a":[1e-400]}]}`, `finite_number any 1 a 0`},
		{`{"any":` + strings.Repeat("9", 400) + `}`, `finite_number any`},
		{`{"unknown":1e999999999}`, `finite_number unknown`},
	} {
		e := apierr.From(bind.JSON([]byte(tt.body), new(body)))
		if e == nil || len(e.Items) != 1 {
			t.Errorf("%s: %v", tt.body, e)
			continue
		}
		words := []string{e.Items[0].Type}
		for _, step := range e.Items[0].Loc[1:] {
			words = append(words, fmt.Sprint(step))
		}
		if got := strings.Join(words, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.body, got, tt.want)
		}
	}
	for _, good := range []string{
		`{"whole":9223372036854775807,"number":1e308,"truth":true,"text":"7","either":["a"],"any":true}`,
		`{"whole":-0.0,"number":0e999,"either":null,"any":0.000}`, `{"whole":9007199254740993.0,"either":"a"}`,
	} {
		var b body
		if err := bind.JSON([]byte(good), &b); err != nil {
			t.Errorf("%s: %v", good, apierr.From(err).Items)
		}
		if strings.Contains(good, "993.0") && b.Whole != 9007199254740993 {
			t.Errorf("%s: %d", good, b.Whole)
		}
	}
}

func TestEveryViolationIsReported(t *testing.T) {
	err := bind.JSON([]byte(`{"prompt":1,"temperature":9,"messages":[{"role":"x"}]}`), new(wire.AgentRequest))
	e := apierr.From(err)
	var types []string
	for _, item := range e.Items {
		types = append(types, item.Type)
	}
	if got := strings.Join(types, " "); got != "string_type literal_error missing less_than_equal" {
		t.Errorf("got %s", got)
	}
}

func TestSecretsAreNotEchoed(t *testing.T) {
	for _, body := range []string{
		`{"name":"a","email":"a@b.c","password":"hunter2"}`,
		`{"email":"a@b.c","password":"hunter2hunter2"}`,
		`{"name":"a","email":"a@b.c","password":["hunter2"]}`,
	} {
		_, answer := apierr.Wire(bind.JSON([]byte(body), new(wire.RegisterRequest)))
		if strings.Contains(string(answer), "hunter2") {
			t.Errorf("body %s: answer echoes the password: %s", body, answer)
		}
	}
}

func TestLongInputIsShortened(t *testing.T) {
	body := `{"image_b64":"` + strings.Repeat("A", 1<<20) + `"}`
	_, answer := apierr.Wire(bind.JSON([]byte(body), new(wire.AgentRequest)))
	if len(answer) > 2000 {
		t.Errorf("answer has %d bytes", len(answer))
	}
}

func TestNumbersThatNobodyCanReadAreEchoedAsText(t *testing.T) {
	for _, number := range []string{"1e400", strings.Repeat("9", 1<<20)} {
		_, answer := apierr.Wire(bind.JSON([]byte(`{"prompt":"a","temperature":`+number+`}`), new(wire.AgentRequest)))
		var value any
		if err := json.Unmarshal(answer, &value); err != nil || len(answer) > 2000 {
			t.Errorf("answer of %d bytes: %v", len(answer), err)
		}
	}
}

func TestUpdateLeavesNullAndAbsentAlone(t *testing.T) {
	var req wire.UpdateAppRequest
	if err := bind.JSON([]byte(`{"name":null,"active":false,"families":[]}`), &req); err != nil {
		t.Fatal(err)
	}
	if req.Name != nil || req.RateLimit != nil || req.Active == nil || *req.Active || req.Families == nil {
		t.Errorf("got %+v", req)
	}
}

func TestQuery(t *testing.T) {
	var q struct {
		Days int `json:"days" bind:"min=1,max=365,default=30"`
	}
	if err := bind.Query(url.Values{}, &q); err != nil || q.Days != 30 {
		t.Errorf("absent: days %d, err %v", q.Days, err)
	}
	if err := bind.Query(url.Values{"days": {"7"}}, &q); err != nil || q.Days != 7 {
		t.Errorf("7: days %d, err %v", q.Days, err)
	}
	for _, days := range []string{"soon", "1.5", "1e400", "99999999999999999999", ""} {
		if e := apierr.From(bind.Query(url.Values{"days": {days}}, &q)); e == nil || len(e.Items) != 1 || e.Items[0].Type != "int_parsing" {
			t.Errorf("%q: got %+v", days, e)
		}
	}
	var flag struct {
		On bool `json:"on"`
	}
	if err := bind.Query(url.Values{"on": {"yes"}}, &flag); err != nil || !flag.On {
		t.Errorf("yes: %v, err %v", flag.On, err)
	}
	if e := apierr.From(bind.Query(url.Values{"on": {"maybe"}}, &flag)); e == nil || e.Items[0].Type != "bool_parsing" {
		t.Errorf("maybe: got %+v", e)
	}
	e := apierr.From(bind.Query(url.Values{"days": {"soon"}}, &q))
	if len(e.Items) != 1 || e.Items[0].Type != "int_parsing" || e.Items[0].Loc[0] != "query" {
		t.Errorf("soon: got %+v", e.Items)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"prompt":"hi","messages":[{"role":"user","content":"x"}]}`))
	f.Add([]byte(`{"prompt":null,"max_tokens":1e400}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		err := bind.JSON(body, new(wire.AgentRequest))
		if err == nil {
			return
		}
		status, answer := apierr.Wire(err)
		if status != 422 || !json.Valid(answer) {
			t.Errorf("status %d, answer %s", status, answer)
		}
	})
}
