package proc

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"modelgate.internal/shared/child"
)

func TestRunTimeCountsOurWork(t *testing.T) {
	self := Watched{Name: "self", Pid: os.Getpid()}
	before, err := self.Sample()
	if err != nil {
		t.Fatal(err)
	}
	var begin, end syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &begin)
	for until := time.Now().Add(300 * time.Millisecond); time.Now().Before(until); {
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &end)
	after, err := self.Sample()
	if err != nil {
		t.Fatal(err)
	}
	u := self.Between(before, after)
	want := float64(end.Utime.Nano()+end.Stime.Nano()-begin.Utime.Nano()-begin.Stime.Nano()) / 1e3
	if u.CPUMicros < want*0.7-20_000 || u.CPUMicros > want*1.3+50_000 {
		t.Errorf("run time %.0f us, getrusage says %.0f us", u.CPUMicros, want)
	}
	if u.RSSBytesAfter < 1<<20 || u.WallMicros < 300_000 {
		t.Errorf("use %+v", u)
	}
	if u.CPUMicrosPer(0) != 0 || u.CPUMicrosPer(10) != u.CPUMicros/10 {
		t.Error("use per thing is wrong")
	}
}

func TestChildrenCount(t *testing.T) {
	p, err := child.Start(exec.Command("sh", "-c", "sleep 60 & wait"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		pids, err := tree(p.Pid())
		if err != nil {
			t.Fatal(err)
		}
		if len(pids) == 2 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("pids are %v", pids)
		}
	}
}

func TestAnEndedProcessIsAnError(t *testing.T) {
	p, err := child.Start(exec.Command("true"), syscall.SIGKILL)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if _, err := (Watched{Name: "gone", Pid: p.Pid()}).Sample(); err == nil {
		t.Error("a process that has ended was measured")
	}
}

func TestParentOf(t *testing.T) {
	if pid, parent, ok := parentOf("7 (a) b) c) S 3 7 7 0"); !ok || pid != 7 || parent != 3 {
		t.Errorf("%d %d %v", pid, parent, ok)
	}
	if _, _, ok := parentOf("7 (a"); ok {
		t.Error("half a line was read")
	}
}
