package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/sse"
)

// benchEvent is an event of about 250 bytes with escapes in its text, as the real service sends it.
var benchEvent = `data: {"id":"chatcmpl-AbCdEfGhIjKlMnOpQrStUvWxYz","object":"chat.completion.chunk","created":1780000000,"model":"gpt-x-2026-01-01",` +
	`"system_fingerprint":"fp_1234567890","choices":[{"index":0,"delta":{"content":" say \"hi\"\n"},"logprobs":null,"finish_reason":null}],"usage":null}` + "\n\n"

// transform is the work of a stream between a read and a write.
func transform(t *stream, w *sse.Writer, events []byte) {
	t.rest = events
	for text, err := t.next(); err == nil && text != nil; text, err = t.next() {
		if len(text) > 0 {
			w.DeltaRaw(text)
		}
	}
	w.Flush()
}

func newTransform() (*stream, *sse.Writer) {
	return &stream{server: &server{id: "up", now: time.Now}}, sse.NewWriter(io.Discard, make([]byte, 0, 64<<10))
}

func TestTransformDoesNotAllocate(t *testing.T) {
	s, w := newTransform()
	events := []byte(strings.Repeat(benchEvent, 100))
	transform(s, w, events)
	if n := testing.AllocsPerRun(100, func() { transform(s, w, events) }); n != 0 {
		t.Errorf("%v allocations for 100 events", n)
	}
}

// BenchmarkTransform measures events that repeat, events whose other fields change, and what encoding/json takes.
func BenchmarkTransform(b *testing.B) {
	other := strings.Replace(benchEvent, "1780000000", "1780000001", 1)
	for _, bench := range []struct{ name, events string }{
		{"template", strings.Repeat(benchEvent, 100)},
		{"scanner", strings.Repeat(benchEvent+other, 50)},
		{"json", strings.Repeat(strings.Replace(benchEvent, `"id"`, `"Id"`, 1), 100)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, w := newTransform()
			events := []byte(bench.events)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				transform(s, w, events)
				n += 100
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
		})
	}
}

// benchServer answers every request on raw connections, as cheaply as it can, by writing answer. It returns its address.
func benchServer(tb testing.TB, answer []byte) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { l.Close() })
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer nc.Close()
				for r := bufio.NewReader(nc); readRequest(r); {
					nc.Write(answer)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String() + "/v1"
}

// readRequest consumes one request with a content length.
func readRequest(r *bufio.Reader) bool {
	length := 0
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return false
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
		}
		if len(line) == 2 {
			_, err := r.Discard(length)
			return err == nil
		}
	}
}

func benchUpstream(tb testing.TB, baseURL string) *ChatServer {
	up, err := New(plane.UpstreamSpec{ID: "up", Dialect: plane.DialectChat, BaseURL: baseURL, Model: "m"}, "sesame", Options{KeepAlive: KeepAliveDefault})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(up.Close)
	return up
}

func askAnswer(textBytes int) []byte {
	body := wholeAnswer(`"`+strings.Repeat("some words ", textBytes/11)+`"`, providerUsage)
	return []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)
}

// BenchmarkAsk measures a whole answer of 1 KB over loopback; the time contains the server's part.
func BenchmarkAsk(b *testing.B) {
	up := benchUpstream(b, benchServer(b, askAnswer(1<<10)))
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if _, err := up.Ask(context.Background(), hello); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// askAllocsMax guards the unary path: the text of the answer, the watch of the context, and one to spare.
const askAllocsMax = 6

func TestAskAllocations(t *testing.T) {
	up := benchUpstream(t, benchServer(t, askAnswer(1<<10)))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := testing.AllocsPerRun(200, func() {
		if _, err := up.Ask(ctx, hello); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%v allocations for a whole answer", n)
	if n > askAllocsMax && !raceEnabled {
		t.Errorf("%v allocations, want at most %d", n, askAllocsMax)
	}
}

// BenchmarkStream measures a stream of 1,000 events that are all there at once, per event, over loopback.
func BenchmarkStream(b *testing.B) {
	const events = 1000
	var answer bytes.Buffer
	answer.WriteString("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	for range events {
		answer.WriteString(strconv.FormatInt(int64(len(benchEvent)), 16) + "\r\n" + benchEvent + "\r\n")
	}
	answer.WriteString(strconv.FormatInt(int64(len(tail)), 16) + "\r\n" + tail + "\r\n0\r\n\r\n")
	up := benchUpstream(b, benchServer(b, answer.Bytes()))
	storage := make([]byte, 0, 64<<10)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		s, err := up.Open(context.Background(), hello)
		if err != nil {
			b.Fatal(err)
		}
		if o := s.Relay(sse.NewWriter(io.Discard, storage)); o.End != plane.EndDone {
			b.Fatal(o)
		}
		s.Close()
		n += events
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/event")
}

// TestTLS runs both ways of asking over TLS, where the transport cannot wait without a buffer.
func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer sesame" || r.URL.Path != "/v1/chat/completions" || r.ProtoMajor != 1 {
			w.WriteHeader(http.StatusTeapot)
			return
		}
		if !bytes.Contains(body, []byte(`"stream":true`)) {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, wholeAnswer(`"Hi"`, providerUsage))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range []string{roleEvent, delta("a"), delta("b"), delta("c"), stopEvent, usageEvent, doneEvent} {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	up := newUpstream(t, server.URL+"/v1", Options{TLS: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12}, KeepAlive: time.Millisecond})
	for range 3 {
		if got, err := up.Ask(t.Context(), hello); err != nil || string(got.Text) != `"Hi"` || got.Use != provider {
			t.Fatalf("%q, %+v, %v", got.Text, got.Use, err)
		}
		if got := listen(t, t.Context(), up, hello); got.text != "abc" || got.outcome.End != plane.EndDone || got.outcome.Usage != provider || got.pings == 0 {
			t.Fatalf("%+v", got)
		}
	}
	distrusting := newUpstream(t, server.URL+"/v1", Options{})
	_, err := distrusting.Ask(t.Context(), hello)
	checkFault(t, err, apierr.BadGateway, "could not be reached")
}
