package measure

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/identity"
)

const (
	nodes    = 3
	times    = 10 // as many calls as the limit allows
	window   = time.Minute
	patience = 60 * time.Second
)

// process is a node's.
type process struct {
	order order
	cmd   *exec.Cmd
	in    interface{ Write([]byte) (int, error) }
	out   *bufio.Reader
}

// start runs a node's process and waits until it is ready.
func start(b *testing.B, o order) *process {
	b.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		b.Fatal(err)
	}
	p := &process{order: o, cmd: exec.Command(os.Args[0], "-test.run", "^$")}
	p.cmd.Env = append(os.Environ(), "MEASURE_NODE="+string(text))
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	if line, err := p.out.ReadString('\n'); err != nil || line != "ready\n" {
		b.Fatalf("%s: %q, %v", o.System, line, err)
	}
	return p
}

// cluster starts three voters of a new ledger.
func cluster(b *testing.B, o order) []*process {
	b.Helper()
	first := filepath.Join(b.TempDir(), "quota")
	if _, err := quota.Begin(first, "one"); err != nil {
		b.Fatal(err)
	}
	o.Dir, o.Address = first, free(b)
	all := []*process{start(b, o)}
	for len(all) < nodes {
		a, err := quota.Ask(b.Context(), first, quota.Command{Op: quota.OpToken, Role: identity.Voter})
		if err != nil {
			b.Fatal(err)
		}
		o.Dir, o.Address = filepath.Join(b.TempDir(), "quota"), free(b)
		if _, err := quota.Join(b.Context(), o.Dir, "next", a.Token); err != nil {
			b.Fatal(err)
		}
		all = append(all, start(b, o))
		for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
			_, err := quota.Ask(b.Context(), o.Dir, quota.Command{Op: quota.OpPromote, Node: quota.Self})
			if err == nil || strings.Contains(err.Error(), "votes already") {
				break
			}
			if time.Since(begin) > patience {
				b.Fatal(err)
			}
		}
	}
	return all
}

func free(b *testing.B) string {
	b.Helper()
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// row is one system's part of the table.
type row struct {
	system    string
	results   []result
	serverCPU time.Duration
}

// calls are all that were admitted.
func (r *row) calls() (all []call) {
	for _, x := range r.results {
		all = append(all, x.Admitted...)
	}
	return all
}

// densest is the greatest number of calls that were asked and answered within one window. None takes as long as that.
func densest(calls []call) int {
	asked, answered := make([]int64, len(calls)), make([]int64, len(calls))
	for i, c := range calls {
		asked[i], answered[i] = c.Asked, c.Answered
	}
	slices.Sort(asked)
	slices.Sort(answered)
	most, within := 0, 0
	for i, at := range asked {
		for within < len(answered) && answered[within] <= at+window.Microseconds() {
			within++
		}
		most = max(most, within-i)
	}
	return most
}

// perWindow counts by windows from the first call on; the last one may be cut off.
func perWindow(calls []call) (counts []int) {
	if len(calls) == 0 {
		return nil
	}
	first := slices.MinFunc(calls, func(a, b call) int { return int(a.Asked - b.Asked) }).Asked
	for _, c := range calls {
		n := int((c.Answered - first) / window.Microseconds())
		for len(counts) <= n {
			counts = append(counts, 0)
		}
		counts[n]++
	}
	return counts
}

func TestDensest(t *testing.T) {
	w := window.Microseconds()
	calls := []call{{0, 1}, {w / 2, w / 2}, {w, w}, {w + 1, w + 2}, {w + w/2, w + w/2}, {3 * w, 3 * w}}
	slices.Reverse(calls)
	if n := densest(calls); n != 4 { // from w/2 on
		t.Errorf("%d", n)
	}
	if counts := perWindow(calls); !slices.Equal(counts, []int{2, 3, 0, 1}) {
		t.Errorf("%v", counts)
	}
}

// settings are the limit and how long the load goes on.
func settings(b *testing.B) (limit int64, duration time.Duration) {
	b.Helper()
	limit, duration = 30_000, window+window/2
	var err error
	if text := os.Getenv("HOTKEY_LIMIT"); text != "" {
		if limit, err = strconv.ParseInt(text, 10, 64); err != nil || limit <= 0 {
			b.Fatalf("HOTKEY_LIMIT: %q is no number of calls", text)
		}
	}
	if text := os.Getenv("HOTKEY_DURATION"); text != "" {
		if duration, err = time.ParseDuration(text); err != nil || duration <= 0 {
			b.Fatalf("HOTKEY_DURATION: %q is no duration", text)
		}
	}
	return limit, duration
}

// run has all processes make their load and returns what they say.
func run(b *testing.B, all []*process) []result {
	b.Helper()
	for _, p := range all {
		if _, err := p.in.Write([]byte("go\n")); err != nil {
			b.Fatal(err)
		}
	}
	results := make([]result, len(all))
	for i, p := range all {
		line, err := p.out.ReadBytes('\n')
		if err == nil {
			err = json.Unmarshal(line, &results[i])
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	return results
}

// BenchmarkHotKey prints the table.
func BenchmarkHotKey(b *testing.B) {
	limit, duration := settings(b)
	o := order{Limit: limit, Rate: float64(limit) * times / nodes / window.Seconds(), Duration: duration}
	for b.Loop() {
		o.System = "ledger"
		all := cluster(b, o)
		address, server := startRedis(b)
		o.System, o.Address = "redis", address
		for range nodes {
			if server != nil {
				all = append(all, start(b, o))
			}
		}
		o.System = "nobody"
		all = append(all, start(b, o))
		half := time.Until(time.Now().Truncate(window).Add(window + window/2)) // the mean case for whoever counts by calendar minutes
		time.Sleep(half % window)
		load := loadAverage()
		before := serverCPU(server)
		results := run(b, all)
		rows := []row{{system: "ledger, 3 voters", results: results[:nodes]}, {system: "redis, sliding-window counter"}}
		if server != nil {
			rows[1].results, rows[1].serverCPU = results[nodes:2*nodes], serverCPU(server)-before
		}
		alone := results[len(results)-1]
		b.Logf("one key, %d calls a minute allowed, %d asked on %d nodes for %s, from the middle of a calendar minute; load average %s, then %s\n%s",
			limit, limit*times, nodes, duration, load, loadAverage(), table(rows, limit, float64(alone.CPU)/float64(max(1, alone.Decisions))))
	}
}

// table is the comparison. The CPU time of the load itself, in nanoseconds per call, is taken off.
func table(rows []row, limit int64, own float64) string {
	var text bytes.Buffer
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "system\tadmitted per window\tworst 60 s\tof the limit\tCPU per decision\tof a server\tp50\tp99\tfailed")
	for i := range rows {
		r := &rows[i]
		if len(r.results) == 0 {
			fmt.Fprintf(w, "%s\tredis-server is not installed: apt-get install redis-server\n", r.system)
			continue
		}
		var decisions, failed, p50, p99 int64
		var cpu time.Duration
		for _, x := range r.results {
			decisions, failed, cpu = decisions+x.Decisions, failed+x.Failed, cpu+x.CPU
			p50, p99 = max(p50, x.P50), max(p99, x.P99)
		}
		worst := densest(r.calls())
		fmt.Fprintf(w, "%s\t%v\t%d\t%.3f\t%.1f us\t%.1f us\t%d us\t%d us\t%d\n", r.system, perWindow(r.calls()), worst, float64(worst)/float64(limit),
			(float64(cpu)/float64(decisions)-own+float64(r.serverCPU)/float64(decisions))/1000, float64(r.serverCPU)/float64(decisions)/1000, p50, p99, failed)
	}
	_ = w.Flush()
	fmt.Fprintf(&text, "(%.1f us per call of the load itself are taken off)", own/1000)
	return text.String()
}

func loadAverage() string {
	b, _ := os.ReadFile("/proc/loadavg")
	return strings.Join(strings.Fields(string(b))[:1], "")
}

// serverCPU is what a process has used, by the kernel's ticks of 10 ms.
func serverCPU(server *exec.Cmd) time.Duration {
	if server == nil {
		return 0
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", server.Process.Pid))
	if err != nil {
		return 0
	}
	const user, system = 11, 12 // after the name, which is in parentheses
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	u, _ := strconv.ParseInt(fields[user], 10, 64)
	s, _ := strconv.ParseInt(fields[system], 10, 64)
	return time.Duration(u+s) * 10 * time.Millisecond
}
