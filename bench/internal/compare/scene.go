package compare

import (
	"context"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/report"
)

// scene is a kind of load and the figures that come out of it.
type scene struct {
	name string
	// fresh targets are started anew for each run, for figures that what went before would spoil.
	fresh bool
	// warm targets get some calls before each run.
	warm bool
	// direct includes the way without a proxy.
	direct bool
	mock   func(plan) answers
	rows   []report.Row
	// run makes one run and returns the values of the rows, by name, and the raw result.
	run func(ctx context.Context, c *comparison, t target) (values, error)
}

// values is what one run found.
type values struct {
	row   map[string]float64
	wrong int64
	raw   any
	note  string
}

// scenes lists what is measured, in the order of the report.
func scenes() []scene {
	ratio := func(name, title, unit string, must, aim float64) report.Row {
		return report.Row{Name: name, Title: title, Unit: unit, Bound: report.BoundRatio, Must: must, Aim: aim}
	}
	all := func(name, title string) report.Row {
		return report.Row{Name: name, Title: title, Unit: "s", Bound: report.BoundValue, Must: 1, Aim: 0.2}
	}
	about := func(name, title, unit string) report.Row {
		return report.Row{Name: name, Title: title, Unit: unit, Bound: report.BoundNone}
	}
	return []scene{
		{
			name: "unary", warm: true, run: unary,
			mock: func(p plan) answers { return answers{events: p.burstEvents, batch: burstBatch} },
			rows: []report.Row{
				ratio("unary_cpu", "CPU per unary request, saturated", "us", 2, 1.25),
				about("unary_rate", "  requests then", "1/s"),
				about("unary_p99", "  p99 then", "ms"),
			},
		},
		{
			name: "burst", warm: true, run: burst,
			mock: func(p plan) answers { return answers{events: p.burstEvents, batch: burstBatch} },
			rows: []report.Row{ratio("burst_cpu", "CPU per event, 64 streams without a gap", "us", 2, 1.25)},
		},
		{
			name: "lone1000", warm: true, fresh: true, direct: true,
			mock: func(p plan) answers { return answers{events: p.events(p.some()), interval: p.interval} },
			run: func(ctx context.Context, c *comparison, t target) (values, error) {
				return loneEvents(ctx, c, t, c.plan.some(), "lone_1000_cpu")
			},
			rows: []report.Row{
				ratio("lone_1000_cpu", "CPU per lone event, 1,000 streams", "us", 1.9, 1.3),
				ratio("memory", "memory per 1,000 open streams", "MiB", 2, 1),
				ratio("delay", "added delay of an event, p50, 1,000 streams", "us", 1.5, 1),
				about("delay_p99", "  p99 of the whole delay", "us"),
			},
		},
		{
			name: "lone5000", warm: true,
			mock: func(p plan) answers { return answers{events: p.events(p.many()), interval: p.slowly} },
			run: func(ctx context.Context, c *comparison, t target) (values, error) {
				return loneEvents(ctx, c, t, c.plan.many(), "lone_5000_cpu")
			},
			rows: []report.Row{ratio("lone_5000_cpu", "CPU per lone event, 5,000 streams", "us", 1.9, 1.3)},
		},
		{
			name: "leave-flowing", warm: true,
			mock: func(p plan) answers { return answers{events: endless, interval: p.interval} },
			run:  leaving("leave_flowing", true, leaveEvents),
			rows: []report.Row{all("leave_flowing", "upstream given up, 200 streams flowing")},
		},
		{
			name: "leave-silent",
			mock: func(plan) answers { return answers{events: 1, firstDelay: forever} },
			run:  leaving("leave_silent", true, 0),
			rows: []report.Row{all("leave_silent", "upstream given up, 200 streams silent")},
		},
		{
			name: "leave-unary",
			mock: func(plan) answers { return answers{events: 1, firstDelay: forever} },
			run:  leaving("leave_unary", false, 0),
			rows: []report.Row{all("leave_unary", "upstream given up, 200 calls without an answer yet")},
		},
	}
}

// play plays a scene: every repeat, every target in turn, the first one another each time.
func (c *comparison) play(ctx context.Context, s scene) error {
	if err := c.mock.play(ctx, s.mock(c.plan)); err != nil {
		return err
	}
	first := len(c.report.Rows)
	c.report.Rows = append(c.report.Rows, s.rows...)
	rows := c.report.Rows[first:]
	var targets []target
	for _, t := range c.targets {
		if t.name() == Direct && !s.direct {
			continue
		}
		targets = append(targets, t)
		for i := range rows {
			rows[i].Cells = append(rows[i].Cells, report.Cell{Target: t.name()})
		}
	}
	for repeat := range c.Repeats {
		found := map[string]values{}
		load := report.LoadNow()
		for i := range rows {
			rows[i].Load = max(rows[i].Load, load)
		}
		for i := range targets {
			t := targets[(i+repeat)%len(targets)]
			v, err := c.once(ctx, s, t)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				v.note = err.Error()
			}
			c.say("%-14s %-8s %d/%d  %s", s.name, t.name(), repeat+1, c.Repeats, v.text())
			found[t.name()] = v
			c.wrong[t.name()] = append(c.wrong[t.name()], v.wrong)
			c.report.Runs = append(c.report.Runs, report.Run{Scene: s.name, Target: t.name(), Repeat: repeat + 1, Result: v.raw})
		}
		subtractDirect(found)
		for i := range rows {
			for k := range rows[i].Cells {
				take(&rows[i].Cells[k], rows[i].Name, found[rows[i].Cells[k].Target])
			}
		}
	}
	if s.name == "unary" {
		c.addShare(ctx)
	}
	return nil
}

// once makes one run.
func (c *comparison) once(ctx context.Context, s scene, t target) (values, error) {
	if _, left, err := c.mock.quiet(ctx, time.Now(), quietWait, quietPoll); err != nil || left > 0 {
		// Somebody keeps calls to the model open that nobody waits for. Begin anew, or they would count against the others.
		c.mock.stop()
		if err := c.mock.play(ctx, s.mock(c.plan)); err != nil {
			return values{}, err
		}
	}
	if err := t.fresh(ctx, s.fresh); err != nil {
		return values{}, err
	}
	if s.warm {
		if err := warmUp(ctx, t); err != nil {
			return values{}, err
		}
	}
	return s.run(ctx, c, t)
}

// warmUp makes some calls, so that a run does not measure first times. Their answers do not count: connections to a model server that
// was started again are found dead here.
func warmUp(ctx context.Context, t target) error {
	aim, err := t.aim(false)
	if err != nil {
		return err
	}
	_, err = load.Unary{Target: aim, Connections: warmUpConns, Requests: warmUpCalls, Duration: unaryWait}.Run(ctx)
	return err
}

// take adds a run's value to a cell.
func take(cell *report.Cell, row string, v values) {
	if value, ok := v.row[row]; ok {
		cell.Values = append(cell.Values, value)
	}
	if v.note != "" {
		cell.Note = v.note
	}
}

// subtractDirect turns whole delays into added ones.
func subtractDirect(found map[string]values) {
	base, ok := found[Direct].row["delay"]
	for name, v := range found {
		if _, has := v.row["delay"]; !has {
			continue
		}
		if !ok || name == Direct {
			delete(v.row, "delay")
			continue
		}
		v.row["delay"] -= base
	}
}
