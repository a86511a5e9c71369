package faults

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/bench/internal/mockmodel/openai"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/wire"
)

// fault is one way in which things go wrong, and what the two kinds of call must make of it.
type fault struct {
	name string
	does string // the simulator's scenario
	says string // what the prompt says after the scenario; short when empty
	text string // the whole text of the model's answer, where it is not the usual one
	// What is wanted of a call for a whole answer and of one for a stream; nil does not make the call.
	unary, stream *want
}

// want is what must come of a call. The zero value is the whole answer with the provider's token count, after one attempt.
type want struct {
	status  int    // 0 means 200
	event   int    // status of the error event that the stream ends with; 0 means that it ends well
	deltas  int    // how many tokens of the text arrive before the error event
	detail  string // part of what the error says
	header  string // "Name: value" that the answer has
	comment bool   // the stream has a keep-alive comment

	text     *string // where it is not the fault's
	attempts int     // how often the model server is asked; 0 means once
	letGo    bool    // the simulator has more to say and must see that nobody listens
	repeat   int     // calls one after the other, all with the same result; 0 means 1
	leave    *leave
	revoke   bool // the key is revoked while the answer is on its way
	use      *use // where it is not what follows from the rest
}

// use is what a call must be counted as: by whom, one of the plane.Source words, and the tokens of the answer. The bounds are
// the same where the number is exact.
type use struct {
	source         string
	outMin, outMax int64
}

func counts(source string, out int64) *use { return &use{source, out, out} }

// long is more than any call may take. The deadlines of the node are a fifth of it.
const long = 30 * time.Second

// trial is one row's call and what came of it.
type trial struct {
	name, id string
	f        *fault
	w        *want
	stream   bool
	account  account
	heard    []heard
}

const shortWords, longWords = "Tell me about the sea.", "Say it again. And again. "

// prompt is what the row's call asks.
func (tr *trial) prompt() string {
	says := tr.f.says
	if says == "" {
		says = shortWords
	}
	return "[[scenario:" + tr.f.does + " id=" + tr.id + "]] " + says
}

// full is the text of the simulator's whole answer.
func (tr *trial) full() string {
	if tr.w.text != nil {
		return *tr.w.text
	}
	if tr.f.text != "" {
		return tr.f.text
	}
	if tr.f.says != "" {
		return "Simulated answer. You said: " + strings.TrimSpace(tr.f.says)
	}
	return "Simulated answer. You said: " + shortWords
}

func (w *want) well() bool { return w.code() == http.StatusOK && w.event == 0 && w.leave == nil }
func (w *want) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

func (w *want) times() int { return max(1, w.repeat) }

// judge holds what a caller heard against what was wanted.
func (tr *trial) judge(t *testing.T, h *heard) {
	t.Helper()
	w := tr.w
	if h.err != nil {
		t.Errorf("the exchange: %v", h.err)
	}
	if h.took > long {
		t.Errorf("it took %s", h.took)
	}
	if w.leave != nil {
		tr.judgeLeft(t, h)
		return
	}
	if h.status != w.code() {
		t.Errorf("status %d, want %d (%+v)", h.status, w.code(), h.failure)
	}
	if name, value, found := strings.Cut(w.header, ": "); found && h.header.Get(name) != value {
		t.Errorf("%s is %q, want %q", name, h.header.Get(name), value)
	}
	if w.comment && h.comments == 0 {
		t.Error("no keep-alive comment came")
	}
	if w.well() {
		if h.failure != nil {
			t.Errorf("it failed: %+v", h.failure)
		}
		same(t, h.text, tr.full())
		return
	}
	failing := w.code()
	if w.event != 0 {
		failing = w.event
	}
	switch {
	case h.failure == nil:
		t.Errorf("it looks like success: %.200q", h.text)
	case h.failure.Status != failing || !strings.Contains(h.failure.Detail, w.detail):
		t.Errorf("failed with %+v, want status %d and %q", h.failure, failing, w.detail)
	case strings.Contains(h.failure.Detail, "127.0.0.1"), strings.Contains(h.failure.Detail, "goroutine"):
		t.Errorf("the detail tells of our insides: %q", h.failure.Detail)
	}
	tokens := openai.Tokens(tr.full())
	if w.revoke && w.event != 0 { // nobody knows how far it came
		w.deltas = min(max(1, h.deltas), len(tokens)-1)
	}
	same(t, h.text, strings.Join(tokens[:w.deltas], ""))
}

func (tr *trial) judgeLeft(t *testing.T, h *heard) {
	t.Helper()
	if !h.left {
		t.Errorf("the call was over before the caller left: %+v", h)
	}
	if !strings.HasPrefix(tr.full(), h.text) {
		t.Errorf("the text is another one: %.200q", h.text)
	}
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	at := 0
	for at < len(got) && at < len(want) && got[at] == want[at] {
		at++
	}
	t.Errorf("the text (%d bytes, want %d) differs from byte %d: %.100q, want %.100q", len(got), len(want), at, got[at:], want[at:])
}

// judgeUpstream holds the simulator's journal against what was wanted. It returns how long after the caller's end,
// where that comes first, the simulator knew that nobody waits.
func (tr *trial) judgeUpstream(t *testing.T, asked []journal.View) (noticed time.Duration) {
	t.Helper()
	w := tr.w
	if n := w.times() * max(1, w.attempts); len(asked) != n {
		t.Errorf("the model server was asked %d times, want %d", len(asked), n)
	}
	for i := range asked {
		r := &asked[i]
		if r.Stream != tr.stream {
			t.Errorf("it was asked for a stream: %v", r.Stream)
		}
		if r.Outcome == journal.Open {
			t.Errorf("the model server is still answering, after %d events", r.Events)
		}
		if !w.letGo && w.leave == nil {
			continue
		}
		if r.Outcome != journal.ClientGone || r.CancelledAt == nil {
			t.Errorf("the model server was not let go: outcome %s, %d events sent", r.Outcome, r.Events)
		} else {
			noticed = r.CancelledAt.Sub(tr.heard[0].at)
		}
	}
	if noticed > noticedWithin {
		t.Errorf("the model server was let go only %s after the caller's end", noticed)
	}
	return noticed
}

// counted is what the row's calls must be in the usage of its app. The tokens of the answer may go up to most.
func (tr *trial) counted() (status int, c wire.Counters, most int64) {
	w := tr.w
	status, n := w.code(), int64(w.times())
	if l := w.leave; l != nil && (!tr.stream || l.deltas == 0 && l.after < keepAlive) { // the answer had not begun
		status = statusClientGone
	}
	c.Calls = n
	if !w.well() && w.leave == nil { // who leaves has had no error
		c.Errors = n
	}
	u := w.use
	if u == nil {
		u = tr.follows()
	}
	switch u.source {
	case plane.SourceProvider:
		c.TokensIn = n * int64(openai.CountTokens(tr.prompt()))
	case plane.SourceCounted, plane.SourceEstimated:
		c.TokensIn = n * estimate(tr.prompt())
	}
	c.TokensOut = n * u.outMin
	return status, c, n * u.outMax
}

// statusClientGone is how calls are recorded whose caller left before the answer began.
const statusClientGone = 499

// follows derives the count from the rest: the provider's for a whole answer, what arrived when a stream ended badly, and
// nothing when none began.
func (tr *trial) follows() *use {
	switch {
	case tr.w.well():
		return counts(plane.SourceProvider, int64(len(openai.Tokens(tr.full()))))
	case tr.w.event != 0:
		return counts(plane.SourceCounted, int64(tr.w.deltas))
	}
	return counts(plane.SourceNone, 0)
}

// estimate is the rule where the provider does not count: a token for every four bytes of escaped text.
func estimate(text string) int64 {
	literal, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always encodes
	}
	return int64(len(literal)-2+3) / 4
}

// judgeUsage holds the usage of the row's app against what was wanted, exactly.
func (tr *trial) judgeUsage(t *testing.T, got wire.AppUsage) {
	t.Helper()
	status, want, most := tr.counted()
	if out := got.Totals.TokensOut; out > want.TokensOut && out <= most {
		want.TokensOut = out
	}
	if got.Totals != want {
		t.Errorf("usage %+v, want %+v (tokens out to %d)", got.Totals, want, most)
	}
	if len(got.ByStatus) != 1 || got.ByStatus[0].Status != status || got.ByStatus[0].Counters != want {
		t.Errorf("usage by status %+v, want all of it under %d", got.ByStatus, status)
	}
	if len(got.ByKey) != 1 || got.ByKey[0].Counters != want {
		t.Errorf("usage by key %+v, want %+v", got.ByKey, want)
	}
	if got.Drift != 0 {
		t.Errorf("usage drifts by %d", got.Drift)
	}
}
