package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
)

// resultFault is one way in which a server of results goes wrong, and what a caller must see of it.
type resultFault struct {
	name   string
	does   string // the simulator's scenario
	stream bool   // the task is asked for by a stream, else by predict
	leaves bool   // the caller does not wait
	status int
	says   string // part of the answer
	asked  int    // how often the server is asked
	letGo  bool   // the server has more to say and must see that nobody listens

	id      string
	account account
	got     int
	body    string
	header  http.Header
	err     error
}

func resultFaults() []*resultFault {
	const open, last = `data: {"type":"error","status":502,"detail":"`, "data: [DONE]\n\n"
	return []*resultFault{
		{name: "nothing", does: "normal", status: 200, says: `"backend":"simulator"`, asked: 1},
		{name: "slow head", does: "slow-head delay=1s", status: 200, says: `"simulator":true`, asked: 1},
		{name: "body in parts", does: "slow-events delay=100ms", status: 200, says: `"simulator":true`, asked: 1},
		{name: "chunks with extensions", does: "chunk-extension", status: 200, says: `"simulator":true`, asked: 1},
		{name: "no length", does: "close-body", status: 200, says: `"simulator":true`, asked: 1},
		{name: "server error", does: "status code=500", status: 502, says: "status 500. Try again later. It said: Simulated failure", asked: 2},
		{name: "unavailable once", does: "status code=503 times=1", status: 200, says: `"simulator":true`, asked: 2},
		{name: "rate limit", does: "status code=429 retry-after=60", status: 429, says: "not the limit of your key", asked: 1},
		{name: "refused request", does: "status code=422", status: 400, says: "refused the request: Simulated failure", asked: 1},
		{name: "refused credential", does: "status code=401", status: 502, says: "not a fault of your key", asked: 1},
		{name: "a page for an answer", does: "html-200", status: 502, says: "another content type", asked: 1},
		{name: "an error for an answer", does: "error-200", status: 502, says: "tells of an error", asked: 1},
		{name: "no body", does: "empty-200", status: 502, says: "not a JSON object", asked: 1},
		{name: "wrong type", does: "wrong-type", status: 502, says: "another content type", asked: 1},
		{name: "compressed", does: "gzip", status: 502, says: "compressed", asked: 1},
		{name: "no HTTP", does: "bad-head", status: 502, says: "breaks HTTP", asked: 1},
		{name: "half a body", does: "cut-after", status: 502, says: "broke off", asked: 1},
		{name: "a redirect", does: "redirect", status: 502, says: "status 307", asked: 1},
		{name: "silence", does: "silent-head", status: 502, says: "did not finish its answer", asked: 1, letGo: true},
		{name: "half a body, then silence", does: "stall-after", status: 502, says: "did not finish its answer", asked: 1, letGo: true},
		{name: "the caller leaves in a silence", does: "silent-head", leaves: true, asked: 1, letGo: true},
		{name: "the caller leaves in the body", does: "stall-after", leaves: true, asked: 1, letGo: true},

		{name: "a result as a stream", does: "normal", stream: true, status: 200, says: "}\n\n" + last, asked: 1},
		{name: "JSON for a stream", does: "unary-for-stream", stream: true, status: 200, says: "}\n\n" + last, asked: 1},
		{name: "an error for a stream", does: "error-200", stream: true, status: 502, says: "tells of an error", asked: 1},
		{name: "a stream that is cut", does: "cut-after n=0", stream: true, status: 502, says: "broke off", asked: 1},
		{name: "a stream that stalls", does: "stall-after n=0", stream: true, status: 200, says: open, asked: 1, letGo: true},
		{name: "the caller leaves a silent stream", does: "silent", stream: true, leaves: true, asked: 1, letGo: true},
	}
}

// TestFaultsOfResults is TestFaults for servers that are no chat.
func TestFaultsOfResults(t *testing.T) {
	sys := start(t)
	rows := resultFaults()
	names := make([]string, len(rows))
	for i, f := range rows {
		f.id = fmt.Sprintf("result%d", i)
		names[i] = f.id
	}
	sys.publish(t, names, "native", "/native", func(name string) string { return name })
	for i, a := range sys.accounts(t, len(rows)) {
		rows[i].account = a
	}
	each(len(rows), func(i int) { rows[i].call(t.Context(), sys) })
	asked := sys.asked(t)
	for _, f := range rows {
		t.Run(f.name, func(t *testing.T) { f.judge(t, sys, asked[f.id]) })
	}
}

func (f *resultFault) call(ctx context.Context, sys *system) {
	scenario := "[[scenario:" + f.does + " id=" + f.id + "]]"
	path, body := "/api/v1/predict", fmt.Sprintf(`{"family":"darwin","task":%q,"input_data":{"note":%q}}`, f.id, scenario)
	if f.stream {
		path, body = "/api/v1/stream", fmt.Sprintf(`{"family":"darwin","task":%q,"prompt":%q}`, f.id, scenario)
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	if f.leaves {
		time.AfterFunc(time.Second, cancel)
	}
	f.err = func() error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, sys.in.GatewayURL+path, bytes.NewReader([]byte(body)))
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+f.account.key)
		res, err := sys.client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		f.got, f.header, f.body = res.StatusCode, res.Header, string(text)
		return err
	}()
}

func (f *resultFault) judge(t *testing.T, sys *system, asked []journal.View) {
	counted := f.status
	switch {
	case f.leaves:
		if counted = statusClientGone; !errors.Is(f.err, context.Canceled) {
			t.Errorf("the call was over before the caller left: %d %s %v", f.got, f.body, f.err)
		}
	case f.err != nil:
		t.Errorf("the exchange: %v", f.err)
	case f.got != f.status || !strings.Contains(f.body, f.says):
		t.Errorf("status %d %.300q, want %d and %q", f.got, f.body, f.status, f.says)
	case f.stream && f.got == http.StatusOK && !strings.HasSuffix(f.body, "data: [DONE]\n\n"):
		t.Errorf("the stream ends with %q", f.body)
	case strings.Contains(f.body, "127.0.0.1"):
		t.Errorf("the answer tells of our insides: %q", f.body)
	}
	if len(asked) != f.asked {
		t.Errorf("the server was asked %d times, want %d", len(asked), f.asked)
	}
	for _, r := range asked {
		if r.Outcome == journal.Open || f.letGo && r.Outcome != journal.ClientGone {
			t.Errorf("the server was not let go: outcome %s", r.Outcome)
		}
	}
	usage := sys.settled(t, f.account, 1)
	if len(usage.ByStatus) != 1 || usage.ByStatus[0].Status != counted || usage.Totals.Calls != 1 || usage.Totals.TokensOut != 0 {
		t.Errorf("usage %+v %+v, want one call with status %d", usage.Totals, usage.ByStatus, counted)
	}
}
