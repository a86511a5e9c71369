package obs

import (
	"maps"
	"sync"
	"sync/atomic"
)

// Series finds the series of a metric by its labels without looking them up in the metric each time, which costs more than
// adding to one. It keeps every K it was asked for, so K must come from a closed set, as labels do. It is safe for concurrent
// use.
type Series[K comparable, V any] struct {
	resolve func(k K) V
	mu      sync.Mutex // of writers
	known   atomic.Pointer[map[K]V]
}

// NewSeries returns Series that are found by resolve the first time.
func NewSeries[K comparable, V any](resolve func(k K) V) *Series[K, V] {
	s := &Series[K, V]{resolve: resolve}
	s.known.Store(&map[K]V{})
	return s
}

// Of returns the series of k.
func (s *Series[K, V]) Of(k K) V {
	if v, ok := (*s.known.Load())[k]; ok {
		return v
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	more := maps.Clone(*s.known.Load())
	v, ok := more[k]
	if !ok {
		v = s.resolve(k)
		more[k] = v
		s.known.Store(&more)
	}
	return v
}
