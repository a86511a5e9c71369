package soak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"modelgate.internal/bench/internal/proc"
)

// sample reads the node's memory while f runs.
func sample(t *testing.T, sys *system, d time.Duration, f func()) (rss []int64) {
	t.Helper()
	watched, err := proc.Watched{Name: node, Pid: sys.s.Pid(node)}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	tick := time.NewTicker(d / samples)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return rss
		case <-tick.C:
			s, err := watched.Sample()
			if err != nil {
				t.Errorf("look at the node: %v", err)
				<-over
				return rss
			}
			rss = append(rss, s.RSSBytes)
		}
	}
}

// judgeMemory compares the end with the first third.
func judgeMemory(t *testing.T, rss []int64) {
	t.Helper()
	third := len(rss) / 3
	if third == 0 {
		t.Fatal("no samples")
	}
	var early int64
	for _, bytes := range rss[:third] {
		early = max(early, bytes)
	}
	last := rss[len(rss)-1]
	t.Logf("memory: at most %d MiB in the first third, %d MiB at the end", early>>20, last>>20)
	if last > early+early/2+rssSlack {
		t.Errorf("memory grew from %d to %d MiB", early>>20, last>>20)
	}
}

func judgeLogs(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.log*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"DATA RACE", "panic", "not recorded"} {
			if i := strings.Index(string(text), bad); i >= 0 {
				t.Errorf("%s: %s", filepath.Base(file), text[max(0, i-200):min(len(text), i+3000)])
			}
		}
	}
}
