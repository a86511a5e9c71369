package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/bench/report"
	"modelgate.internal/bench/rivals"
	"modelgate.internal/shared/key"
)

// Names of targets beside the rivals.
const (
	Gateway = "gateway"
	// Unlimited is the gateway in a build that judges no limits, to see what judging them costs. It takes part if Options.Unlimited is set.
	Unlimited = "unlimited"
	Direct    = "direct"
	// Reference is the rival that ratios are to.
	Reference = "nginx"
)

// Options says what to compare. The zero value compares everything.
type Options struct {
	Bin       string   // directory of our programs; bin when empty
	Unlimited string   // directory of the programs of the target Unlimited; it is left out when empty
	Quick     bool     // one short run each of gateway and reference
	Repeats   int      // 3 when 0, 1 with Quick
	Targets   []string // names; all when empty
	Scenes    []string // names; all when empty
	Install   bool     // rivals that are missing, if we may
	Keep      bool     // logs and configurations
	Out       io.Writer
}

// comparison is a running comparison.
type comparison struct {
	Options

	plan    plan
	dir     string
	mock    *mock
	targets []target
	report  report.Report
	wrong   map[string][]int64 // by target, of each repeat
}

// target is something that load is made on.
type target interface {
	name() string
	// fresh makes sure that it runs, restarted if asked to.
	fresh(ctx context.Context, restart bool) error
	stop()
	// watch is the process under test, and others that are of interest after it.
	watch() []proc.Watched
	// aim is where and what to send.
	aim(stream bool) (load.Target, error)
}

// Run compares and returns the report. An error that comes with a report says that it was cut short.
func Run(ctx context.Context, o Options) (report.Report, error) {
	begun := time.Now()
	c := &comparison{Options: o, plan: fullPlan(), wrong: map[string][]int64{}}
	if err := c.settle(); err != nil {
		return report.Report{}, err
	}
	dir, err := os.MkdirTemp("", "modelgate-bench-")
	if err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // the user that runs PostgreSQL has to pass through
	}
	if err != nil {
		return report.Report{}, fmt.Errorf("make a directory: %w", err)
	}
	c.dir = dir
	defer c.clear()
	c.report = report.Report{At: begun, Quick: o.Quick, Repeats: c.Repeats, Machine: report.ThisMachine(ctx)}
	if err := c.start(ctx); err != nil {
		return report.Report{}, err
	}
	err = c.run(ctx)
	c.addWrong()
	c.report.Fill(Reference)
	c.report.Took = time.Since(begun).Round(time.Second).String()
	c.report.Machine.LoadAfter = report.LoadAverage()
	return c.report, err
}

// settle checks the options and fills in what they leave open.
func (c *comparison) settle() error {
	if c.Bin == "" {
		c.Bin = "bin"
	}
	if c.Out == nil {
		c.Out = io.Discard
	}
	if c.Quick {
		c.plan = quickPlan()
		if len(c.Targets) == 0 {
			c.Targets = []string{Gateway, Reference, Direct}
		}
	}
	if c.Repeats == 0 {
		c.Repeats = c.plan.repeats
	}
	if c.Repeats < 1 || c.Repeats > repeatsMax {
		return fmt.Errorf("%d repeats: 1 to %d can be made", c.Repeats, repeatsMax)
	}
	for _, name := range c.Scenes {
		if !slices.ContainsFunc(scenes(), func(s scene) bool { return s.name == name }) {
			return fmt.Errorf("scene %q is unknown", name)
		}
	}
	for _, name := range c.Targets {
		if !slices.Contains(targetNames(), name) {
			return fmt.Errorf("target %q is unknown: %s", name, strings.Join(targetNames(), ", "))
		}
	}
	return nil
}

func targetNames() []string {
	names := []string{Gateway, Unlimited}
	for _, r := range rivals.All() {
		names = append(names, r.Name)
	}
	return append(names, Direct)
}

func (c *comparison) wants(name string) bool {
	return len(c.Targets) == 0 || slices.Contains(c.Targets, name)
}

// start brings the simulator and every target up.
func (c *comparison) start(ctx context.Context) error {
	ports, err := freePorts(ctx)
	if err != nil {
		return err
	}
	c.mock = &mock{program: filepath.Join(c.Bin, "mockmodel"), address: ports[0], dir: c.dir}
	if err := c.mock.play(ctx, scenes()[0].mock(c.plan)); err != nil {
		return err
	}
	secret, err := c.startGateway(ctx)
	if err != nil {
		return err
	}
	if c.Unlimited != "" && c.wants(Unlimited) {
		g := &gateway{label: Unlimited, bin: c.Unlimited, dir: filepath.Join(c.dir, "stack-unlimited"), upstream: c.mock.address}
		c.add(ctx, g, report.Target{Name: Unlimited, Version: c.report.Machine.Commit, Lacks: "the gateway, but no limit is judged"})
	}
	c.install(ctx)
	for i, r := range rivals.All() {
		if !c.wants(r.Name) {
			continue
		}
		t := &rival{Rival: r, settings: rivals.Settings{
			Dir: filepath.Join(c.dir, r.Name), Listen: ports[1+i], Upstream: c.mock.address, Key: secret,
		}}
		c.add(ctx, t, report.Target{Name: r.Name, Version: r.Version(ctx), Lacks: r.Lacks})
	}
	if c.wants(Direct) {
		c.add(ctx, direct{c.mock.address}, report.Target{Name: Direct, Lacks: "the simulator without a proxy"})
	}
	return ctx.Err()
}

// startGateway brings our stack up and gives the key that every target shall know.
func (c *comparison) startGateway(ctx context.Context) (secret string, err error) {
	if c.wants(Gateway) {
		g := &gateway{label: Gateway, bin: c.Bin, dir: filepath.Join(c.dir, "stack"), upstream: c.mock.address}
		c.say("starting the gateway")
		c.add(ctx, g, report.Target{Name: Gateway, Version: c.report.Machine.Commit})
		if g.key != "" {
			return g.key, nil
		}
	}
	return key.Mint(key.Test, []byte("of no gateway"))
}

// add starts a target and takes it in, or notes why it is missing.
func (c *comparison) add(ctx context.Context, t target, about report.Target) {
	err := t.fresh(ctx, false)
	if err != nil {
		about.Missing = err.Error()
		if errors.Is(err, rivals.ErrMissing) {
			about.Missing = rivals.ErrMissing.Error()
		}
		c.say("%s is missing: %s", t.name(), about.Missing)
		t.stop()
	} else {
		c.targets = append(c.targets, t)
	}
	c.report.Targets = append(c.report.Targets, about)
}

// install gets the rivals that are missing, if we may.
func (c *comparison) install(ctx context.Context) {
	var missing []rivals.Rival
	for _, r := range rivals.All() {
		if _, err := r.Path(); err != nil && c.wants(r.Name) {
			missing = append(missing, r)
		}
	}
	if !c.Install || len(missing) == 0 {
		return
	}
	c.say("installing what is missing")
	if err := rivals.Install(ctx, missing); err != nil {
		c.say("%v", err)
	}
}

// clear stops everything and removes the directory.
func (c *comparison) clear() {
	for _, t := range c.targets {
		t.stop()
	}
	if c.mock != nil {
		c.mock.stop()
	}
	if c.Keep {
		c.say("logs and configurations are in %s", c.dir)
		return
	}
	if err := os.RemoveAll(c.dir); err != nil {
		c.say("%v", err)
	}
}

// run plays the scenes.
func (c *comparison) run(ctx context.Context) error {
	for _, s := range scenes() {
		if len(c.Scenes) > 0 && !slices.Contains(c.Scenes, s.name) {
			continue
		}
		if err := c.play(ctx, s); err != nil {
			return fmt.Errorf("scene %s: %w", s.name, err)
		}
	}
	return nil
}

// addWrong adds the row of answers and streams that were not as they should have been, over all scenes.
func (c *comparison) addWrong() {
	row := report.Row{Name: "wrong", Title: "truncated or reordered streams, wrong statuses", Unit: "", Bound: report.BoundValue}
	for _, t := range c.targets {
		var sum int64
		for _, n := range c.wrong[t.name()] {
			sum += n
		}
		row.Cells = append(row.Cells, report.Cell{Target: t.name(), Values: []float64{float64(sum)}})
	}
	c.report.Rows = append(c.report.Rows, row)
}

func (c *comparison) say(format string, args ...any) { fmt.Fprintf(c.Out, format+"\n", args...) }
