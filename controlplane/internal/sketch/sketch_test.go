package sketch

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// A percentile of a sum of sketches is as exact as one of all durations in one sketch.
func TestPercentilesOfSums(t *testing.T) {
	seed := rand.Uint64()
	dice := rand.New(rand.NewPCG(seed, 1))
	var (
		all   []time.Duration
		whole Sketch
		parts []byte
	)
	for range 20 {
		var part Sketch
		for range dice.IntN(200) {
			d := time.Duration(math.Exp(dice.NormFloat64()*2+6) * float64(time.Millisecond))
			part.Add(d)
			all = append(all, max(d, time.Millisecond))
		}
		whole.Merge(part)
		parts = part.Append(parts)
	}
	slices.Sort(all)
	var sum Sketch
	if err := sum.Decode(parts); err != nil || !slices.Equal(sum, whole) || sum.Count() != int64(len(all)) {
		t.Fatalf("seed %d: %v, %d of %d", seed, err, sum.Count(), len(all))
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.95, 0.99, 1} {
		want := float64(all[int(q*float64(len(all)-1))])
		if got := float64(sum.Percentile(q)); math.Abs(got-want) > want*(Error+1e-9) {
			t.Errorf("seed %d: percentile %v is %v, want %v", seed, q, got, want)
		}
	}
}

func TestBounds(t *testing.T) {
	var s Sketch
	if s.Percentile(0.5) != 0 || s.Append(nil) != nil {
		t.Error("something of nothing")
	}
	s.Add(0)
	s.Add(math.MaxInt64)
	if len(s) != 2 || s[0].Index != 0 || s[1].Index != BinsMax-1 {
		t.Errorf("%v", s)
	}
	if limit := math.Pow(gamma, BinsMax-1) * float64(time.Millisecond); limit < float64(7*24*time.Hour) {
		t.Errorf("the last bin begins at %v", time.Duration(limit))
	}
	for _, b := range [][]byte{{1}, {1, 0}, {0xff}, {0xff, 0xff, 0x01, 1}, {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}} {
		if err := new(Sketch).Decode(b); !errors.Is(err, ErrForm) {
			t.Errorf("%v: %v", b, err)
		}
	}
}
