package load

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"modelgate.internal/bench/internal/proc"
)

// WriteText writes the result for people.
func (r UnaryResult) WriteText(w io.Writer) {
	fmt.Fprintf(w, "answers      %d whole, by status %s\n", r.Requests, statusText(r.Status))
	fmt.Fprintf(w, "wrong        %d: %d truncated, %d without an answer, %d connections given up\n", r.Wrong(), r.Truncated, r.Failed, r.GaveUp)
	fmt.Fprintf(w, "reconnected  %d\n", r.Reconnects)
	fmt.Fprintf(w, "measured     %d in %.2f s, %.0f/s\n", r.Measured, r.WindowMicros/1e6, r.PerSecond())
	spreadText(w, "latency", r.Latency)
	for _, p := range r.Processes {
		processText(w, p)
		fmt.Fprintf(w, "             %.2f us/request\n", p.CPUMicrosPer(r.Measured))
	}
}

// WriteText writes the result for people.
func (r StreamsResult) WriteText(w io.Writer) {
	fmt.Fprintf(w, "streams      %d, by status %s\n", r.Streams, statusText(r.Status))
	fmt.Fprintf(w, "complete     %d, of these %d with events lost or doubled, %d out of order, %d with an error\n", r.Complete, r.Miscounted, r.Disordered, r.Erroneous)
	fmt.Fprintf(w, "not complete %d of a wrong status, %d truncated, %d without an answer, %d unfinished\n", r.WrongStatus, r.Truncated, r.Failed, r.Unfinished)
	fmt.Fprintf(w, "measured     %d events in %.2f s, %d streams open at the end\n", r.Events, r.WindowMicros/1e6, r.OpenAtEnd)
	spreadText(w, "head", r.Head)
	spreadText(w, "delay", r.Delay)
	spreadText(w, "gap", r.Gap)
	for _, p := range r.Processes {
		processText(w, p)
		fmt.Fprintf(w, "             %.2f us/event, %.1f KiB/stream\n", p.CPUMicrosPer(r.Events), r.KiBPerStream(p))
	}
}

// KiBPerStream is the growth of a process's memory for each stream that was open at the end of the window.
func (r StreamsResult) KiBPerStream(p proc.Use) float64 {
	if r.OpenAtEnd == 0 {
		return 0
	}
	return float64(p.RSSBytesAfter-p.RSSBytesBefore) / 1024 / float64(r.OpenAtEnd)
}

// WriteText writes the result for people.
func (r LeaveResult) WriteText(w io.Writer) {
	fmt.Fprintf(w, "clients      %d, %d ready, %d ended early, by status %s\n", r.Clients, r.Ready, r.Early, statusText(r.Status))
	fmt.Fprintf(w, "left         within %.1f ms\n", r.LeavingMicros/1e3)
}

func statusText(status map[int]int64) string {
	var parts []string
	for _, s := range slices.Sorted(maps.Keys(status)) {
		parts = append(parts, fmt.Sprintf("%d: %d", s, status[s]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func spreadText(w io.Writer, name string, s Spread) {
	fmt.Fprintf(w, "%-12s mean %.0f us, p50 %.0f, p90 %.0f, p99 %.0f, p99.9 %.0f, max %.0f, of %d\n",
		name, s.MeanMicros, s.P50Micros, s.P90Micros, s.P99Micros, s.P999Micros, s.MaxMicros, s.Count)
}

func processText(w io.Writer, p proc.Use) {
	const mib = 1 << 20
	fmt.Fprintf(w, "%-12s %.3f s of CPU in %.3f s, memory %.1f MiB -> %.1f MiB\n",
		p.Name, p.CPUMicros/1e6, p.WallMicros/1e6, float64(p.RSSBytesBefore)/mib, float64(p.RSSBytesAfter)/mib)
}
