package faults

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/shared/wire"
)

// input is what a client sends, byte by byte, and the answers that it must get on the same connection.
type input struct {
	name string
	// sends is the request or the requests. A prompt that holds id is found in the simulator's journal.
	sends func(key, id string) string
	wants []answered
	// The usage: calls by status. What is refused before it is known who calls, or what is asked, is nobody's usage.
	calls map[int]int64
	asked int  // how often the model server must have been asked
	close bool // the connection is closed after the answers
	ends  bool // the client sends nothing more, not even on a connection that is kept

	id      string
	account account
	got     []heard
	err     error // the connection broke before all answers were there
	closed  bool
}

// answered is one answer: the status, and what its body, its detail or a header has in it.
type answered struct {
	status int
	says   string
	header string // "Name: value"
}

// send writes and reads at the same time, because what is refused early need not be read to its end.
func (in *input) send(t *testing.T, sys *system) {
	in.err = func() error {
		var d net.Dialer
		conn, err := d.DialContext(t.Context(), "tcp", strings.TrimPrefix(sys.in.GatewayURL, "http://"))
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(callWait)); err != nil {
			return err
		}
		var wg sync.WaitGroup
		defer wg.Wait()
		defer conn.Close() // frees the writer
		wg.Go(func() {
			_, _ = io.WriteString(conn, in.sends(in.account.key, in.id))
			if tcp, ok := conn.(*net.TCPConn); ok && in.ends {
				_ = tcp.CloseWrite()
			}
		})
		return in.read(conn)
	}()
}

func (in *input) read(conn net.Conn) error {
	r := bufio.NewReader(conn)
	for range in.wants {
		begun := time.Now()
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return fmt.Errorf("answer %d: %w", len(in.got)+1, err)
		}
		text, err := io.ReadAll(res.Body)
		if err != nil {
			return fmt.Errorf("answer %d, status %d: %w", len(in.got)+1, res.StatusCode, err)
		}
		h := heard{status: res.StatusCode, header: res.Header, text: string(text), took: time.Since(begun)}
		if res.StatusCode == http.StatusOK {
			var answer wire.TextAnswer
			if h.err = json.Unmarshal(text, &answer); h.err == nil {
				h.usage = &answer.Usage
			}
		}
		in.got = append(in.got, h)
		in.closed = res.Close
	}
	if !in.closed {
		return nil
	}
	if n, err := r.Read(make([]byte, 1)); n > 0 || !errors.Is(err, io.EOF) {
		return fmt.Errorf("after the last answer: %d bytes, %w", n, err)
	}
	return nil
}

func (in *input) judge(t *testing.T, sys *system, asked map[string][]journal.View) {
	if in.err != nil {
		t.Errorf("the connection: %v", in.err)
	}
	var want wire.Counters
	for i := range in.got {
		h, w := &in.got[i], in.wants[i]
		w.judge(t, h)
		if h.usage != nil {
			want.TokensIn += h.usage.TokensIn
			want.TokensOut += h.usage.TokensOut
		}
	}
	if in.close && !in.closed {
		t.Error("the connection is not closed")
	}
	if n := len(asked[in.id]); n != in.asked {
		t.Errorf("the model server was asked %d times, want %d", n, in.asked)
	}
	for status, n := range in.calls {
		want.Calls += n
		if status != http.StatusOK {
			want.Errors += n
		}
	}
	usage := sys.settled(t, in.account, want.Calls)
	if usage.Totals != want || usage.Drift != 0 {
		t.Errorf("usage %+v, want %+v; drift %d", usage.Totals, want, usage.Drift)
	}
	for _, s := range usage.ByStatus {
		if s.Calls != in.calls[s.Status] {
			t.Errorf("usage has %d calls of status %d, want %d", s.Calls, s.Status, in.calls[s.Status])
		}
	}
}

func (w answered) judge(t *testing.T, h *heard) {
	t.Helper()
	if h.err != nil {
		t.Errorf("the answer: %v", h.err)
	}
	if h.took > long {
		t.Errorf("it took %s", h.took)
	}
	if h.status != w.status || !strings.Contains(h.text, w.says) {
		t.Errorf("status %d %.300q, want %d and %q", h.status, h.text, w.status, w.says)
	}
	if name, value, found := strings.Cut(w.header, ": "); found && h.header.Get(name) != value {
		t.Errorf("%s is %q, want %q", name, h.header.Get(name), value)
	}
	if h.status < 400 {
		return
	}
	var e struct {
		Detail any `json:"detail"`
	}
	if err := json.Unmarshal([]byte(h.text), &e); err != nil || e.Detail == nil || e.Detail == "" {
		t.Errorf("status %d without a detail: %.300q", h.status, h.text)
	}
	if got := h.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	if h.header.Get("X-Request-Id") == "" {
		t.Error("no X-Request-Id")
	}
}
