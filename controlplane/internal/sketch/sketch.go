// Package sketch counts durations so that percentiles can be told of any sum of calls: of hours of a day, of keys of an app.
//
// It is the logarithmic mapping of DDSketch (Masson, Rim and Lee, "DDSketch: a fast and fully-mergeable quantile sketch with
// relative-error guarantees", VLDB 2019): bin i holds durations in (gamma^(i-1), gamma^i] ms, so a percentile is within Error of
// the duration of the call at that rank. Bins never collapse, as there are at most BinsMax of them.
//
// The encoded form is pairs of varints, bin and count, in any order and with bins repeated: two encoded sketches behind each
// other are the encoded sum, which lets the database add them up without knowing what they are.
//
// Concurrency: a Sketch belongs to one goroutine. Failure: bytes that are no sketch are an error, never a wrong percentile.
package sketch

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"
)

const (
	// Error bounds the relative error of a percentile of 1 ms or more; shorter durations count as 1 ms.
	Error = 0.02
	// BinsMax is how many bins there can be: the last holds everything from about 13 days on.
	BinsMax = 520

	gamma = (1 + Error) / (1 - Error)
)

// ErrForm is bytes that are no encoded sketch.
var ErrForm = errors.New("it is no sketch of durations")

// Bin is a number of calls whose durations are close.
type Bin struct {
	Index int
	Count int64
}

// Sketch is bins in ascending order. The zero value is empty.
type Sketch []Bin

// Add counts a duration.
func (s *Sketch) Add(d time.Duration) {
	index := 0
	if ms := float64(d) / float64(time.Millisecond); ms > 1 {
		index = min(int(math.Ceil(math.Log(ms)/math.Log(gamma))), BinsMax-1)
	}
	s.add(index, 1)
}

func (s *Sketch) add(index int, count int64) {
	at, found := slices.BinarySearchFunc(*s, index, func(b Bin, i int) int { return b.Index - i })
	if found {
		(*s)[at].Count += count
		return
	}
	*s = slices.Insert(*s, at, Bin{index, count})
}

// Merge adds another sketch.
func (s *Sketch) Merge(other Sketch) {
	for _, b := range other {
		s.add(b.Index, b.Count)
	}
}

// Append encodes the sketch.
func (s Sketch) Append(b []byte) []byte {
	for _, bin := range s {
		b = binary.AppendUvarint(b, uint64(bin.Index))
		b = binary.AppendUvarint(b, uint64(bin.Count))
	}
	return b
}

// Decode adds an encoded sketch, or several behind each other. After an error s is of no use.
func (s *Sketch) Decode(b []byte) error {
	at := 0 // bins mostly ascend, as do those of s
	for len(b) > 0 {
		index, n := binary.Uvarint(b)
		if n <= 0 || index >= BinsMax {
			return ErrForm
		}
		count, m := binary.Uvarint(b[n:])
		if m <= 0 || count == 0 || count > math.MaxInt64/2 {
			return ErrForm
		}
		if at >= len(*s) || (*s)[at].Index > int(index) {
			at = 0
		}
		for at < len(*s) && (*s)[at].Index < int(index) {
			at++
		}
		if at < len(*s) && (*s)[at].Index == int(index) {
			(*s)[at].Count += int64(count)
		} else {
			*s = slices.Insert(*s, at, Bin{int(index), int64(count)})
		}
		b = b[n+m:]
	}
	return nil
}

// Count is how many durations were counted.
func (s Sketch) Count() (n int64) {
	for _, b := range s {
		n += b.Count
	}
	return n
}

// Percentile returns the duration that the share q of the calls did not exceed; q is within 0 and 1. It is 0 without calls.
func (s Sketch) Percentile(q float64) time.Duration {
	rank := q * float64(s.Count()-1)
	seen := 0.0
	for _, b := range s {
		seen += float64(b.Count)
		if seen > rank {
			ms := 2 * math.Pow(gamma, float64(b.Index)) / (gamma + 1) // in the middle of the bin, by relative error
			return time.Duration(ms * float64(time.Millisecond))
		}
	}
	return 0
}
