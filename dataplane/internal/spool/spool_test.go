package spool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage/usagetest"
)

// fakeIngest is a control plane that applies records exactly once and in order.
type fakeIngest struct {
	t testing.TB

	mu      sync.Mutex
	stored  map[string][]plane.UsageRecord // by incarnation; number n is at n-1
	uploads int
	// fault decides about an upload before it is applied; nil applies it.
	fault func(incarnation string, records []plane.UsageRecord) (apply bool, status int, err error)
}

func newIngest(t testing.TB) *fakeIngest {
	return &fakeIngest{t: t, stored: map[string][]plane.UsageRecord{}}
}

func (f *fakeIngest) setFault(fault func(string, []plane.UsageRecord) (bool, int, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = fault
}

func (f *fakeIngest) Send(_ context.Context, path string, header http.Header, body []byte) (int, []byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads++
	incarnation := header.Get(plane.HeaderIncarnation)
	records := f.decode(body)
	if path != plane.UsagePath || incarnation == "" || len(records) == 0 || len(body) > plane.SegmentBytesMax ||
		len(records) > plane.SegmentRecordsMax || header.Get(plane.HeaderSegment) != strconv.FormatUint(records[0].Seq, 10) {
		f.t.Errorf("upload to %s of %d records, %v", path, len(records), header)
	}
	apply, status := true, 0
	var err error
	if f.fault != nil {
		apply, status, err = f.fault(incarnation, records)
	}
	conflict := false
	if status == http.StatusPartialContent { // stores the first half and says so with 200
		records, status = records[:(len(records)+1)/2], 0
	}
	for i, r := range records {
		if i > 0 && r.Seq != records[i-1].Seq+1 {
			f.t.Errorf("record %d follows %d in one upload", r.Seq, records[i-1].Seq)
		}
		have := uint64(len(f.stored[incarnation]))
		switch {
		case !apply || r.Seq <= have:
		case r.Seq == have+1:
			f.stored[incarnation] = append(f.stored[incarnation], r)
		default:
			conflict = true
		}
	}
	answer, _ := json.Marshal(plane.UsageAck{Seq: uint64(len(f.stored[incarnation]))})
	switch {
	case err != nil:
		return 0, nil, err
	case status != 0:
		return status, []byte(`{"detail":"no"}`), nil
	case conflict:
		return http.StatusConflict, answer, nil
	}
	return http.StatusOK, answer, nil
}

func (f *fakeIngest) decode(body []byte) []plane.UsageRecord {
	decoder, err := zstd.NewReader(bytes.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	defer decoder.Close()
	records, err := usagetest.Read(decoder)
	if err != nil {
		f.t.Error(err)
	}
	return records
}

// counted returns how often each request was stored.
func (f *fakeIngest) counted() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	counts := map[string]int{}
	for _, records := range f.stored {
		for _, r := range records {
			counts[r.RequestID]++
		}
	}
	return counts
}

type options struct {
	disk, segment int64
	log           io.Writer
}

func open(t testing.TB, dir string, up spool.Uploader, o options) *spool.Spool {
	t.Helper()
	if o.segment == 0 {
		o.segment = 64 << 10
	}
	if o.log == nil {
		o.log = io.Discard
	}
	s, err := spool.Open(spool.Options{
		DataDir: dir, DiskBytes: o.disk, SegmentBytes: o.segment, Uploader: up, Now: time.Now,
		Log: slog.New(slog.NewTextHandler(o.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the spool; stop also closes it.
func run(t testing.TB, s *spool.Spool) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-done, s.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func record(id string) *plane.UsageRecord {
	return &plane.UsageRecord{
		RequestID: id, At: time.Unix(1_800_000_000, 123_456_789).UTC(), AccountID: "org-1", DeveloperID: "dev-1", AppID: "app-1",
		KeyID: "key-1", Endpoint: "agent", Model: "Darwin", Task: "conversation", Backend: "upstream", Status: 200,
		End: plane.EndDone, Source: plane.SourceProvider, TokensIn: 17, TokensOut: 4_000_000_000, TTFT: 12 * time.Millisecond,
		Took: 3 * time.Second, Sandbox: true,
	}
}

func add(t testing.TB, s *spool.Spool, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := s.Append(record(id)); err != nil {
			t.Fatal(err)
		}
	}
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 12_000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s: not within a minute", what)
}

func files(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "spool", "*.segment"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestRecordsArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{})
	stop := run(t, s)
	refused := &plane.UsageRecord{RequestID: "refused", At: time.Unix(1, 0).UTC(), Status: 429, End: plane.EndRefused, Source: plane.SourceNone}
	add(t, s, "one", "two")
	if err := s.Append(refused); err != nil || refused.Seq != 3 {
		t.Fatalf("seq %d, %v", refused.Seq, err)
	}
	eventually(t, "acknowledgement", func() bool { return s.Stats().Acknowledged == 3 })
	got := ingest.stored[s.Incarnation()]
	want := []plane.UsageRecord{*record("one"), *record("two"), *refused}
	for i := range want {
		want[i].Seq = uint64(i + 1)
		if got[i] != want[i] {
			t.Errorf("record %d:\n%+v\nwant\n%+v", i, got[i], want[i])
		}
	}
	stop()
	if left := files(t, dir); len(left) != 0 {
		t.Errorf("left behind although acknowledged: %v", left)
	}
	if err := s.Append(record("late")); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
}

func TestLongTextsAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	ingest := newIngest(t)
	s := open(t, t.TempDir(), ingest, options{})
	run(t, s)
	r := record("long")
	r.Model = strings.Repeat("ä", 200)
	r.RequestID = strings.Repeat("\xff", 300)
	if err := s.Append(r); err != nil {
		t.Fatal(err)
	}
	eventually(t, "acknowledgement", func() bool { return s.Stats().Acknowledged == 1 })
	got := ingest.stored[s.Incarnation()][0]
	if got.Model != strings.Repeat("ä", 127) {
		t.Errorf("model %q", got.Model)
	}
	if got.RequestID != "?" {
		t.Errorf("request id %q", got.RequestID)
	}
}

func TestConcurrentAppends(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{})
	stop := run(t, s)
	const writers, each = 8, 2000
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for i := range each {
				if err := s.Append(record(fmt.Sprint(w, "/", i))); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	stop() // ships what is left
	s = open(t, dir, ingest, options{})
	run(t, s)
	eventually(t, "all records", func() bool { return len(ingest.counted()) == writers*each })
	exactlyOnce(t, ingest)
	eventually(t, "empty spool", func() bool { return len(files(t, dir)) == 1 })
}

func exactlyOnce(t testing.TB, ingest *fakeIngest) {
	t.Helper()
	for id, n := range ingest.counted() {
		if n != 1 {
			t.Errorf("%s counted %d times", id, n)
		}
	}
}

// The control plane fails in every way it can, at random; the node restarts; everything is counted exactly once.
func TestExactlyOnceThroughFaults(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	ingest, dir := newIngest(t), t.TempDir()
	rnd := rand.New(rand.NewPCG(seed, 4))
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) {
		switch rnd.IntN(10) {
		case 0:
			return false, 0, errors.New("connection refused")
		case 1:
			return true, 0, errors.New("connection lost after the upload") // delivered, and will come again
		case 2:
			return false, http.StatusServiceUnavailable, nil
		case 3:
			return true, http.StatusInternalServerError, nil
		case 4:
			return false, http.StatusRequestEntityTooLarge, nil
		case 5:
			return true, http.StatusPartialContent, nil
		default:
			return true, 0, nil
		}
	})
	total := 0
	for range 4 {
		s := open(t, dir, ingest, options{segment: 16 << 10})
		stop := run(t, s)
		for range 300 {
			add(t, s, fmt.Sprint("call-", total))
			total++
			if total%50 == 0 {
				time.Sleep(20 * time.Millisecond)
			}
		}
		stop()
	}
	ingest.setFault(nil)
	s := open(t, dir, ingest, options{})
	run(t, s)
	eventually(t, "all records", func() bool { return len(ingest.counted()) == total })
	exactlyOnce(t, ingest)
	if lost := s.Stats().Lost; lost != 0 {
		t.Errorf("%d lost", lost)
	}
	eventually(t, "empty spool", func() bool { return len(files(t, dir)) == 1 })
}

// A control plane that knows more than the node believes: everything was stored, no answer came back.
func TestResumesWhereTheControlPlaneStands(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{segment: 16 << 10})
	ids := make([]string, 500)
	for i := range ids {
		ids[i] = fmt.Sprint("call-", i)
	}
	add(t, s, ids...)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return true, 0, errors.New("cut") })
	stop := run(t, s)
	eventually(t, "an upload", func() bool { return len(ingest.counted()) > 0 })
	stop()
	ingest.setFault(nil)
	s = open(t, dir, ingest, options{})
	add(t, s, "later")
	run(t, s)
	eventually(t, "all records", func() bool { return len(ingest.counted()) == 501 })
	exactlyOnce(t, ingest)
}

// A conflict that does not say what is stored is no reason to number anything anew.
func TestConflictWithoutANumber(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{})
	run(t, s)
	add(t, s, "one", "two")
	eventually(t, "delivery", func() bool { return s.Stats().Acknowledged == 2 })
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return false, http.StatusConflict, nil })
	uploads := ingest.count()
	add(t, s, "three")
	eventually(t, "attempts", func() bool { return ingest.count() > uploads+2 })
	ingest.setFault(nil)
	eventually(t, "delivery", func() bool { return s.Stats().Acknowledged == 3 })
	exactlyOnce(t, ingest)
	if got := ingest.incarnations(); got != 1 {
		t.Errorf("%d incarnations", got)
	}
}

func (f *fakeIngest) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uploads
}

func (f *fakeIngest) incarnations() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.stored)
}

// A control plane that was set back to an older state waits for records that are gone: what is left is shipped all the same.
func TestControlPlaneThatForgot(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	s := open(t, dir, ingest, options{segment: 16 << 10})
	run(t, s)
	for i := range 300 {
		add(t, s, fmt.Sprint("call-", i))
	}
	eventually(t, "delivery", func() bool { return s.Stats().Acknowledged == 300 && s.Stats().Backlog == 1 })
	ingest.mu.Lock()
	ingest.stored[s.Incarnation()] = ingest.stored[s.Incarnation()][:10]
	ingest.mu.Unlock()
	add(t, s, "later")
	eventually(t, "the record after", func() bool { return ingest.counted()["later"] == 1 })
	exactlyOnce(t, ingest)
	if s.Stats().Lost == 0 {
		t.Error("the loss is not reported")
	}
}

func TestTwoProcessesCannotShareADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, newIngest(t), options{})
	defer func() { _ = s.Close() }()
	_, err := spool.Open(spool.Options{DataDir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opened twice: %v", err)
	}
}

func TestFullSpoolRefusesBeforeItLoses(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	down := func(string, []plane.UsageRecord) (bool, int, error) { return false, 0, errors.New("down") }
	ingest.setFault(down)
	const segment = 16 << 10
	s := open(t, dir, ingest, options{disk: 4 * segment, segment: segment})
	stop := run(t, s)
	total := 0
	deadline := time.Now().Add(30 * time.Second)
	for !s.Full() {
		if time.Now().After(deadline) {
			t.Fatal("never full")
		}
		add(t, s, fmt.Sprint("call-", total))
		total++
		if total%20 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := s.Ready(); !errors.Is(err, spool.ErrFull) {
		t.Errorf("ready: %v", err)
	}
	for range 20 { // calls that were running when it became full
		add(t, s, fmt.Sprint("call-", total))
		total++
	}
	var err error
	for err == nil {
		if err = s.Append(record(fmt.Sprint("call-", total))); err == nil {
			total++
		}
	}
	if !errors.Is(err, spool.ErrFull) || s.Stats().Refused != 1 {
		t.Errorf("append to a full spool: %v, %+v", err, s.Stats())
	}
	eventually(t, "bound of disk bytes", func() bool { return s.Stats().DiskBytes <= 4*segment })
	stop()
	s = open(t, dir, ingest, options{disk: 4 * segment, segment: segment}) // a restart in this state
	if !s.Full() {
		t.Error("not full after a restart")
	}
	if err := s.Append(record("refused")); !errors.Is(err, spool.ErrFull) {
		t.Errorf("append: %v", err)
	}
	run(t, s)
	ingest.setFault(nil)
	eventually(t, "room", func() bool { return !s.Full() })
	add(t, s, "call-again")
	total++
	eventually(t, "all records", func() bool { return len(ingest.counted()) == total })
	exactlyOnce(t, ingest)
}

// The directory goes away under a running node and comes back: calls are refused meanwhile, and nothing is lost.
func TestFileSystemThatFails(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	const segment = 16 << 10
	s := open(t, dir, ingest, options{segment: segment, disk: 100 * segment})
	run(t, s)
	appended := 0
	add(t, s, "call-0")
	appended++
	eventually(t, "delivery", func() bool { return s.Stats().Acknowledged == 1 })
	away := filepath.Join(dir, "away")
	if err := os.Rename(filepath.Join(dir, "spool"), away); err != nil {
		t.Fatal(err)
	}
	eventually(t, "refusal", func() bool {
		if s.Append(record(fmt.Sprint("call-", appended))) == nil {
			appended++
		}
		return s.Full()
	})
	if err := os.Rename(away, filepath.Join(dir, "spool")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "recovery", func() bool { return !s.Full() })
	add(t, s, "call-last")
	appended++
	eventually(t, "all records", func() bool { return len(ingest.counted()) == appended })
	exactlyOnce(t, ingest)
}

func BenchmarkAppend(b *testing.B) {
	ingest := newIngest(b)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return false, 0, errors.New("down") })
	s := open(b, b.TempDir(), ingest, options{segment: 4 << 20, disk: 8 << 30})
	run(b, s)
	r := record("0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Append(r); err != nil {
			b.Fatal(err)
		}
	}
}
