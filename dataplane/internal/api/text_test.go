package api

import (
	"encoding/json"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/upstream"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// TestTheTextAnswerIsTheContracts holds the answer that is put together by hand to the struct of the contract.
func TestTheTextAnswerIsTheContracts(t *testing.T) {
	for _, model := range []string{"Darwin", `Dar"win\`, "Därwin", "a\nb"} {
		want := wire.TextAnswer{
			Type: "text", Text: "a \"b\" \\ \u00e9", Model: model,
			Usage: wire.TokenUsage{TokensIn: 12, TokensOut: 1 << 40, Source: plane.SourceEstimated}, Backend: "simulator",
		}
		c := &call.Call{Facts: call.Facts{Model: model, Backend: "simulator"}}
		got := textAnswer(c, &upstream.Whole{
			Text: []byte(`"a \"b\" \\ \u00e9"`),
			Use:  call.Usage{TokensIn: 12, TokensOut: 1 << 40, Source: plane.SourceEstimated},
		})
		var back wire.TextAnswer
		if err := json.Unmarshal(got, &back); err != nil || back != want {
			t.Errorf("got %s (%v)", got, err)
		}
		var fields, wanted map[string]any
		text, err := json.Marshal(want)
		if err != nil || json.Unmarshal(text, &wanted) != nil || json.Unmarshal(got, &fields) != nil || len(fields) != len(wanted) {
			t.Errorf("got the fields %v, want %v", fields, wanted)
		}
	}
}

func TestHealthSaysWhenItIsDegraded(t *testing.T) {
	for _, tt := range []struct {
		config   wire.ConfigHealth
		draining bool
		want     string
	}{
		{wire.ConfigHealth{Connected: true, AgeSeconds: 1}, false, "ok"},
		{wire.ConfigHealth{Connected: true, AgeSeconds: 1}, true, "degraded"},
		{wire.ConfigHealth{Connected: false, AgeSeconds: 1}, false, "degraded"},
		{wire.ConfigHealth{Connected: true, AgeSeconds: 11}, false, "degraded"},
	} {
		a := New(Options{
			Fresh: func() wire.ConfigHealth { return tt.config }, Draining: func() bool { return tt.draining }, Node: "n", Version: "v", Now: time.Now,
		})
		answer, err := a.Health(&call.Call{Config: &plane.Current{}})
		var h wire.Health
		if err != nil || json.Unmarshal(answer.Body, &h) != nil || h.Status != tt.want {
			t.Errorf("%+v: got %s, %v", tt, answer.Body, err)
		}
	}
}
