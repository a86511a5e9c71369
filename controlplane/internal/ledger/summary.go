package ledger

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/sketch"
	"modelgate.internal/shared/wire"
)

// Other is the name under which a list has what is beyond its GroupsMax most used entries.
const Other = "other"

// summary is an answer put together.
type summary struct {
	usage wire.Usage
	apps  []wire.AppGroup
}

func summarize(a Answer, w *window) (*summary, error) {
	s := &summary{apps: []wire.AppGroup{}, usage: wire.Usage{
		Days: w.days, Bucket: string(w.shown), StepSeconds: int64(w.step / time.Second), TimeZone: w.zone.String(), Drift: a.Drift,
		ByKey: []wire.KeyUsage{}, ByModel: []wire.ModelUsage{}, ByTask: []wire.TaskUsage{}, ByStatus: []wire.StatusUsage{},
		BySource: []wire.SourceUsage{},
	}}
	u := &s.usage
	s.series(a, w)
	for _, p := range groups(a, SortApp) {
		s.apps = append(s.apps, wire.AppGroup{AppID: appName(p.Name), Counters: p.Usage, Latency: latency(p)})
	}
	for _, p := range groups(a, SortKey) {
		u.ByKey = append(u.ByKey, wire.KeyUsage{KeyID: p.Name, Counters: p.Usage, Latency: latency(p)})
	}
	for _, p := range groups(a, SortModel) {
		u.ByModel = append(u.ByModel, wire.ModelUsage{Model: p.Name, Counters: p.Usage, Latency: latency(p)})
	}
	for _, p := range groups(a, SortTask) {
		u.ByTask = append(u.ByTask, wire.TaskUsage{Task: p.Name, Counters: p.Usage, Latency: latency(p)})
	}
	for _, p := range groups(a, SortSource) {
		u.BySource = append(u.BySource, wire.SourceUsage{Source: p.Name, Counters: p.Usage})
	}
	return s, s.statuses(a)
}

// series puts the stored buckets into the points they begin in.
func (s *summary) series(a Answer, w *window) {
	parts := make([]Part, len(w.starts))
	var all Part
	for _, p := range a.Parts {
		if p.Sort != SortTime {
			continue
		}
		all.add(p)
		at := sort.Search(len(w.starts), func(i int) bool { return w.starts[i].After(p.At) }) - 1 // nothing before the first is read
		parts[at].add(p)
	}
	s.usage.Totals, s.usage.Latency = all.Usage, latency(all)
	s.usage.Series = make([]wire.UsagePoint, len(parts))
	for i, p := range parts {
		s.usage.Series[i] = wire.UsagePoint{At: w.starts[i], Counters: p.Usage, Latency: latency(p)}
	}
}

// statuses lists the statuses, each with how its calls ended.
func (s *summary) statuses(a Answer) error {
	at := map[string]int{}
	for _, p := range groups(a, SortStatus) {
		status, err := strconv.Atoi(p.Name)
		if err != nil {
			return fmt.Errorf("read usage: status %q: %w", p.Name, err)
		}
		at[p.Name] = len(s.usage.ByStatus)
		s.usage.ByStatus = append(s.usage.ByStatus, wire.StatusUsage{
			Status: status, Ends: map[string]int64{}, Counters: p.Usage, Latency: latency(p),
		})
	}
	for _, p := range groups(a, SortEnd) {
		status, end, _ := strings.Cut(p.Name, " ")
		if end == "" {
			end = "unknown" // counted before ends were kept
		}
		s.usage.ByStatus[at[status]].Ends[end] += p.Usage.Calls
	}
	return nil
}

// groups returns the parts of a sort. Of what there can be any number of it returns the GroupsMax most used, and the sum of the
// others.
func groups(a Answer, of Sort) (list []Part) {
	other := Part{Sort: of, Name: Other}
	bounded := of == SortApp || of == SortKey || of == SortModel || of == SortTask
	for _, p := range a.Parts {
		switch {
		case p.Sort != of:
		case bounded && len(list) == GroupsMax:
			other.add(p)
		default:
			list = append(list, p)
		}
	}
	if other.Usage.Calls > 0 {
		list = append(list, other)
	}
	return list
}

func (p *Part) count(c wire.Counters) {
	p.Usage.Calls += c.Calls
	p.Usage.Errors += c.Errors
	p.Usage.TokensIn += c.TokensIn
	p.Usage.TokensOut += c.TokensOut
}

func (p *Part) add(o Part) {
	p.count(o.Usage)
	p.TTFT.Merge(o.TTFT)
	p.Took.Merge(o.Took)
}

func latency(p Part) wire.Latency {
	return wire.Latency{TTFT: percentiles(p.TTFT), Took: percentiles(p.Took)}
}

func percentiles(s sketch.Sketch) wire.Percentiles {
	ms := func(q float64) int64 { return s.Percentile(q).Round(time.Millisecond).Milliseconds() }
	return wire.Percentiles{Calls: s.Count(), P50: ms(0.50), P90: ms(0.90), P95: ms(0.95), P99: ms(0.99)}
}

// appName is empty for Darwin tokens, which have no app.
func appName(id string) string {
	if id == "00000000-0000-0000-0000-000000000000" {
		return ""
	}
	return id
}
