package ledger

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/shared/wire"
)

// Row is a stored rollup.
type Row struct {
	Alike
	At           int64 // start in Unix seconds
	Usage        wire.Counters
	TTFT, Took   []byte // encoded sketches; Add does not keep them
	Point, Group bool   // whether it is part of the series, and of the lists
}

// Alike is what calls have in common but for their time.
type Alike struct {
	App, Key                 uuid.UUID
	Model, Task, Source, End string
	Status                   int64
}

// Sum adds rows up to the parts of an answer. It holds one part for each point and for each [Alike], however many rows there are.
// A Sum belongs to one goroutine.
type Sum struct {
	alike map[Alike]*Part
	times map[int64]*Part
}

// NewSum returns a sum of nothing.
func NewSum() *Sum { return &Sum{alike: make(map[Alike]*Part), times: make(map[int64]*Part)} }

// Add adds a row. It fails when a sketch is none.
func (s *Sum) Add(r *Row) error {
	if r.Point {
		p := s.times[r.At]
		if p == nil {
			p = &Part{Sort: SortTime, At: time.Unix(r.At, 0).UTC()}
			s.times[r.At] = p
		}
		if err := p.addRow(r); err != nil {
			return err
		}
	}
	if !r.Group {
		return nil
	}
	p := s.alike[r.Alike]
	if p == nil {
		p = &Part{}
		s.alike[r.Alike] = p
	}
	return p.addRow(r)
}

func (p *Part) addRow(r *Row) error {
	p.count(r.Usage)
	return errors.Join(p.TTFT.Decode(r.TTFT), p.Took.Decode(r.Took))
}

// Parts returns the sums by every sort: times in their order, of the others the most used first.
func (s *Sum) Parts() []Part {
	type id struct {
		sort Sort
		name string
	}
	groups := make(map[id]*Part)
	for a, part := range s.alike {
		status := strconv.FormatInt(a.Status, 10)
		for _, in := range []id{
			{SortApp, a.App.String()},
			{SortKey, a.Key.String()},
			{SortModel, a.Model},
			{SortTask, a.Task},
			{SortStatus, status},
			{SortEnd, status + " " + a.End},
			{SortSource, a.Source},
		} {
			g := groups[in]
			if g == nil {
				g = &Part{Sort: in.sort, Name: in.name}
				groups[in] = g
			}
			if in.sort == SortEnd || in.sort == SortSource {
				g.count(part.Usage)
			} else {
				g.add(*part)
			}
		}
	}
	parts := make([]Part, 0, len(s.times)+len(groups))
	for _, at := range slices.Sorted(maps.Keys(s.times)) {
		parts = append(parts, *s.times[at])
	}
	for _, g := range groups {
		parts = append(parts, *g)
	}
	slices.SortFunc(parts[len(s.times):], func(a, b Part) int {
		return cmp.Or(cmp.Compare(a.Sort, b.Sort), cmp.Compare(b.Usage.Calls, a.Usage.Calls), cmp.Compare(a.Name, b.Name))
	})
	return parts
}
