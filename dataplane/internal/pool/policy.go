package pool

import (
	"math"
	"math/rand/v2"
	"time"

	"modelgate.internal/shared/plane"
)

// seat is a member's place in one pool.
type seat struct {
	m      *member
	weight int
	turn   int // of smooth weighted round robin
}

// draw is what a choice depends on beside the seats.
type draw struct {
	now  time.Duration
	op   op
	rand *rand.Rand
}

// policy chooses one of at least one usable seats. The seats are the pool's own, under the Set's lock.
type policy interface {
	choose(seats []*seat, d draw) *seat
}

func policyOf(word string) policy {
	switch word {
	case plane.PolicyRoundRobin:
		return roundRobin{}
	case plane.PolicyLeastInFlight:
		return leastInFlight{}
	default:
		return powerOfTwo{}
	}
}

// roundRobin gives everyone its weight in turns and spreads them evenly: of weights 5, 1, 1 it makes a a b a c a a.
type roundRobin struct{}

func (roundRobin) choose(seats []*seat, _ draw) *seat {
	best, total := seats[0], 0
	for _, s := range seats {
		s.turn += s.weight
		total += s.weight
		if s.turn > best.turn {
			best = s
		}
	}
	best.turn -= total
	return best
}

// leastInFlight takes who has the fewest calls per weight, and turns among equals.
type leastInFlight struct{}

func (leastInFlight) choose(seats []*seat, d draw) *seat {
	least := seats[0]
	for _, s := range seats[1:] {
		if s.m.inFlight*least.weight < least.m.inFlight*s.weight {
			least = s
		}
	}
	equals := seats[:0] // the seats before the one looked at are not needed again
	for _, s := range seats {
		if s.m.inFlight*least.weight == least.m.inFlight*s.weight {
			equals = append(equals, s)
		}
	}
	return roundRobin{}.choose(equals, d)
}

// powerOfTwo draws two by weight and takes the one with the lower load. Near-equals are as good as drawn, so that weights
// hold among equal servers.
type powerOfTwo struct{}

func (powerOfTwo) choose(seats []*seat, d draw) *seat {
	a := drawSeat(seats, nil, d.rand)
	if len(seats) == 1 {
		return a
	}
	b := drawSeat(seats, a, d.rand)
	if b.load(d)*100 < a.load(d)*tieBelowPercent {
		return b
	}
	return a
}

// drawSeat draws a seat other than not, by weight.
func drawSeat(seats []*seat, not *seat, r *rand.Rand) *seat {
	if len(seats) == 1 {
		return seats[0]
	}
	total := 0
	for _, s := range seats {
		if s != not {
			total += s.weight
		}
	}
	at := r.IntN(total)
	for _, s := range seats {
		if s == not {
			continue
		}
		if at -= s.weight; at < 0 {
			return s
		}
	}
	panic("BUG: a draw beyond the weights")
}

// load is the time a call may expect to take: latency times the calls that share the member.
func (s *seat) load(d draw) float64 {
	latency := s.m.latency[d.op].at(d.now)
	if latency < float64(latencyFloor) && s.m.inFlight > 0 {
		latency = float64(latencyUnknown)
	}
	return latency * (1 + float64(s.m.inFlight)/float64(s.weight))
}

// ewma is a peak-sensitive moving average of latencies in nanoseconds: it jumps up to a greater value and decays to lower
// ones, and towards zero while nothing is observed, so that a member that was slow is tried again.
type ewma struct {
	value float64
	seen  time.Duration
}

func (e *ewma) at(now time.Duration) float64 { return e.value * e.kept(now) }

func (e *ewma) observe(now, took time.Duration) {
	keep := e.kept(now)
	e.value = max(float64(took), e.value*keep+float64(took)*(1-keep))
	e.seen = max(e.seen, now)
}

// kept is the share of the value that is left. Recent values, the usual case, do without the exponential, to within 1e-5.
func (e *ewma) kept(now time.Duration) float64 {
	x := max(float64(now-e.seen), 0) / float64(latencyMemory)
	if x < 1.0/32 {
		return 1 - x + x*x/2
	}
	return math.Exp(-x)
}

// failed makes a member that fails look slow, doubling with each failure: a fast failure must not attract calls.
func (e *ewma) failed(now, took time.Duration) {
	penalty := min(max(2*time.Duration(e.at(now)), latencyUnknown), penaltyMax)
	e.observe(now, max(took, penalty))
}
