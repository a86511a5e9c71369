package apierr_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/apierr"
)

func TestWire(t *testing.T) {
	tests := []struct {
		err    error
		status int
		body   string
	}{
		{apierr.New(apierr.NotFound, "No such app."), 404, `{"detail":"No such app."}`},
		{fmt.Errorf("load app: %w", apierr.New(apierr.Conflict, "Already there.")), 409, `{"detail":"Already there."}`},
		{apierr.Violations(apierr.Item{Type: "missing", Loc: []any{"body", "name"}, Msg: "Field required"}), 422, `{"detail":[{"type":"missing","loc":["body","name"],"msg":"Field required","input":null}]}`},
		{apierr.Violations(), 422, `{"detail":[]}`},
		{errors.New("password=hunter2"), 500, `{"detail":"Internal error. The request id in X-Request-Id identifies it in our logs."}`},
	}
	for _, tt := range tests {
		status, body := apierr.Wire(tt.err)
		if status != tt.status || string(body) != tt.body {
			t.Errorf("%v: got %d %s", tt.err, status, body)
		}
	}
}

func TestInputThatJSONCannotExpressStillAnswers(t *testing.T) {
	status, body := apierr.Wire(apierr.Violations(apierr.Item{Type: "finite_number", Input: math.Inf(1)}))
	if status != 422 || !strings.Contains(string(body), "Validation error") {
		t.Errorf("got %d %s", status, body)
	}
}

func TestCauseStaysInside(t *testing.T) {
	base := apierr.New(apierr.BadGateway, "The model server cannot be reached.")
	cause := errors.New("dial 10.0.0.7:443: refused")
	err := base.Because(cause)
	if _, body := apierr.Wire(err); strings.Contains(string(body), "10.0.0.7") {
		t.Errorf("the cause is on the wire: %s", body)
	}
	if !errors.Is(err, cause) || !errors.Is(err, base) || base.Unwrap() != nil {
		t.Error("Because must wrap a copy that is still the sentinel")
	}
}

func TestRetrySecondsRoundsUp(t *testing.T) {
	e := apierr.New(apierr.Limited, "Slow down.")
	if _, ok := e.RetrySeconds(); ok {
		t.Error("no RetryAfter, yet a header")
	}
	for d, want := range map[time.Duration]int64{time.Millisecond: 1, time.Second: 1, 1001 * time.Millisecond: 2} {
		if got, ok := e.After(d).RetrySeconds(); !ok || got != want {
			t.Errorf("%v: got %d", d, got)
		}
	}
}

func TestOurs(t *testing.T) {
	for kind, want := range map[apierr.Kind]bool{
		apierr.Internal: true, apierr.BadGateway: true, apierr.Unavailable: true,
		apierr.BadRequest: false, apierr.Limited: false, apierr.Forbidden: false,
	} {
		if got := apierr.Ours(apierr.New(kind, "x")); got != want {
			t.Errorf("kind %d: %v", kind, got)
		}
	}
	if apierr.Ours(nil) || !apierr.Ours(errors.New("x")) {
		t.Error("nil is nobody's fault, an unknown error is ours")
	}
}

// TestQuotedWordsAreForTheClientOnly: a model server may repeat what it was asked, which is not for the log.
func TestQuotedWordsAreForTheClientOnly(t *testing.T) {
	e := apierr.New(apierr.BadRequest, "Upstream a refused the request").Quoting("no cat in this picture").After(time.Second).Because(errors.New("status 400"))
	if _, body := apierr.Wire(e); !strings.Contains(string(body), "refused the request: no cat in this picture") {
		t.Errorf("the client gets %s", body)
	}
	if got, want := e.Error(), "Upstream a refused the request: (22 bytes of its words): status 400"; got != want {
		t.Errorf("the log gets %q, want %q", got, want)
	}
}
