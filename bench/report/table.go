package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
)

// WriteTable writes the table: of each figure what was asked for, how ours stands, and "ratio (value)" of every target.
func (r *Report) WriteTable(w io.Writer, ours string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"figure", "unit", "must", "aim", "verdict", "load"}
	for _, target := range r.Targets {
		head = append(head, target.Name)
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for i := range r.Rows {
		row := &r.Rows[i]
		cells := []string{row.Title, row.Unit, "", "", orDash(row.Verdict(ours)), "-"}
		if row.Load > 0 {
			cells[len(cells)-1] = number(row.Load)
		}
		if row.Bound != BoundNone {
			cells[2], cells[3] = number(row.Must), number(row.Aim)
		}
		for _, target := range r.Targets {
			cells = append(cells, row.Cell(target.Name).text())
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	_ = t.Flush() // w's errors are the caller's to see
	r.writeNotes(w)
}

func (r *Report) writeNotes(w io.Writer) {
	fmt.Fprintln(w)
	for _, target := range r.Targets {
		switch {
		case target.Missing != "":
			fmt.Fprintf(w, "%s: %s\n", target.Name, target.Missing)
		case target.Lacks != "":
			fmt.Fprintf(w, "%s: %s (%s)\n", target.Name, target.Version, target.Lacks)
		case target.Version != "":
			fmt.Fprintf(w, "%s: %s\n", target.Name, target.Version)
		}
	}
	for i := range r.Rows {
		for _, c := range r.Rows[i].Cells {
			if c.Note != "" {
				fmt.Fprintf(w, "%s, %s: %s\n", r.Rows[i].Title, c.Target, c.Note)
			}
		}
	}
	m := r.Machine
	changed := ""
	if m.Changed {
		changed = " with changes"
	}
	fmt.Fprintf(w, "%s, %d cores, Linux %s, %s, commit %.12s%s; load before %s, after %s; took %s\n",
		m.CPU, m.Cores, m.Kernel, m.Go, m.Commit, changed, m.LoadBefore, m.LoadAfter, r.Took)
	if note := m.busy(); note != "" {
		fmt.Fprintln(w, note)
	}
	how := "medians of " + strconv.Itoa(r.Repeats) + " interleaved runs (the worst run where the bound is on the value)"
	if r.Quick {
		how += ", short runs: a look, not a measurement"
	}
	fmt.Fprintf(w, "ratio (value); ratios to nginx; %s\n", how)
}

func (c *Cell) text() string {
	switch {
	case c == nil || len(c.Values) == 0:
		return "-"
	case c.Ratio != 0:
		return number(c.Ratio) + " (" + number(c.Value) + ")"
	default:
		return number(c.Value)
	}
}

// number keeps three digits, and every digit of a large whole part.
func number(v float64) string {
	const large = 100
	if v >= large {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
