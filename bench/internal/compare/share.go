package compare

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/report"
)

// ownWork matches the packages of the node that authenticate, limit and account.
const ownWork = `modelgate\.internal/(dataplane/internal/(auth|limit|quota|meter|spool|snapshot)|shared/key)[./]`

// shareOf is the line of `go tool pprof -top` that says how much of the whole the focus is.
var shareOf = regexp.MustCompile(`(?m)^Showing nodes accounting for .*?, ([0-9.]+)% of .* total`)

// addShare adds the row of what authentication, limits and accounting take of the CPU time of each of our gateways under saturation,
// from its own profile.
func (c *comparison) addShare(ctx context.Context) {
	row := report.Row{Name: "share", Title: "auth + limits + accounting, of our own CPU", Unit: "%", Bound: report.BoundValue, Must: 15, Aim: 5, Load: report.LoadNow()}
	for _, t := range c.targets {
		g, ok := t.(*gateway)
		if !ok {
			continue
		}
		cell := report.Cell{Target: g.label}
		if share, err := c.share(ctx, g); err != nil {
			cell.Note = err.Error()
		} else {
			cell.Values = []float64{share}
		}
		c.say("%-14s %-8s %v%s", "share", g.label, cell.Values, cell.Note)
		row.Cells = append(row.Cells, cell)
	}
	if row.Cells != nil {
		c.report.Rows = append(c.report.Rows, row)
	}
}

// share profiles the gateway while it is saturated.
func (c *comparison) share(ctx context.Context, g *gateway) (float64, error) {
	aim, err := g.aim(false)
	if err != nil {
		return 0, err
	}
	type answer struct {
		text []byte
		err  error
	}
	profile := make(chan answer, 1)
	go func() {
		text, err := fetch(ctx, g.profileURL(profileSeconds), profileBytesMax)
		profile <- answer{text, err}
	}()
	_, err = load.Unary{Target: aim, Connections: unaryConnections, Duration: profileSeconds*time.Second + c.plan.unaryWarm}.Run(ctx)
	got := <-profile
	if err := errors.Join(err, got.err); err != nil {
		return 0, err
	}
	file := filepath.Join(c.dir, "gateway.pprof")
	if err := os.WriteFile(file, got.text, 0o600); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, callWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "tool", "pprof", "-top", "-nodecount=100000", "-nodefraction=0", "-edgefraction=0", "-focus="+ownWork, file).CombinedOutput() //nolint:gosec // our file
	if err != nil {
		return 0, fmt.Errorf("read the profile: %w: %s", err, bytes.TrimSpace(out))
	}
	return readShare(out)
}

func readShare(top []byte) (float64, error) {
	m := shareOf.FindSubmatch(top)
	if m == nil {
		return 0, fmt.Errorf("read the profile: no share in %q", top[:min(len(top), 200)])
	}
	return strconv.ParseFloat(string(m[1]), 64)
}
