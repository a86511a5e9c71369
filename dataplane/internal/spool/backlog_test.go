package spool

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// taker is a control plane that has whatever it is sent.
type taker struct {
	records int // in each segment
	uploads int
	bytes   int
}

func (k *taker) Send(_ context.Context, _ string, h http.Header, body []byte) (int, []byte, error) {
	first, err := strconv.ParseUint(h.Get(plane.HeaderSegment), 10, 64)
	if err != nil {
		return 0, nil, err
	}
	k.uploads++
	k.bytes += len(body)
	text, err := json.Marshal(plane.UsageAck{Seq: first + uint64(k.records) - 1})
	return http.StatusOK, text, err
}

// backlog returns options of a node with segments of an earlier process with so many records each, mostly holes if they are few.
func backlog(t testing.TB, segments, records int, to Uploader) Options {
	t.Helper()
	const incarnation = "0123456789abcdef01234567"
	o := Options{DataDir: t.TempDir(), Uploader: to, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	dir := filepath.Join(o.DataDir, "spool")
	if err := os.MkdirAll(filepath.Join(dir, "damaged"), 0o700); err != nil {
		t.Fatal(err)
	}
	seq := uint64(1)
	for range segments {
		data := make([]byte, segmentHeaderBytes+records*usage.RecordBytesMax)
		putHeader(data, incarnation, seq)
		path, tail := filepath.Join(dir, segmentName(incarnation, seq)), segmentHeaderBytes
		for range records {
			tail += usage.Put(data[tail:tail+usage.RecordBytesMax], usage.Seed(incarnation), seq, call(seq))
			seq++
		}
		if err := os.WriteFile(path, data[:tail], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(path, max(segmentBytesDefault, int64(tail))); err != nil {
			t.Fatal(err)
		}
	}
	return o
}

// call is the record of one of the calls of 100 apps with 3 keys each.
func call(seq uint64) *plane.UsageRecord {
	app := seq * 2654435761 % 100
	return &plane.UsageRecord{
		RequestID: fmt.Sprintf("req_%020d", seq*6364136223846793005), At: time.Unix(1_800_000_000, int64(seq)*1_000_003),
		AccountID: fmt.Sprintf("a0000000-0000-4000-8000-%012d", app), DeveloperID: fmt.Sprintf("d0000000-0000-4000-8000-%012d", app),
		AppID: fmt.Sprintf("b0000000-0000-4000-8000-%012d", app), KeyID: fmt.Sprintf("c0000000-0000-4000-8000-%012d", 3*app+seq%3),
		Endpoint: "agent", Model: "Darwin", Task: "conversation", Backend: "upstream", Status: 200, End: plane.EndDone,
		Source: plane.SourceProvider, TokensIn: int64(seq * 31 % 2000), TokensOut: int64(seq * 17 % 800),
		TTFT: time.Duration(seq%400) * time.Millisecond, Took: time.Duration(seq%9000) * time.Millisecond,
	}
}

// allocated is how many bytes do allocates. It is for tests that do not run beside others.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A node starts whatever it has to ship: of each segment it reads the header.
func TestAStartReadsNoRecords(t *testing.T) {
	const segments, most = DiskBytesDefault / segmentBytesDefault, 16 << 20 // 10 GiB of holes; a few KiB for each file
	o := backlog(t, segments, 1, &taker{})
	var s *Spool
	took := allocated(func() {
		var err error
		if s, err = Open(o); err != nil {
			t.Fatal(err)
		}
	})
	if s.Stats().Backlog != segments {
		t.Errorf("%d segments, want %d", s.Stats().Backlog, segments)
	}
	if took > most {
		t.Errorf("the start allocates %d bytes, want at most %d", took, most)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// What shipping needs of memory does not grow with what there is to ship.
func TestSegmentsAreShippedInOneBuffer(t *testing.T) {
	const segments, most = 16, 32 << 20 // they are 64 MiB
	o := backlog(t, segments, 1, &taker{records: 1})
	var stats Stats
	took := allocated(func() {
		var err error
		if stats, err = Ship(t.Context(), o, func(Stats) {}); err != nil {
			t.Fatal(err)
		}
	})
	if stats.Acknowledged != segments || stats.Backlog != 0 {
		t.Errorf("%+v", stats)
	}
	if took > most {
		t.Errorf("shipping allocates %d bytes, want at most %d", took, most)
	}
}

// A backlog takes its share of the processors and no more, beyond what keeping up takes. It shrinks beside any load that leaves it its time.
func TestRest(t *testing.T) {
	t.Parallel()
	const n, work = 1000, 10 * time.Millisecond // records of one upload, and what it takes
	for name, tt := range map[string]struct {
		cpu        time.Duration
		rate       uint64 // records appended a second
		processors int
		want       time.Duration
	}{
		"a backlog alone":          {work, 0, 1, 1990 * time.Millisecond},
		"on two processors":        {work, 0, 2, 990 * time.Millisecond},
		"on very many":             {work, 0, 200, 0},
		"beside calls":             {work, 500, 1, 990 * time.Millisecond},
		"beside more of them":      {work, 1000, 1, 656667 * time.Microsecond},
		"beside very many":         {work, 50_000, 1, 9802 * time.Microsecond},
		"more than it can ship":    {work, 200_000, 1, 0},
		"an upload that took ages": {time.Second, 0, 1, shipRestMax},
	} {
		begin := time.Now()
		p := pacer{at: begin, rested: 990 * time.Millisecond, appended: 7, shipped: 3}
		got := p.rest(begin.Add(time.Second), tt.cpu, 7+tt.rate, 3+n, tt.processors).Round(time.Microsecond)
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
		if appended := float64(tt.rate) * (work + got).Seconds(); got > 0 && appended > n {
			t.Errorf("%s: %.0f records are appended until the next upload of %d", name, appended, n)
		}
	}
	p := pacer{at: time.Now()}
	if got := p.rest(p.at.Add(work), work, 0, 0, 1); got != 0 {
		t.Errorf("after an upload that failed it rests for %s; waiting is for retries", got)
	}
	if got := p.rest(p.at.Add(2*work), work, 0, n, 1).Round(time.Microsecond); got != 3980*time.Millisecond {
		t.Errorf("the one that came through pays for both with %s", got)
	}
}

// Few segments, which wait because of a short outage, are shipped at once.
func TestWhatIsABacklog(t *testing.T) {
	t.Parallel()
	for segments, want := range map[int]bool{0: false, 4: false, 5: true} {
		s := &Spool{o: Options{SegmentBytes: segmentBytesDefault}, queue: make([]*segment, segments)}
		if got := s.behind(); got != want {
			t.Errorf("%d segments: %t", segments, got)
		}
	}
}

// BenchmarkShip is what shipping costs the node without the network: cpu-ns/record, and how long 10 GiB take on one processor
// at the share that they may have.
func BenchmarkShip(b *testing.B) {
	const segments, records = 16, 18_000
	to := &taker{records: records}
	b.StopTimer()
	var spent time.Duration
	for range b.N {
		o := backlog(b, segments, records, to)
		runtime.LockOSThread()
		before := threadTime()
		b.StartTimer()
		if _, err := Ship(b.Context(), o, func(Stats) {}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		spent += threadTime() - before
		runtime.UnlockOSThread()
	}
	n := float64(b.N) * segments * records
	b.ReportMetric(float64(spent.Nanoseconds())/n, "cpu-ns/record")
	b.ReportMetric(float64(to.bytes)/n, "sent-B/record")
	all := float64(DiskBytesDefault) / segmentBytesDefault / segments / float64(b.N)
	b.ReportMetric(spent.Minutes()*all*1000/shipPerMille, "min/10GiB")
}
