package client

import (
	"math/rand/v2"
	"testing"

	"modelgate.internal/dataplane/internal/quota/ledger"
)

// strander is a node that may crash at any moment, and what it would strand.
type strander struct {
	*bench
	r       *rand.Rand
	cell    *Cell
	waiting int64 // callers
	crowd   int64 // those of them that the unanswered frame asks for
	used    int64
	most    int64 // tokens that a crash would have stranded, without those of callers
}

// look takes the moment as that of a crash. Granted is what the ledger has granted, whether the node knows or not.
func (s *strander) look(granted int64) {
	stranded := granted - s.cell.void - s.used
	s.most = max(s.most, stranded-s.crowd)
}

// call has a caller ask, who waits if there is no token.
func (s *strander) call() {
	switch s.core.Try(s.cell) {
	case Admitted:
		s.used++
	case Ask:
		s.waiting++
		s.core.Want(s.cell, 1)
	}
}

// serve lets who waits look again.
func (s *strander) serve() {
	for n := s.waiting; n > 0; n-- {
		out := s.core.Try(s.cell)
		if out == Ask {
			return
		}
		if out == Admitted {
			s.used++
		}
		s.waiting--
		s.core.Unwant(s.cell, 1)
	}
}

// step is a millisecond.
func (s *strander) step() {
	if f, ok := s.core.Frame(s.now); ok {
		s.crowd = s.waiting
		res := s.apply(ledger.Entry{Frames: []ledger.Frame{f}})
		for _, g := range res.Replies[0].Grants {
			s.look(g.Granted)
		}
		s.core.Receive(s.now+ms, &res.Replies[0])
		s.serve()
		s.crowd = 0
	}
	s.look(s.cell.granted)
	s.now += ms
}

// A node that crashes strands at most a 32nd of a limit, and one token for each caller that waits, whatever the load was.
func TestWhatACrashStrands(t *testing.T) {
	for _, limit := range []int64{30, 120, 500, 5000, 100_000} {
		worst := int64(0)
		for seed := range uint64(4) {
			b := newBench(t, limit)
			s := strander{bench: b, r: rand.New(rand.NewPCG(seed, 1)), cell: minuteCell(1)}
			perSecond := 0.0
			for i := range 10_000 {
				if i%1000 == 0 { // up to 30 times what the limit allows
					perSecond = float64(limit) / 60 * 30 * s.r.Float64() * s.r.Float64()
				}
				for range poisson(s.r, perSecond/1000) {
					s.call()
				}
				s.step()
			}
			worst = max(worst, s.most)
		}
		bound := (limit + 31) / 32
		t.Logf("limit %d: a crash strands %d tokens at most, beside those of waiting callers; %d are allowed", limit, worst, bound)
		if worst > bound || worst <= 0 {
			t.Errorf("limit %d: a crash strands %d tokens", limit, worst)
		}
	}
}

// poisson returns how many calls come when so many do on average.
func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for at := r.ExpFloat64(); at < mean; at += r.ExpFloat64() {
		n++
	}
	return n
}
