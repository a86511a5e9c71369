package load

import (
	"io"
	"os"
	"testing"
	"time"

	"modelgate.internal/bench/internal/proc"
)

func TestOnlyLoopbackIsATarget(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://127.0.0.1:80/x": true, "http://127.9.9.9/x": true, "http://[::1]:9/": true, "http://localhost:80/x": true,
		"http://[::ffff:127.0.0.1]:80/": true,
		"http://10.0.0.1/":              false, "http://example.com/": false, "http://localhost.example.com/": false,
		"http://0.0.0.0:80/": false, "https://127.0.0.1/": false, "http://127.0.0.1.example.com/": false,
		"http://127.0.0.1@10.0.0.1/agent": false, "http://[::ffff:10.0.0.1]:80/": false, "http://2130706433/": false,
	} {
		if _, err := NewTarget(url, nil, nil); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := NewTarget("http://127.0.0.1/", []string{"A: b\r\nC: d"}, nil); err == nil {
		t.Error("a header with a line break was taken")
	}
}

func TestClosedLoopCounts(t *testing.T) {
	to := serve(t, func(n int64, w io.Writer) bool {
		switch n % 10 {
		case 3:
			return say(w, whole(429, `{"detail":"x"}`))
		case 5: // in chunks, with an interim answer before it
			return say(w, "HTTP/1.1 100 Continue\r\n\r\n"+streamHead+chunked("0123")+chunked("456789")+lastChunk)
		case 7:
			return say(w, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n0123456789") && false
		case 9:
			return say(w, whole(200, "0123456789")) && false // closes a connection that was to be kept
		default:
			return say(w, whole(200, "0123456789"))
		}
	})
	got, err := Unary{
		Target: to, Connections: 4, Requests: 1000, Duration: 30 * time.Second, MinBytes: 10,
		Watch: []proc.Watched{{Name: "self", Pid: os.Getpid()}},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// A connection that was closed while idle makes one more request, so the script goes a little further.
	if got.Requests != 1000 || got.Failed+got.Truncated+got.GaveUp != 0 || got.Status[200]+got.Status[429] != 1000 {
		t.Errorf("%+v", got)
	}
	between(t, "wrong", float64(got.Wrong()), 95, 105)
	if got.Wrong() != got.Status[429] || got.Reconnects == 0 || got.Measured > 1000 || got.Measured < 900 || got.Latency.Count != 1000 {
		t.Errorf("%+v", got)
	}
	if len(got.Processes) != 1 || got.Processes[0].CPUMicros <= 0 || got.PerSecond() <= 0 {
		t.Errorf("%+v", got.Processes)
	}
}

func TestTruncatedAndMissingAnswers(t *testing.T) {
	to := serve(t, func(n int64, w io.Writer) bool {
		switch n % 5 {
		case 0:
			return say(w, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf") && false
		case 1:
			return say(w, streamHead+chunked("0123456789")) && false
		case 2:
			return say(w, whole(200, "short"))
		case 3:
			return say(w, "SMTP ready\r\n\r\n") && false
		default:
			return say(w, whole(200, "0123456789"))
		}
	})
	got, err := Unary{Target: to, Connections: 1, Requests: 50, Duration: 30 * time.Second, MinBytes: 10}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != 10 || got.Truncated != 30 || got.Failed != 10 || got.Wrong() != 40 {
		t.Errorf("%+v", got)
	}
}

func TestNobodyListensIsGivenUp(t *testing.T) {
	got, err := Unary{Target: target(t, "127.0.0.1:1"), Connections: 2, Duration: 30 * time.Second}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.GaveUp != 2 || got.Failed != 2*failuresInRowMax {
		t.Errorf("%+v", got)
	}
}

func TestLatencyOfAKnownDelay(t *testing.T) {
	const delay = 50 * time.Millisecond
	to := serve(t, func(_ int64, w io.Writer) bool {
		time.Sleep(delay)
		return say(w, whole(200, "ok"))
	})
	got, err := Unary{Target: to, Connections: 10, WarmUp: 100 * time.Millisecond, Duration: time.Second}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	between(t, "p50 in us", got.Latency.P50Micros, 49_900, 120_000)
	between(t, "requests in the window", float64(got.Measured), 40, 215)
	if got.Latency.MaxMicros < got.Latency.P99Micros || got.Latency.P90Micros < got.Latency.P50Micros {
		t.Errorf("percentiles %+v", got.Latency)
	}
}

// A server that stalls once for 600 ms delays every request that was due meanwhile. A closed loop would count one slow request.
func TestOpenLoopCountsTheWaitBehindAStall(t *testing.T) {
	const stall = 600 * time.Millisecond
	to := serve(t, func(n int64, w io.Writer) bool {
		if n == 10 {
			time.Sleep(stall)
		}
		return say(w, whole(200, "ok"))
	})
	got, err := Unary{Target: to, Connections: 1, Rate: 100, Requests: 100, Duration: 30 * time.Second}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Requests != 100 || got.Latency.Count != 100 {
		t.Fatalf("%+v", got)
	}
	// Requests 10 to 70 were due during the stall: more than half waited, the median of them about 300 ms, the first 600 ms.
	between(t, "max in us", got.Latency.MaxMicros, 599_000, 2_000_000)
	between(t, "p90 in us", got.Latency.P90Micros, 350_000, 2_000_000)
	between(t, "p50 in us", got.Latency.P50Micros, 20_000, 1_000_000)
}

func TestBadRunsAreRefused(t *testing.T) {
	ok := Unary{Connections: 1, Duration: time.Second}
	for _, change := range []func(*Unary){
		func(u *Unary) { u.Connections = 0 },
		func(u *Unary) { u.Connections = connectionsMax + 1 },
		func(u *Unary) { u.Duration = 0 },
		func(u *Unary) { u.Duration = runMax + 1 },
		func(u *Unary) { u.Rate = -1 },
		func(u *Unary) { u.Watch = []proc.Watched{{Name: "gone", Pid: 1 << 30}} },
	} {
		u := ok
		change(&u)
		if _, err := u.Run(t.Context()); err == nil {
			t.Errorf("%+v was run", u)
		}
	}
}
