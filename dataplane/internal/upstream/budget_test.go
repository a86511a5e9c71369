package upstream

import (
	"io"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/quota/quotatest"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// A stream that its budget ends is cut off at the upstream, which is not to blame, and counts what the client got.
func TestAStreamEndsWithItsBudget(t *testing.T) {
	left := make(chan error, 1)
	up, _ := newScript(t, Options{}, func(a *act) {
		a.events()
		for a.chunk(delta("x")) == nil {
			time.Sleep(10 * time.Microsecond)
		}
		_, err := io.Copy(io.Discard, a.nc)
		left <- err
	})
	l := limit.New(quotatest.New().Node(t, 1))
	for bucket, chat := range map[string]*Chat{
		"key/1/tokens": {Prompt: hello.Prompt, MaxTokens: 200},
		"key/2/tokens": {Raw: &Raw{Fields: []byte(`"messages":[]`), Model: []byte(`"m"`), ID: []byte(`"i"`), TextBytes: 40}},
	} {
		cells := l.Cells(&plane.Principal{Seen: 1, Limits: []plane.Limit{{Name: plane.LimitKeyTokens, Bucket: bucket, Max: 600, Window: time.Minute}}})
		v, err := l.Admit(t.Context(), cells, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		tokens := v.Tokens(t.Context(), time.Now())
		chat.Budget = tokens
		if _, err := tokens.Reserve(chat.Estimate(), chat.MaxTokens, true); err != nil {
			t.Fatal(err)
		}
		s, err := up.Open(t.Context(), chat)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		w := sse.NewWriter(&text, nil)
		out := s.Relay(w)
		s.Close()
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		want := 600 - chat.Estimate()
		e := apierr.From(out.Err)
		if out.End != plane.EndLimit || out.Limit != plane.LimitKeyTokens || e.Kind != apierr.Limited || e.RetryAfter <= 0 ||
			out.Usage.TokensOut != want || out.Usage.Source != plane.SourceCounted || int64(strings.Count(text.String(), "data: ")) != want {
			t.Errorf("%s: %+v after %d events, want %d", bucket, out, strings.Count(text.String(), "data: "), want)
		}
		select {
		case <-left:
		case <-time.After(20 * time.Second):
			t.Fatal("the upstream goes on")
		}
		v.Done()
	}
	if idle, busy := up.Connections(); idle+busy != 0 {
		t.Errorf("%d idle and %d busy connections are left", idle, busy)
	}
}
