package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

const askWait = 5 * time.Second // for git

// Machine is where and on what a comparison ran.
type Machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	Kernel     string `json:"kernel"`
	LoadBefore string `json:"load_before"` // averages of 1, 5 and 15 minutes
	LoadAfter  string `json:"load_after"`
	Go         string `json:"go"`
	Commit     string `json:"commit"`
	Changed    bool   `json:"changed"` // the work tree differed from the commit
}

// ThisMachine looks at the machine and at the repository of the working directory.
func ThisMachine(ctx context.Context) Machine {
	m := Machine{CPU: cpuModel(), Cores: runtime.NumCPU(), Go: runtime.Version(), LoadBefore: LoadAverage()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	m.Commit = git(ctx, "rev-parse", "HEAD")
	m.Changed = git(ctx, "status", "--porcelain") != ""
	return m
}

// LoadAverage is the load of the last 1, 5 and 15 minutes.
func LoadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	const averages = 3
	fields := strings.Fields(string(text))
	return strings.Join(fields[:min(averages, len(fields))], " ")
}

// LoadNow is the load of the last minute; 0 where the system does not tell.
func LoadNow() float64 {
	minute, _, _ := strings.Cut(LoadAverage(), " ")
	load, err := strconv.ParseFloat(minute, 64)
	if err != nil {
		return 0
	}
	return load
}

// busy says in the words of a note that others used the machine, or nothing.
func (m *Machine) busy() string {
	minute, _, _ := strings.Cut(m.LoadBefore, " ")
	load, err := strconv.ParseFloat(minute, 64)
	if err != nil || load < float64(m.Cores)/2 {
		return ""
	}
	return fmt.Sprintf("THE MACHINE WAS BUSY: a load of %.1f on %d cores before anything was measured. Delays and rates tell of its "+
		"other work; ratios of CPU time and memory stand.", load, m.Cores)
}

func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func git(ctx context.Context, args ...string) string {
	ctx, cancel := context.WithTimeout(ctx, askWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "git", args...).Output() //nolint:gosec // two fixed commands
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
