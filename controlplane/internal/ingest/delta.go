package ingest

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"modelgate.internal/controlplane/internal/sketch"
	"modelgate.internal/shared/plane"
)

// Store keeps what is counted.
type Store interface {
	// ApplyUsage calls decide with the number of the record that is expected next from the incarnation of the node, 1 for a new
	// one, and stores the delta that it returns, all in one transaction. Without a delta or with an error nothing is stored.
	// decide may run several times. It returns the number expected afterwards.
	ApplyUsage(ctx context.Context, nodeID, incarnation string, at time.Time, decide func(next uint64) (*Delta, error)) (uint64, error)
	// RejectSegment keeps a segment that cannot be read, or counts that it came again.
	RejectSegment(ctx context.Context, nodeID, incarnation string, at time.Time, r Rejected) error
}

// Delta is what some records of a node add to what is stored. Its lists are in the order of their identities, so that two
// transactions that change the same rows do so in the same order.
type Delta struct {
	Next     uint64 // expected after these records
	Minutes  []Rollup
	Hours    []Rollup
	Days     []Rollup
	Edges    []EdgeDay
	Accounts []AccountDay
	Keys     []KeyUse
	Calls    []Call
	LeftOut  []LeftOut
	Rejected []Rejected
}

// Rollup is the usage of one minute, hour or day that has everything else in common.
type Rollup struct {
	RollupID
	Calls, Errors, TokensIn, TokensOut int64
	TTFT, Took                         sketch.Sketch // of answers that were sent whole
}

// RollupID is what the calls of a rollup have in common.
type RollupID struct {
	App     uuid.UUID // nil for Darwin tokens
	Bucket  int64     // start in Unix seconds
	Key     uuid.UUID
	Account uuid.UUID
	Model   string
	Task    string
	Status  int
	Source  string
	End     string
}

// AccountDay is how many calls count against the quota of an account on a UTC day.
type AccountDay struct {
	Account uuid.UUID
	Day     int64 // start in Unix seconds
	Calls   int64
}

// KeyUse is when a key was used last.
type KeyUse struct {
	Key uuid.UUID
	At  time.Time
}

// Rejected is a record that cannot be counted, or a whole segment that cannot be read; then Seq is the segment's number.
type Rejected struct {
	Seq    uint64
	Whole  bool
	Reason string
	Body   []byte
}

const (
	minuteSeconds = 60
	hourSeconds   = 3600
	daySeconds    = 86_400
)

// sum adds up records at the time now: so many of the first ones that no list but that of calls has more than about rowsMax rows.
// It returns their number.
func sum(lines []line, now time.Time, rowsMax int) (*Delta, int) {
	var (
		d        Delta
		minutes  = make(map[RollupID]*Rollup)
		accounts = make(map[AccountDay]int64)
		keys     = make(map[uuid.UUID]time.Time)
	)
	for i := range lines {
		l := &lines[i]
		full := len(minutes)+len(d.Rejected) == rowsMax
		if l.bad != nil {
			if full {
				lines = lines[:i]
				break
			}
			d.Rejected = append(d.Rejected, *l.bad)
			continue
		}
		at := l.at.Unix()
		id := l.id
		id.Bucket = at - at%minuteSeconds
		r := minutes[id]
		if r == nil {
			if full {
				lines = lines[:i]
				break
			}
			r = &Rollup{RollupID: id}
			minutes[id] = r
		}
		r.count(l)
		if l.counts {
			accounts[AccountDay{Account: id.Account, Day: at - at%daySeconds}]++
		}
		if used := earlier(l.at, now); used.After(keys[id.Key]) {
			keys[id.Key] = used
		}
	}
	hours := coarser(minutes, hourSeconds)
	d.Hours, d.Days = inOrder(hours), inOrder(coarser(hours, daySeconds))
	kept := now.Add(-MinutesKept).Unix()
	maps.DeleteFunc(minutes, func(id RollupID, _ *Rollup) bool { return id.Bucket < kept })
	d.Minutes = inOrder(minutes)
	for a, n := range accounts {
		d.Accounts = append(d.Accounts, AccountDay{a.Account, a.Day, n})
	}
	slices.SortFunc(d.Accounts, func(a, b AccountDay) int {
		return cmp.Or(bytes.Compare(a.Account[:], b.Account[:]), cmp.Compare(a.Day, b.Day))
	})
	for key, at := range keys {
		d.Keys = append(d.Keys, KeyUse{key, at})
	}
	slices.SortFunc(d.Keys, func(a, b KeyUse) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return &d, len(lines)
}

func (r *Rollup) count(l *line) {
	r.Calls++
	r.TokensIn += l.tokensIn
	r.TokensOut += l.tokensOut
	if l.failed {
		r.Errors++
	}
	if l.ttft > 0 {
		r.TTFT.Add(l.ttft)
	}
	if l.took > 0 {
		r.Took.Add(l.took)
	}
}

// coarser adds rollups up to longer ones.
func coarser(fine map[RollupID]*Rollup, seconds int64) map[RollupID]*Rollup {
	coarse := make(map[RollupID]*Rollup)
	for id, r := range fine {
		id.Bucket -= id.Bucket % seconds
		c := coarse[id]
		if c == nil {
			c = &Rollup{RollupID: id}
			coarse[id] = c
		}
		c.Calls += r.Calls
		c.Errors += r.Errors
		c.TokensIn += r.TokensIn
		c.TokensOut += r.TokensOut
		c.TTFT.Merge(r.TTFT)
		c.Took.Merge(r.Took)
	}
	return coarse
}

func inOrder(rollups map[RollupID]*Rollup) []Rollup {
	order := slices.SortedFunc(maps.Values(rollups), func(a, b *Rollup) int {
		return cmp.Or(
			bytes.Compare(a.App[:], b.App[:]), cmp.Compare(a.Bucket, b.Bucket), bytes.Compare(a.Key[:], b.Key[:]),
			bytes.Compare(a.Account[:], b.Account[:]), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Task, b.Task),
			cmp.Compare(a.Status, b.Status), cmp.Compare(a.Source, b.Source), cmp.Compare(a.End, b.End),
		)
	})
	list := make([]Rollup, len(order))
	for i, r := range order {
		list[i] = *r
	}
	return list
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// failed reports whether a call ended with a status of 400 or more or broke off. A client that leaves is no error.
func failed(r *plane.UsageRecord) bool {
	switch r.End {
	case plane.EndClientGone:
		return false
	case plane.EndDone:
		return r.Status >= 400
	default:
		return true
	}
}

// counts reports whether a call counts against the day quota of its account: it was made with a live key or a Darwin
// token, it was admitted, and it did not fail for reasons of ours before an answer began, in which case the gateway gave
// the call back, if it lived to do so.
func counts(r *plane.UsageRecord) bool {
	if r.Sandbox || r.Status == 429 || r.End == plane.EndRefused {
		return false
	}
	ours := r.Status == 500 || r.Status == 502 || r.Status == 503
	return !ours || r.End != plane.EndFailed && r.End != plane.EndNodeCrash
}

// claimed reports whether the model and the task of a record are only what the client wrote: it was refused for what it
// asked. They are not kept, since anyone could fill the rollups with made-up names.
func claimed(r *plane.UsageRecord) bool {
	if r.End != plane.EndRefused {
		return false
	}
	switch r.Status {
	case 400, 404, 405, 413, 422:
		return true
	default:
		return false
	}
}
