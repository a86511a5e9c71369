package bind_test

import (
	"encoding/json"
	"errors"
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
		{`{"name":"a","rate_limit":"x"}`, `{"type":"int_parsing","loc":["body","rate_limit"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"x"}`},
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

func TestLaxValuesAndDefaults(t *testing.T) {
	var req wire.AgentRequest
	if err := bind.JSON([]byte(`{"prompt":"hi","stream":"true","max_tokens":"5","temperature":1,"extra":{}}`), &req); err != nil {
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
