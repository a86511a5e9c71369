package compare

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"syscall"

	"modelgate.internal/bench/internal/load"
)

// unary saturates a target with whole calls.
func unary(ctx context.Context, c *comparison, t target) (values, error) {
	aim, err := t.aim(false)
	if err != nil {
		return values{}, err
	}
	r, err := load.Unary{
		Target: aim, Connections: unaryConnections, WarmUp: c.plan.unaryWarm, Duration: c.plan.unary, MinBytes: unaryBytesLeast, Grace: unaryWait, Watch: t.watch(),
	}.Run(ctx)
	if err != nil {
		return values{}, err
	}
	v := values{raw: r, wrong: r.Wrong(), row: map[string]float64{"unary_rate": r.PerSecond(), "unary_p99": r.Latency.P99Micros / 1e3}}
	if len(r.Processes) > 0 {
		v.row["unary_cpu"] = r.Processes[0].CPUMicrosPer(r.Measured)
	}
	return v.judged(r.Wrong(), r.Measured, fmt.Sprint(r.Status)), nil
}

// burst reads streams that come as fast as they can be read.
func burst(ctx context.Context, c *comparison, t target) (values, error) {
	aim, err := t.aim(true)
	if err != nil {
		return values{}, err
	}
	r, err := load.Streams{Target: aim, Count: burstStreams, Events: int64(c.plan.burstEvents), Limit: burstLimit, Watch: t.watch()}.Run(ctx)
	if err != nil {
		return values{}, err
	}
	v := values{raw: r, wrong: r.Wrong(), row: map[string]float64{}}
	if len(r.Processes) > 0 {
		v.row["burst_cpu"] = r.Processes[0].CPUMicrosPer(r.Events)
	}
	return v.judged(r.Wrong(), r.Events, fmt.Sprint(r.Status)), nil
}

// loneEvents holds streams open whose events come one by one.
func loneEvents(ctx context.Context, c *comparison, t target, l lone, cpu string) (values, error) {
	if err := descriptors(l.streams); err != nil {
		return values{}, err
	}
	aim, err := t.aim(true)
	if err != nil {
		return values{}, err
	}
	r, err := load.Streams{
		Target: aim, Count: l.streams, OpenOver: l.open, Events: int64(c.plan.events(l)),
		Settle: c.plan.settle, Window: c.plan.window, Limit: c.plan.limit(l), Watch: t.watch(),
	}.Run(ctx)
	if err != nil {
		return values{}, err
	}
	v := values{raw: r, wrong: r.Wrong(), row: map[string]float64{"delay": r.Delay.P50Micros, "delay_p99": r.Delay.P99Micros}}
	if len(r.Processes) > 0 {
		v.row[cpu] = r.Processes[0].CPUMicrosPer(r.Events)
		v.row["memory"] = r.KiBPerStream(r.Processes[0]) * 1000 / 1024
	}
	return v.judged(r.Wrong(), r.Events, fmt.Sprint(r.Status)), nil
}

// leaveRaw is the raw result of clients that leave.
type leaveRaw struct {
	load.LeaveResult

	OpenBefore int64   `json:"upstream_open_before"`
	OpenAfter  int64   `json:"upstream_open_after"`
	GiveUp     float64 `json:"give_up_s"`
}

// leaving has clients leave and waits until the simulator sees that nobody waits for it.
func leaving(row string, stream bool, events int64) func(context.Context, *comparison, target) (values, error) {
	return func(ctx context.Context, c *comparison, t target) (values, error) {
		aim, err := t.aim(stream)
		if err != nil {
			return values{}, err
		}
		var raw leaveRaw
		raw.LeaveResult, err = load.Leave{
			Target: aim, Count: leavers, OpenOver: leaveOpenOver, AfterEvents: events, Wait: leaveSettle, Limit: leaveLimit,
		}.Run(ctx, func(ctx context.Context) error {
			n, err := c.mock.counters(ctx)
			raw.OpenBefore = n.Open
			return err
		})
		if err != nil {
			return values{}, err
		}
		took, left, err := c.mock.quiet(ctx, raw.Left, giveUpWait, giveUpPoll)
		if err != nil {
			return values{}, err
		}
		raw.OpenAfter, raw.GiveUp = left, took.Seconds()
		v := values{raw: raw, wrong: int64(raw.Clients) - raw.Ready + raw.Early, row: map[string]float64{row: raw.GiveUp}}
		switch {
		case left > 0:
			v.note = fmt.Sprintf("%d of %d upstream calls were still open after %s", left, raw.OpenBefore, giveUpWait)
		case raw.OpenBefore < leavers:
			v.note = fmt.Sprintf("only %d of %d calls had reached the upstream, statuses %v", raw.OpenBefore, leavers, raw.Status)
		}
		return v, nil
	}
}

// judged adds a note to values that do not mean what they say: something was wrong, or nothing was measured.
func (v values) judged(wrong, measured int64, status string) values {
	switch {
	case measured == 0:
		v.row, v.note = nil, "nothing was measured, statuses "+status
	case wrong > 0:
		v.note = fmt.Sprintf("%d were wrong, statuses %s", wrong, status)
	}
	return v
}

// text is the run in one line.
func (v values) text() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(v.row)) {
		parts = append(parts, fmt.Sprintf("%s %.3g", name, v.row[name]))
	}
	if v.note != "" {
		parts = append(parts, v.note)
	}
	return strings.Join(parts, ", ")
}

// descriptors says whether a proxy can hold so many streams.
func descriptors(streams int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	if need := uint64(streams*descriptorsEach + descriptorsMore); limit.Max < need {
		return fmt.Errorf("%d open files are allowed, %d are needed: raise `ulimit -n`", limit.Max, need)
	}
	return nil
}
