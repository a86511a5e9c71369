package report

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func sample() *Report {
	return &Report{
		At: time.Date(2026, 11, 21, 3, 4, 5, 0, time.UTC), Repeats: 3,
		Targets: []Target{{Name: "gateway"}, {Name: "nginx", Version: "nginx/1"}, {Name: "caddy", Missing: "not installed"}},
		Rows: []Row{
			{Name: "cpu", Title: "CPU", Bound: BoundRatio, Must: 2, Aim: 1.25, Cells: []Cell{
				{Target: "gateway", Values: []float64{30, 15, 12}}, {Target: "nginx", Values: []float64{9, 11, 10}}, {Target: "caddy", Note: "why"},
			}},
			{Name: "left", Title: "given up", Bound: BoundValue, Must: 1, Aim: 0.2, Cells: []Cell{{Target: "gateway", Values: []float64{0.1, 1.5, 0.1}}}},
			{Name: "rate", Title: "rate", Bound: BoundNone, Cells: []Cell{{Target: "gateway", Values: []float64{1000, 2000}}}},
		},
	}
}

func TestMediansRatiosAndVerdicts(t *testing.T) {
	r := sample()
	r.Fill("nginx")
	if c := r.Rows[0].Cell("gateway"); c.Value != 15 || c.Ratio != 1.5 || r.Rows[0].Verdict("gateway") != "must" {
		t.Errorf("%+v %s", c, r.Rows[0].Verdict("gateway"))
	}
	if v := r.Rows[0].Verdict("nginx"); v != "aim" {
		t.Error(v)
	}
	if v := r.Rows[0].Verdict("caddy"); v != "" {
		t.Errorf("a cell without values is judged %s", v)
	}
	if c := r.Rows[1].Cell("gateway"); c.Value != 1.5 || r.Rows[1].Verdict("gateway") != "missed" {
		t.Errorf("the worst run does not count: %+v", c)
	}
	if c := r.Rows[2].Cell("gateway"); c.Value != 1500 || r.Rows[2].Verdict("gateway") != "" {
		t.Errorf("%+v", c)
	}
	r.Rows[0].Cells[1].Values = nil // no reference
	r.Rows[0].Cells[0].Ratio = 0
	r.Fill("nginx")
	if v := r.Rows[0].Verdict("gateway"); v != "" {
		t.Errorf("without a reference the verdict is %s", v)
	}
}

func TestABusyMachineIsNamed(t *testing.T) {
	for load, busy := range map[string]bool{"0.90 3.00 3.00": false, "1.10 0.00 0.00": true, "": false} {
		r := sample()
		r.Machine = Machine{Cores: 2, LoadBefore: load}
		var b strings.Builder
		r.WriteTable(&b, "gateway")
		if strings.Contains(b.String(), "MACHINE WAS BUSY") != busy {
			t.Errorf("a load of %q:\n%s", load, b.String())
		}
	}
}

func TestTableAndFile(t *testing.T) {
	r := sample()
	r.Fill("nginx")
	r.Machine = ThisMachine(t.Context())
	if r.Machine.Cores < 1 || r.Machine.Kernel == "" || r.Machine.LoadBefore == "" {
		t.Errorf("%+v", r.Machine)
	}
	var b strings.Builder
	r.WriteTable(&b, "gateway")
	for _, want := range []string{"1.5 (15)", "caddy: not installed", "CPU, caddy: why", "medians of 3", "missed"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	path, err := r.Save(t.TempDir() + "/results")
	if err != nil || !strings.HasSuffix(path, "/2026-11-21T030405Z.json") {
		t.Fatal(path, err)
	}
	text, _ := os.ReadFile(path)
	var back Report
	if err := json.Unmarshal(text, &back); err != nil || back.Rows[0].Cells[0].Ratio != 1.5 {
		t.Errorf("%v %s", err, text)
	}
}
