package ingest

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Call is an entry of the log of an app's calls.
type Call struct {
	App, Key            uuid.UUID
	ID                  string // of the request
	At                  time.Time
	Endpoint            string
	Task, Model         string // as the client wrote them
	Status              int
	End, Source         string
	TTFT, Took          time.Duration // TTFT is 0 when there was no first event
	TokensIn, TokensOut int64
}

// LeftOut is how many calls of an app on a UTC day the log does not have.
type LeftOut struct {
	App   uuid.UUID
	Day   int64 // start in Unix seconds
	Calls int64
}

// asked is what the log says of a call and the rollups do not.
type asked struct {
	id, endpoint, model, task string
	ttft, took                time.Duration
}

// logged returns the calls of apps that the log keeps of some records: all, or of more than callsMax an equal number of each app,
// the failed ones first and then the newest. It returns what is left out by app and day. Both are in the order of what they are of.
func logged(lines []line, callsMax int) ([]Call, []LeftOut) {
	apps := make(map[uuid.UUID][]*line)
	n := 0
	for i := range lines {
		if l := &lines[i]; l.bad == nil && l.id.App != uuid.Nil {
			apps[l.id.App] = append(apps[l.id.App], l)
			n++
		}
	}
	most := n
	if n > callsMax {
		most = max(1, callsMax/len(apps))
	}
	calls := make([]Call, 0, min(n, callsMax+len(apps)))
	var left []LeftOut
	for app, of := range apps {
		if len(of) > most {
			slices.SortStableFunc(of, func(a, b *line) int {
				if a.failed != b.failed {
					return map[bool]int{true: -1, false: 1}[a.failed]
				}
				return b.at.Compare(a.at)
			})
			left = append(left, leftOut(app, of[most:])...)
			of = of[:most]
		}
		for _, l := range of {
			calls = append(calls, l.call())
		}
	}
	slices.SortFunc(calls, func(a, b Call) int {
		return cmp.Or(bytes.Compare(a.App[:], b.App[:]), a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(left, func(a, b LeftOut) int { return cmp.Or(bytes.Compare(a.App[:], b.App[:]), cmp.Compare(a.Day, b.Day)) })
	return calls, left
}

func leftOut(app uuid.UUID, lines []*line) (left []LeftOut) {
	days := make(map[int64]int64)
	for _, l := range lines {
		days[floor(l.at.Unix(), daySeconds)]++
	}
	for day, n := range days {
		left = append(left, LeftOut{app, day, n})
	}
	return left
}

func (l *line) call() Call {
	return Call{
		App: l.id.App, Key: l.id.Key, ID: l.asked.id, At: l.at, Endpoint: l.asked.endpoint, Task: l.asked.task, Model: l.asked.model,
		Status: l.id.Status, End: l.id.End, Source: l.id.Source, TTFT: l.asked.ttft, Took: l.asked.took,
		TokensIn: l.tokensIn, TokensOut: l.tokensOut,
	}
}
