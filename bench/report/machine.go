package report

import (
	"context"
	"os"
	"os/exec"
	"runtime"
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
