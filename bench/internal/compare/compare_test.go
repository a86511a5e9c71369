package compare

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/bench/report"
)

// inProcess is a target that lives in the test.
type inProcess struct {
	called string
	server *httptest.Server
	starts atomic.Int64
}

func (p *inProcess) name() string { return p.called }
func (p *inProcess) stop()        { p.server.Close() }

func (p *inProcess) fresh(_ context.Context, restart bool) error {
	if restart {
		p.starts.Add(1)
	}
	return nil
}

func (p *inProcess) watch() []proc.Watched {
	return []proc.Watched{{Name: p.called, Pid: os.Getpid()}}
}

func (p *inProcess) aim(stream bool) (load.Target, error) {
	return chat(strings.TrimPrefix(p.server.URL, "http://"), "k", stream)
}

// honest passes everything on at once and cancels when its client leaves.
func honest(upstream string) http.Handler {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: upstream})
	proxy.FlushInterval = -1
	proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 512}
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {}
	proxy.ErrorLog = log.New(io.Discard, "", 0)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// net/http gives a request's body up when its answer begins. If the upstream answers before the body's end was looked
		// for, that cuts the stream, so the body is read before.
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(text))
		proxy.ServeHTTP(w, r)
	})
}

// careless keeps the upstream when its client has left, refuses one call of ten and drops the end of every stream.
func careless(upstream string) http.Handler {
	var n atomic.Int64
	proxy := honest(upstream)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%10 == 0 {
			http.Error(w, "no", http.StatusTooManyRequests)
			return
		}
		proxy.ServeHTTP(&shortener{ResponseWriter: w}, r.WithContext(context.WithoutCancel(r.Context())))
	})
}

// shortener passes on what fits into its bound and swallows the rest.
type shortener struct {
	http.ResponseWriter

	written int
}

const shortenedTo = 2_000

func (s *shortener) Write(p []byte) (int, error) {
	if room := shortenedTo - s.written; room > 0 {
		_, _ = s.ResponseWriter.Write(p[:min(room, len(p))])
	}
	s.written += len(p)
	return len(p), nil
}

func (s *shortener) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// start makes a comparison of proxies in the test, with a real simulator.
func start(t *testing.T, handlers map[string]func(string) http.Handler) *comparison {
	t.Helper()
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir, "modelgate.internal/bench/cmd/mockmodel")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the simulator: %v: %s", err, out)
	}
	ports, err := freePorts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := quickPlan()
	p.burstEvents, p.unaryWarm, p.unary = 200, 50*time.Millisecond, 300*time.Millisecond
	p.open, p.settle, p.window = 200*time.Millisecond, 100*time.Millisecond, 300*time.Millisecond
	c := &comparison{
		Options: Options{Out: t.Output(), Repeats: 1}, plan: p, dir: dir, wrong: map[string][]int64{},
		mock: &mock{program: filepath.Join(dir, "mockmodel"), address: ports[0], dir: dir},
	}
	t.Cleanup(c.mock.stop)
	for _, name := range []string{Gateway, Reference, Direct} {
		if handler := handlers[name]; handler != nil {
			server := httptest.NewServer(handler(ports[0]))
			t.Cleanup(func() {
				c.mock.stop() // the server waits for calls that only the simulator's end ends
				server.Close()
			})
			c.targets = append(c.targets, &inProcess{called: name, server: server})
			c.report.Targets = append(c.report.Targets, report.Target{Name: name})
		}
	}
	return c
}

func TestScenesTellAnHonestProxyFromACarelessOne(t *testing.T) {
	c := start(t, map[string]func(string) http.Handler{Gateway: careless, Reference: honest})
	c.Scenes = []string{"unary", "burst", "leave-flowing", "leave-silent"}
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.addWrong()
	c.report.Fill(Reference)
	for _, row := range c.report.Rows {
		good, bad := row.Cell(Reference), row.Cell(Gateway)
		switch row.Name {
		case "unary_cpu", "burst_cpu":
			if good.Value <= 0 || len(good.Values) != 1 || good.Ratio != 1 || good.Note != "" {
				t.Errorf("%s: %+v", row.Name, good)
			}
			if bad.Value <= 0 || bad.Ratio <= 0 || !strings.Contains(bad.Note, "429") {
				t.Errorf("%s: %+v", row.Name, bad)
			}
		case "leave_silent":
			if good.Value <= 0 || good.Value >= giveUpWait.Seconds() || good.Note != "" {
				t.Errorf("%s: %+v", row.Name, good)
			}
			if row.Verdict(Gateway) != "missed" || !strings.Contains(bad.Note, "still open") {
				t.Errorf("%s: %s %+v", row.Name, row.Verdict(Gateway), bad)
			}
		case "wrong":
			if good.Value != 0 || bad.Value < 20 {
				t.Errorf("wrong: %+v %+v", good, bad)
			}
		}
	}
	if want := 2 * 1 * 4; len(c.report.Runs) != want {
		t.Errorf("%d runs were kept, want %d", len(c.report.Runs), want)
	}
	var table strings.Builder
	c.report.WriteTable(&table, Gateway)
	t.Log("\n" + table.String())
}

func TestLoneEventsGiveDelayAndMemory(t *testing.T) {
	c := start(t, map[string]func(string) http.Handler{Gateway: honest, Reference: honest, Direct: honest})
	l := lone{streams: 40, open: c.plan.open, interval: 20 * time.Millisecond}
	if err := c.mock.play(t.Context(), answers{events: c.plan.events(l), interval: l.interval}); err != nil {
		t.Fatal(err)
	}
	v, err := loneEvents(t.Context(), c, c.targets[0], l, "cpu")
	if err != nil {
		t.Fatal(err)
	}
	r := v.raw.(load.StreamsResult)
	if v.wrong != 0 || r.Complete != 40 || r.OpenAtEnd != 40 || v.row["cpu"] <= 0 || v.row["delay"] <= 0 {
		t.Errorf("%+v %+v", v.row, r)
	}
}

func TestAddedDelayIsTheWholeLessTheDirect(t *testing.T) {
	found := map[string]values{
		Gateway: {row: map[string]float64{"delay": 300}}, Reference: {row: map[string]float64{"delay": 250}},
		Direct: {row: map[string]float64{"delay": 200}}, "caddy": {},
	}
	subtractDirect(found)
	if found[Gateway].row["delay"] != 100 || found[Reference].row["delay"] != 50 || len(found[Direct].row) != 0 {
		t.Error(found)
	}
	found = map[string]values{Gateway: {row: map[string]float64{"delay": 300}}}
	subtractDirect(found)
	if len(found[Gateway].row) != 0 {
		t.Error("an added delay was made up without the direct one")
	}
}

func TestShareIsReadFromPprof(t *testing.T) {
	const top = "File: dataplane\nType: cpu\nActive filters:\n   focus=x\nShowing nodes accounting for 250ms, 12.50% of 2000ms total\n      flat  flat%\n"
	if share, err := readShare([]byte(top)); err != nil || share != 12.5 {
		t.Error(share, err)
	}
	if _, err := readShare([]byte("nonsense")); err == nil {
		t.Error("a share was read from nonsense")
	}
}

// The simulator behind the gateway may be missing the parts of a build; the report says so and goes on.
func TestWhatIsMissingIsSaid(t *testing.T) {
	c := start(t, nil)
	c.Bin = t.TempDir()
	c.Targets = []string{Gateway}
	secret, err := c.startGateway(t.Context())
	if err != nil || secret == "" || len(c.targets) != 0 {
		t.Errorf("%v %q %v", err, secret, c.targets)
	}
	if got := fmt.Sprint(c.report.Targets); !strings.Contains(got, "make build") {
		t.Error(got)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	for _, o := range []Options{{Scenes: []string{"x"}}, {Targets: []string{"x"}}, {Repeats: -1}, {Repeats: repeatsMax + 1}} {
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%+v was run", o)
		}
	}
}
