package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Watched is a process under test and every process below it.
type Watched struct {
	Name string
	Pid  int
	pids []int // with those below; nil until Resolve
}

// Resolve finds the processes below now, so that a Sample is quick. One that starts later is not counted then.
func (w Watched) Resolve() (Watched, error) {
	pids, err := tree(w.Pid)
	if err != nil {
		return w, fmt.Errorf("look at %s: %w", w.Name, err)
	}
	w.pids = pids
	return w, nil
}

// Sample is what a process and everything below it had used at a moment.
type Sample struct {
	CPU      time.Duration // run time of all threads since their start
	RSSBytes int64         // resident memory; pages that two processes share count twice
	At       time.Time
}

// Use is what a process used between two moments.
type Use struct {
	Name           string  `json:"name"`
	Pid            int     `json:"pid"`
	CPUMicros      float64 `json:"cpu_us"`
	WallMicros     float64 `json:"wall_us"`
	RSSBytesBefore int64   `json:"rss_bytes_before"`
	RSSBytesAfter  int64   `json:"rss_bytes_after"`
}

// CPUMicrosPer is the CPU time for each of n things, 0 for none.
func (u Use) CPUMicrosPer(n int64) float64 {
	if n <= 0 {
		return 0
	}
	return u.CPUMicros / float64(n)
}

// Between is the use from one sample to a later one.
func (w Watched) Between(before, after Sample) Use {
	return Use{
		Name: w.Name, Pid: w.Pid,
		CPUMicros: micros(after.CPU - before.CPU), WallMicros: micros(after.At.Sub(before.At)),
		RSSBytesBefore: before.RSSBytes, RSSBytesAfter: after.RSSBytes,
	}
}

// Sample reads the present use.
func (w Watched) Sample() (Sample, error) {
	if w.pids == nil {
		var err error
		if w, err = w.Resolve(); err != nil {
			return Sample{}, err
		}
	}
	sum := Sample{At: time.Now()}
	for _, pid := range w.pids {
		cpu, err := runTime(pid)
		if err != nil {
			if pid != w.Pid && gone(err) {
				continue // a child that has just ended
			}
			return Sample{}, fmt.Errorf("look at %s: %w", w.Name, err)
		}
		rss, err := resident(pid)
		if err != nil && !gone(err) {
			return Sample{}, fmt.Errorf("look at %s: %w", w.Name, err)
		}
		sum.CPU += cpu
		sum.RSSBytes += rss
	}
	return sum, nil
}

// runTime sums the run time of a process's threads.
func runTime(pid int) (time.Duration, error) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return 0, err
	}
	var sum time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat", pid, task.Name()))
		if gone(err) {
			continue
		} else if err != nil {
			return 0, err
		}
		ran, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(ran, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read a thread's run time: %w", err)
		}
		sum += time.Duration(ns)
	}
	return sum, nil
}

// resident is the resident memory of a process, counted page by page: the figure in /proc/PID/status lags behind.
func resident(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "Rss:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("smaps_rollup has no Rss line")
}

// tree lists a process and every process below it.
func tree(root int) ([]int, error) {
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", root)); err != nil {
		return nil, err
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	children := map[int][]int{}
	for _, file := range stats {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // ended meanwhile
		}
		pid, parent, ok := parentOf(string(text))
		if ok {
			children[parent] = append(children[parent], pid)
		}
	}
	pids := []int{root}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, children[pids[i]]...)
	}
	return pids, nil
}

// parentOf reads the ids in a line of /proc/PID/stat: pid (name) state parent. A name may hold spaces and brackets.
func parentOf(stat string) (pid, parent int, ok bool) {
	first, _, _ := strings.Cut(stat, " ")
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return 0, 0, false
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 2 {
		return 0, 0, false
	}
	pid, e1 := strconv.Atoi(first)
	parent, e2 := strconv.Atoi(fields[1])
	return pid, parent, e1 == nil && e2 == nil
}

func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
