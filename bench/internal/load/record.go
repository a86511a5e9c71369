package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Spread describes many durations. Percentiles are exact to three digits.
type Spread struct {
	Count      int64   `json:"count"`
	MeanMicros float64 `json:"mean_us"`
	P50Micros  float64 `json:"p50_us"`
	P90Micros  float64 `json:"p90_us"`
	P99Micros  float64 `json:"p99_us"`
	P999Micros float64 `json:"p999_us"`
	MaxMicros  float64 `json:"max_us"`
}

// recorder takes durations and counts from many goroutines; each writes to a shard, so that they rarely wait.
type recorder struct{ shard [shards]shard }

type shard struct {
	mu     sync.Mutex
	delay  *hdrhistogram.Histogram // latency of a request, or delay of an event
	gap    *hdrhistogram.Histogram // between events
	events int64
	_      [64]byte // keeps the next shard out of this one's cache line
}

func newRecorder() *recorder {
	r := &recorder{}
	for i := range r.shard {
		r.shard[i].delay, r.shard[i].gap = newHistogram(), newHistogram()
	}
	return r
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, int64(histogramMax), histogramDigits)
}

// of is the shard of a worker.
func (r *recorder) of(worker int) *shard { return &r.shard[worker%shards] }

func (s *shard) latency(d time.Duration) {
	s.mu.Lock()
	put(s.delay, d)
	s.mu.Unlock()
}

// read notes the events that one read brought: their delays, and the gap before the first of them if there is one.
func (s *shard) read(at time.Time, stamps []int64, gap time.Duration) {
	now := at.UnixNano()
	s.mu.Lock()
	for _, stamp := range stamps {
		put(s.delay, time.Duration(now-stamp))
	}
	if gap > 0 {
		put(s.gap, gap)
	}
	s.events += int64(len(stamps))
	s.mu.Unlock()
}

// put records a duration; one outside the histogram counts as the nearest inside.
func put(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(int64(min(max(d, 1), histogramMax)))
}

// sum merges the shards.
func (r *recorder) sum() (delay, gap Spread, events int64) {
	delays, gaps := newHistogram(), newHistogram()
	for i := range r.shard {
		s := &r.shard[i]
		s.mu.Lock()
		delays.Merge(s.delay)
		gaps.Merge(s.gap)
		events += s.events
		s.mu.Unlock()
	}
	return spread(delays), spread(gaps), events
}

func spread(h *hdrhistogram.Histogram) Spread {
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	return Spread{
		Count: h.TotalCount(), MeanMicros: h.Mean() / 1e3, MaxMicros: us(h.Max()),
		P50Micros: us(h.ValueAtQuantile(50)), P90Micros: us(h.ValueAtQuantile(90)),
		P99Micros: us(h.ValueAtQuantile(99)), P999Micros: us(h.ValueAtQuantile(99.9)),
	}
}
