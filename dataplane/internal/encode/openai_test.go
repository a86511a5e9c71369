package encode_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/encode"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

var (
	alone429  = regexp.MustCompile(`\b429\b`)
	rateLimit = regexp.MustCompile(`rate[\s_\-]*limit`)
)

// typed is the class that LiteLLM makes of an error of an OpenAI-protocol server, in the order in which it looks
// (litellm_core_utils/exception_mapping_utils.py). Older releases do not look at the status where the type is invalid_request_error.
func typed(status int, text string, old bool) string {
	request := strings.Contains(text, "invalid_request_error")
	switch {
	case alone429.MatchString(text) && status == 429, rateLimit.MatchString(strings.ToLower(text)), strings.Contains(text, "Request too large"):
		return "RateLimit"
	case strings.Contains(strings.ToLower(text), "this model's maximum context length is"), strings.Contains(text, `"code":"context_length_exceeded"`):
		return "ContextWindow"
	case request && strings.Contains(text, "model_not_found"):
		return "NotFound"
	case strings.Contains(text, "A timeout occurred"), strings.Contains(text, "Request timed out"):
		return "Timeout"
	case request && !strings.Contains(text, "Incorrect API key provided") && !old && status == 401:
		return "Authentication"
	case request && !strings.Contains(text, "Incorrect API key provided") && !old && status == 404:
		return "NotFound"
	case request && !strings.Contains(text, "Incorrect API key provided"):
		return "BadRequest"
	}
	return map[int]string{
		400: "BadRequest", 401: "Authentication", 404: "NotFound", 408: "Timeout", 422: "BadRequest", 429: "RateLimit", 500: "Internal",
		502: "BadGateway", 503: "Unavailable",
	}[status]
}

// TestClientsReadErrorsAsTheyAreMeant writes an error of each kind as clients of OpenAI's API get it.
func TestClientsReadErrorsAsTheyAreMeant(t *testing.T) {
	item := func(kind string) error {
		return apierr.Violations(apierr.Item{Type: kind, Loc: []any{"body", "temperature"}, Msg: "Input should be different"})
	}
	kind := func(k apierr.Kind) *apierr.Error { return apierr.New(k, "This happened. Do that.") }
	for name, tt := range map[string]struct {
		err               error
		status            int
		class, word, code string // word: the type
		param             string
	}{
		"malformed":     {kind(apierr.BadRequest), 400, "BadRequest", "invalid_request_error", "", ""},
		"unsupported":   {kind(apierr.BadRequest).Coded("unsupported_parameter", "audio"), 400, "BadRequest", "invalid_request_error", "unsupported_parameter", "audio"},
		"missing":       {item("missing"), 400, "BadRequest", "invalid_request_error", "missing_required_parameter", "temperature"},
		"wrong type":    {item("float_type"), 400, "BadRequest", "invalid_request_error", "invalid_type", "temperature"},
		"out of bounds": {item("less_than_equal"), 400, "BadRequest", "invalid_request_error", "invalid_value", "temperature"},
		"long list":     {item("too_long"), 400, "BadRequest", "invalid_request_error", "array_above_max_length", "temperature"},
		"full context": {
			kind(apierr.BadRequest).Quoting("This model's maximum context length is 4096 tokens. However, you requested 5000."), 400, "ContextWindow",
			"invalid_request_error", "context_length_exceeded", "",
		},
		"key":            {kind(apierr.Unauthorized), 401, "Authentication", "invalid_request_error", "invalid_api_key", ""},
		"scope":          {kind(apierr.Forbidden), 403, "", "request_forbidden", "insufficient_permissions", ""},
		"model":          {kind(apierr.NotFound).Coded("model_not_found", "model"), 404, "NotFound", "invalid_request_error", "model_not_found", "model"},
		"path":           {kind(apierr.NotFound), 404, "NotFound", "not_found_error", "not_found", ""},
		"method":         {kind(apierr.NotAllowed), 405, "BadRequest", "invalid_request_error", "method_not_supported", ""},
		"slow":           {kind(apierr.Timeout), 408, "Timeout", "timeout_error", "request_timeout", ""},
		"large":          {kind(apierr.TooLarge), 413, "BadRequest", "invalid_request_error", "request_too_large", ""},
		"limit":          {kind(apierr.Limited).After(time.Second), 429, "RateLimit", "rate_limit_error", "rate_limit_exceeded", ""},
		"quota":          {kind(apierr.Limited).After(time.Hour).Coded("insufficient_quota", ""), 429, "RateLimit", "insufficient_quota", "insufficient_quota", ""},
		"head":           {kind(apierr.HeaderTooLarge), 431, "BadRequest", "invalid_request_error", "request_header_too_large", ""},
		"bug":            {errors.New("broken"), 500, "Internal", "server_error", "", ""},
		"not built":      {kind(apierr.NotBuilt), 501, "", "server_error", "not_implemented", ""},
		"upstream":       {kind(apierr.BadGateway), 502, "BadGateway", "server_error", "upstream_error", ""},
		"not configured": {kind(apierr.Unavailable), 503, "Unavailable", "server_error", "unavailable", ""},
	} {
		var res fasthttp.Response
		status := encode.Error(&res, tt.err, encode.OpenAI)
		var told wire.OpenAIError
		if err := json.Unmarshal(res.Body(), &told); err != nil {
			t.Fatal(err)
		}
		got := told.Error
		if status != tt.status || got.Type != tt.word || said(got.Code) != tt.code || said(got.Param) != tt.param {
			t.Errorf("%s: %d %s", name, status, res.Body())
		}
		if retry := string(res.Header.Peek("X-Should-Retry")); retry != map[bool]string{true: "false"}[tt.code == "insufficient_quota"] {
			t.Errorf("%s: X-Should-Retry is %q", name, retry)
		}
		// Clients of OpenAI's Python library before 3 look at the whole body, later ones at the message alone.
		for _, class := range []string{typed(status, string(res.Body()), true), typed(status, string(res.Body()), false), typed(status, got.Message, false)} {
			if class != tt.class && (class != "" || status != 405 && status != 413 && status != 431) {
				t.Errorf("%s is taken for %q: %s", name, class, res.Body())
			}
		}
	}
}

func said(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// TestAMinuteIsWaitedFor: OpenAI's clients take a Retry-After over 60 s for none.
func TestAMinuteIsWaitedFor(t *testing.T) {
	for wait, want := range map[time.Duration]map[encode.Form]string{
		60 * time.Second: {encode.OpenAI: "60", encode.Ours: "60"},
		61 * time.Second: {encode.OpenAI: "60", encode.Ours: "61"},
		62 * time.Second: {encode.OpenAI: "62", encode.Ours: "62"},
		time.Hour:        {encode.OpenAI: "3600", encode.Ours: "3600"},
	} {
		for form, want := range want {
			var res fasthttp.Response
			encode.Error(&res, apierr.New(apierr.Limited, "Used up.").After(wait), form)
			if got := string(res.Header.Peek("Retry-After")); got != want {
				t.Errorf("%s: %s, want %s", wait, got, want)
			}
		}
	}
}
