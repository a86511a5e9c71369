package faults

import (
	"fmt"
	"testing"
	"time"

	"modelgate.internal/bench/internal/mockmodel/journal"
	"modelgate.internal/shared/wire"
)

// noticedWithin bounds how long the model server may be kept busy for nobody. The demand is 100 ms; the bound is below the node's own
// deadlines, which would end the call as well.
const noticedWithin = patience - time.Second

// shipped is long enough for a node to send what it has counted.
const shipped = 2 * time.Second

// table is a group of faults, and the calls that are made of it.
type table struct {
	name   string
	faults []fault
	trials []*trial
}

// TestFaults makes all calls of the tables first, and then looks at what each brought.
func TestFaults(t *testing.T) {
	sys := start(t)
	tables := []*table{
		{name: "answer", faults: answers()},
		{name: "middle", faults: middles()},
		{name: "wait", faults: waits()},
		{name: "legal", faults: legal()},
		{name: "leave", faults: leaves()},
	}
	var trials []*trial
	for _, of := range tables {
		for i := range of.faults {
			of.trials = append(of.trials, trialsOf(fmt.Sprintf("%s%d", of.name, i), &of.faults[i])...)
		}
		trials = append(trials, of.trials...)
	}
	w := &want{status: 502, detail: "could not be reached"}
	refused := trialsOf("refused", &fault{name: "connection refused", does: "normal", unary: w, stream: w})
	inputs := inputs()
	sys.prepare(t, append(trials[:len(trials):len(trials)], refused...), inputs)

	begun := time.Now()
	each(len(trials), func(i int) { sys.try(t, trials[i]) })
	t.Logf("%d trials took %s", len(trials), time.Since(begun).Round(time.Millisecond))
	begun = time.Now()
	each(len(inputs), func(i int) { inputs[i].send(t, sys) })
	t.Logf("%d inputs took %s", len(inputs), time.Since(begun).Round(time.Millisecond))
	asked := sys.asked(t)
	sys.withoutModel(t, refused) // a new simulator has a new journal

	for _, of := range tables {
		t.Run(of.name, func(t *testing.T) { sys.judge(t, of.trials, asked) })
	}
	t.Run("input", func(t *testing.T) {
		for _, in := range inputs {
			t.Run(in.name, func(t *testing.T) { in.judge(t, sys, asked) })
		}
	})
	for _, tr := range refused {
		t.Run(tr.name, func(t *testing.T) {
			tr.judge(t, &tr.heard[0])
			sys.judgeUsage(t, tr)
		})
	}
	t.Run("nothing is counted twice", func(t *testing.T) {
		time.Sleep(shipped)
		for _, tr := range trials {
			if usage := sys.usage(t, tr.account.app); usage.Totals.Calls != int64(tr.w.times()) || usage.Drift != 0 {
				t.Errorf("%s: %d calls, drift %d", tr.name, usage.Totals.Calls, usage.Drift)
			}
		}
	})
}

// prepare gives every trial a route and an account, and every input an account.
func (sys *system) prepare(t *testing.T, trials []*trial, inputs []*input) {
	t.Helper()
	names := make([]string, 0, len(trials))
	for _, tr := range trials {
		names = append(names, tr.id)
	}
	sys.route(t, names)
	accounts := sys.accounts(t, len(trials)+len(inputs))
	for i, tr := range trials {
		tr.account = accounts[i]
	}
	for i, in := range inputs {
		in.account = accounts[len(trials)+i]
	}
}

// judge looks at what the trials of a table brought: to the caller, at the model server, and in the usage.
func (sys *system) judge(t *testing.T, trials []*trial, asked map[string][]journal.View) {
	t.Helper()
	slowest := time.Duration(0)
	for _, tr := range trials {
		t.Run(tr.name, func(t *testing.T) {
			for i := range tr.heard {
				tr.judge(t, &tr.heard[i])
			}
			slowest = max(slowest, tr.judgeUpstream(t, asked[tr.id]))
			sys.judgeUsage(t, tr)
		})
	}
	if slowest > 0 {
		t.Logf("the model server was let go at most %s after the caller's end", slowest.Round(time.Microsecond))
	}
}

// trialsOf are the calls of a row.
func trialsOf(id string, f *fault) (made []*trial) {
	if f.unary != nil {
		made = append(made, &trial{name: f.name + "/unary", id: id + "u", f: f, w: f.unary})
	}
	if f.stream != nil {
		made = append(made, &trial{name: f.name + "/stream", id: id + "s", f: f, w: f.stream, stream: true})
	}
	return made
}

// try makes the calls of a trial.
func (sys *system) try(t *testing.T, tr *trial) {
	for range tr.w.times() {
		c := call{
			url: sys.in.GatewayURL + agentPath, key: tr.account.key, model: tr.id, prompt: tr.prompt(), stream: tr.stream, leave: tr.w.leave,
		}
		if tr.w.revoke {
			time.AfterFunc(time.Second, func() { sys.revoke(t, tr.account) })
		}
		tr.heard = append(tr.heard, c.do(t.Context(), sys.client))
	}
}

func (sys *system) revoke(t *testing.T, a account) {
	var revoked wire.KeyRevoked
	if err := sys.ask(t.Context(), "DELETE", sys.in.PortalURL+"/dev/apps/"+a.app+"/keys/"+a.keyID, sys.session, nil, &revoked); err != nil {
		t.Errorf("revoke a key: %v", err)
	}
}

// withoutModel makes a call of each kind while the model server's port is closed, and sees that the gateway recovers.
func (sys *system) withoutModel(t *testing.T, trials []*trial) {
	t.Helper()
	if err := sys.s.Halt("mockmodel"); err != nil {
		t.Fatal(err)
	}
	for _, tr := range trials {
		sys.try(t, tr)
	}
	if err := sys.s.Resume(t.Context(), "mockmodel"); err != nil {
		t.Fatal(err)
	}
	again := call{url: sys.in.GatewayURL + agentPath, key: sys.in.Demo.Key, model: "Darwin", prompt: "Hello"}
	eventually(t, endsWithin, func() (bool, string) {
		h := again.do(t.Context(), sys.client)
		return h.err == nil && h.status == 200, fmt.Sprintf("status %d: %v", h.status, h.err)
	})
}

// judgeUsage waits until the portal shows as many calls as were made, and looks at the rest then.
func (sys *system) judgeUsage(t *testing.T, tr *trial) {
	t.Helper()
	_, want, _ := tr.counted()
	tr.judgeUsage(t, sys.settled(t, tr.account, want.Calls))
}

func (sys *system) settled(t *testing.T, a account, calls int64) (usage wire.AppUsage) {
	t.Helper()
	eventually(t, usageWithin, func() (bool, string) {
		usage = sys.usage(t, a.app)
		return usage.Totals.Calls >= calls, fmt.Sprintf("usage %+v, want %d calls", usage.Totals, calls)
	})
	return usage
}
