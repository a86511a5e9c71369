package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Report is a whole comparison.
type Report struct {
	At      time.Time `json:"at"`
	Took    string    `json:"took"`
	Quick   bool      `json:"quick"` // one short run of each instead of the median of several
	Repeats int       `json:"repeats"`
	Machine Machine   `json:"machine"`
	Targets []Target  `json:"targets"`
	Rows    []Row     `json:"rows"`
	Runs    []Run     `json:"runs"`
}

// Target is a proxy, or the way without one.
type Target struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Lacks   string `json:"lacks,omitempty"`   // what it does not do of what is compared
	Missing string `json:"missing,omitempty"` // why it was not measured
}

// Bound says what a row's must and aim are compared with.
type Bound string

// The kinds of bounds.
const (
	BoundRatio Bound = "ratio" // to the reference's value
	BoundValue Bound = "value" // the value itself, worst of all runs
	BoundNone  Bound = "none"  // for information
)

// Row is one figure.
type Row struct {
	Name  string  `json:"name"` // a word for programs
	Title string  `json:"title"`
	Unit  string  `json:"unit"`
	Bound Bound   `json:"bound"`
	Must  float64 `json:"must"`
	Aim   float64 `json:"aim"`
	Load  float64 `json:"load"` // the highest load average of a minute when one of its runs began
	Cells []Cell  `json:"cells"`
}

// Cell is a figure of one target.
type Cell struct {
	Target string    `json:"target"`
	Values []float64 `json:"values"` // of each run
	// Value is the median of the runs, or the worst for BoundValue; it means something only if there are Values.
	Value float64 `json:"value"`
	Ratio float64 `json:"ratio,omitempty"` // to the reference; 0 if there is none
	Note  string  `json:"note,omitempty"`  // why there is no value, or what is wrong with it
}

// Run is the raw result of one run.
type Run struct {
	Scene  string `json:"scene"`
	Target string `json:"target"`
	Repeat int    `json:"repeat"`
	Result any    `json:"result"`
}

// Fill computes every cell's value and ratio.
func (r *Report) Fill(reference string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		for k := range row.Cells {
			row.Cells[k].settle(row.Bound)
		}
		ref := row.Cell(reference)
		if ref == nil || len(ref.Values) == 0 || ref.Value <= 0 || row.Bound == BoundValue {
			continue
		}
		for k := range row.Cells {
			if c := &row.Cells[k]; len(c.Values) > 0 {
				c.Ratio = c.Value / ref.Value
			}
		}
	}
}

func (c *Cell) settle(b Bound) {
	if len(c.Values) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(c.Values))
	if b == BoundValue {
		c.Value = sorted[len(sorted)-1]
		return
	}
	mid := len(sorted) / 2
	c.Value = sorted[mid]
	if len(sorted)%2 == 0 {
		c.Value = (sorted[mid-1] + sorted[mid]) / 2
	}
}

// Cell is the cell of a target, nil if there is none.
func (r *Row) Cell(target string) *Cell {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool { return c.Target == target })
	if i < 0 {
		return nil
	}
	return &r.Cells[i]
}

// Verdict says how a target's cell stands: "aim", "must", "missed", or "" if the row has no bounds, no value or no reference.
func (r *Row) Verdict(target string) string {
	c := r.Cell(target)
	if c == nil || r.Bound == BoundNone {
		return ""
	}
	figure := c.Value
	if r.Bound == BoundRatio {
		figure = c.Ratio
	}
	switch {
	case len(c.Values) == 0, r.Bound == BoundRatio && c.Ratio == 0:
		return ""
	case figure <= r.Aim:
		return "aim"
	case figure <= r.Must:
		return "must"
	default:
		return "missed"
	}
}

// Save writes the report into a directory, named by its time, and returns the file's path.
func (r *Report) Save(dir string) (string, error) {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	//nolint:gosec // results are to be read by everybody
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	name := r.At.UTC().Format("2006-01-02T150405Z")
	if r.Quick {
		name += "-quick"
	}
	path := filepath.Join(dir, name+".json")
	//nolint:gosec // results are to be read by everybody
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	return path, nil
}
