package upstream

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// refusals asks servers of two dialects that answer with a status and a body, in every way, and returns the errors.
func refusals(t *testing.T, status int, header, body string) map[string]error {
	t.Helper()
	up, _ := newScript(t, Options{}, func(a *act) {
		a.sayf("HTTP/1.1 %d Status\r\nContent-Type: application/json\r\n%sContent-Length: %d\r\n\r\n%s", status, header, len(body), body)
	})
	native := newNative(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		if name, value, found := strings.Cut(strings.TrimSpace(header), ": "); found {
			w.Header().Set(name, value)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	})
	errs := map[string]error{}
	_, errs["whole"] = up.Ask(t.Context(), hello)
	_, errs["stream"] = up.Open(t.Context(), hello)
	_, errs["native"] = native.Native(t.Context(), "/predict", "", []byte("{}"))
	_, _, errs["native stream"] = follow(t, native, nil)
	_, errs["upload"] = native.Upload(t.Context(), &Upload{Path: "/x", Body: strings.NewReader("{}")})
	return errs
}

func TestAnErrorThatSpeaksOfTheRequestIsTheCallers(t *testing.T) {
	llama := func(message string) string {
		return `{"error":{"code":500,"message":` + strconv.Quote(message) + `,"type":"server_error"}}`
	}
	for _, tt := range []struct{ body, says string }{
		{llama("tools param requires --jinja flag"), "tools param requires --jinja flag"},
		{llama("Unsupported param: tools"), "Unsupported param: tools"},
		{llama("Cannot use tools with stream"), "Cannot use tools with stream"},
		{llama("[json.exception.out_of_range.403] key 'description' not found"), "key 'description' not found"},
		{llama("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"), "image input is not supported"},
		{llama("Failed to load image or audio file"), "Failed to load image"},
		{llama("the request exceeds the available context size, try increasing it"), "available context size"},
		{llama("Failed to parse messages: Missing 'role'"), "Missing 'role'"},
		{llama("Conversation roles must alternate user/assistant/user/assistant/..."), "roles must alternate"},
		{`{"error":{"message":"no","type":"invalid_request_error","code":null}}`, "no"},
		{`{"error":{"message":"no","type":"x","code":"context_length_exceeded"}}`, "no"},
		{`{"error":{"message":"no","code":400}}`, "no"},
		{`{"object":"error","message":"no","type":"BadRequestError","code":400}`, "no"},
		{`{"error":"gemma does not support tools"}`, "does not support tools"},
	} {
		for _, status := range []int{500, 501, 502} {
			for way, err := range refusals(t, status, "", tt.body) {
				checkFault(t, err, apierr.BadRequest, "refused the request: ")
				if !strings.Contains(apierr.From(err).Detail, tt.says) {
					t.Errorf("%s, %s: %v", way, tt.body, apierr.From(err).Detail)
				}
			}
		}
	}
	for way, err := range refusals(t, 403, "", `{"error":{"code":403,"message":"Your input was flagged","metadata":{}}}`) {
		if checkFault(t, err, apierr.BadRequest, "was flagged"); err == nil {
			t.Error(way)
		}
	}
	const region = `{"error":{"message":"Your country is not supported","type":"invalid_request_error","code":"unsupported_country_region_territory"}}`
	for _, err := range refusals(t, 403, "", region) {
		checkFault(t, err, apierr.BadGateway, "not a fault of your key")
	}
}

func TestTheReasonOfAServersErrorIsPassedOn(t *testing.T) {
	for _, tt := range []struct{ body, says string }{
		{`{"error":{"message":"CUDA out of memory while it handled the chat template","type":"server_error"}}`, "CUDA out of memory"},
		{`{"error":"llama runner process has terminated"}`, "llama runner process has terminated"},
		{`{"object":"error","message":"EngineDeadError","type":"InternalServerError","code":500}`, "EngineDeadError"},
		{
			`{"detail":"lost\nthe GPU at 10.0.0.7:8000, see /var/log/model/error.log or http://admin:x@host/ with sk-12345"}`,
			"lost the GPU at [removed] see [removed] or [removed] with [removed]",
		},
		{ // it shows what it was asked
			`{"error":{"message":"KeyError in {\"model\":\"m\",\"tool_choice\":\"auto\",\"response_format\":\"b64_json\",\"json_schema\":{}}"}}`,
			`KeyError in {"model":"m","tool_choice":"auto","response_format":"b64_json","json_schema":{}}`,
		},
		{"Internal Server Error", "answered with status 500. Try again later."},
		{"", "answered with status 500. Try again later."},
	} {
		for way, err := range refusals(t, 500, "", tt.body) {
			checkFault(t, err, apierr.BadGateway, "answered with status 500")
			if e := apierr.From(err); !strings.HasSuffix(e.Detail, tt.says) && !strings.Contains(e.Detail, "It said: "+tt.says) {
				t.Errorf("%s, %s: %s", way, tt.body, e.Detail)
			} else if strings.Contains(e.Error(), "GPU") {
				t.Errorf("the log gets the words: %s", e.Error())
			}
		}
	}
}

// A server that cannot serve anybody now says so by 503, which clients wait for and try again.
func TestAServerThatCannotServeNow(t *testing.T) {
	const loading = `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`
	for header, want := range map[string]time.Duration{"": awayRetry, "Retry-After: 7\r\n": 7 * time.Second} {
		for way, err := range refusals(t, 503, header, loading) {
			checkFault(t, err, apierr.Unavailable, "It said: Loading model")
			if e := apierr.From(err); e.RetryAfter != want {
				t.Errorf("%s: Retry-After %s, want %s", way, e.RetryAfter, want)
			}
		}
	}
	up, _ := newScript(t, Options{}, func(a *act) {
		if a.stream {
			a.events()
			a.chunk("data: " + loading + "\n\n" + doneEvent)
			a.end()
		} else {
			a.body(200, "application/json", loading)
		}
	})
	_, err := up.Ask(t.Context(), hello)
	checkFault(t, err, apierr.Unavailable, "Loading model")
	_, err = up.Open(t.Context(), hello)
	checkFault(t, err, apierr.Unavailable, "Loading model")
}

// A native server's error event has the status that it would have answered with.
func TestAnErrorEventThatSpeaksOfTheRequest(t *testing.T) {
	s := newNative(t, Options{}, events(`data: {"type":"error","status":400,"detail":"No such voice."}`+"\n\ndata: [DONE]\n\n"))
	_, _, err := follow(t, s, nil)
	checkFault(t, err, apierr.BadRequest, "refused the request: No such voice.")
}

// A chat server that does not know its model serves nobody. What a service does not know may be what this caller asked for.
func TestWhatAServiceDoesNotKnowIsInDoubt(t *testing.T) {
	for way, err := range refusals(t, 404, "", `{"detail":"No such voice."}`) {
		e, ok := errors.AsType[*classed](err)
		if !ok || e.FailureClass() != plane.FailRefused || e.Doubtful() != (way != "whole" && way != "stream") {
			t.Errorf("%s: %v, %+v", way, err, e)
		}
	}
}
