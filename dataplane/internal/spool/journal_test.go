package spool_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/dataplane/internal/spool"
	"modelgate.internal/shared/plane"
)

// A real process is killed while calls begin, send and end. Each call that had begun is counted once: as it ended, or as cut with
// what it had sent.
func TestCallsCutByACrashAreCountedOnce(t *testing.T) {
	if dir := os.Getenv("SPOOL_TEST_CALLS"); dir != "" {
		callUntilKilled(t, dir)
		return
	}
	t.Parallel()
	ingest, dir := newIngest(t), t.TempDir()
	begun, ended, sent := map[string]bool{}, map[string]bool{}, map[string]int64{}
	for life := range 12 {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCallsCutByACrashAreCountedOnce$")
		child.Env = append(os.Environ(), "SPOOL_TEST_CALLS="+dir, fmt.Sprint("SPOOL_TEST_LIFE=", life))
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			switch words := strings.Fields(lines.Text()); {
			case len(words) == 2 && words[0] == "begun":
				begun[words[1]] = true
			case len(words) == 2 && words[0] == "ended":
				ended[words[1]] = true
			case len(words) == 3 && words[0] == "sent":
				sent[words[1]], _ = strconv.ParseInt(words[2], 10, 64)
			}
			if n == 200+life*97 {
				if err := child.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = child.Wait()
	}
	s := open(t, dir, ingest, options{})
	run(t, s)
	add(t, s, "last")
	eventually(t, "the last record", func() bool { return ingest.counted()["last"] == 1 })
	exactlyOnce(t, ingest)
	cut := 0
	for id := range begun {
		got := ingest.find(id)
		switch {
		case len(got) != 1:
			t.Errorf("%s is counted %d times", id, len(got))
		case ended[id] && got[0].End != plane.EndDone:
			t.Errorf("%s had ended and is counted as %s", id, got[0].End)
		case got[0].End == plane.EndNodeCrash:
			cut++
			if r := got[0]; r.TokensOut < sent[id] || r.TokensOut > sent[id]+1 || r.TokensIn != 17 || r.KeyID != "key-1" || r.Source != plane.SourceCounted {
				t.Errorf("%s had sent %d and is counted with %+v", id, sent[id], r)
			}
		}
	}
	if len(begun) < 300 || cut < 12 {
		t.Errorf("%d calls began, %d were cut: the test shows nothing", len(begun), cut)
	}
}

// callUntilKilled has nine calls running at a time.
func callUntilKilled(t *testing.T, dir string) {
	ingest := newIngest(t)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return false, 0, errors.New("down") })
	s := open(t, dir, ingest, options{segment: 32 << 10})
	run(t, s)
	var (
		ids     [9]string
		tickets [9]*spool.Ticket
		sent    [9]int64
	)
	for i := range 1_000_000 {
		at := rand.IntN(len(ids))
		switch {
		case tickets[at] == nil:
			id := fmt.Sprint(os.Getenv("SPOOL_TEST_LIFE"), "/", i)
			r := record(id)
			r.End, r.TokensOut = "", 0
			ticket, err := s.Begin(r)
			if err != nil {
				t.Fatal(err)
			}
			ids[at], tickets[at], sent[at] = id, ticket, 0
			fmt.Println("begun", id)
		case rand.IntN(4) > 0:
			sent[at]++
			tickets[at].Sent(sent[at])
			fmt.Println("sent", ids[at], sent[at])
		default:
			if err := s.End(tickets[at], record(ids[at])); err != nil {
				t.Fatal(err)
			}
			tickets[at] = nil
			fmt.Println("ended", ids[at])
		}
	}
	time.Sleep(time.Minute)
}

// find returns what was stored of a request.
func (f *fakeIngest) find(id string) (found []plane.UsageRecord) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, records := range f.stored {
		for _, r := range records {
			if r.RequestID == id {
				found = append(found, r)
			}
		}
	}
	return found
}

// corpse is the directory of a process that died with the calls a, which has ended, b, which has sent 3 events, and c.
func corpse(t *testing.T) (dir string) {
	t.Helper()
	live, dir := t.TempDir(), t.TempDir()
	s := open(t, live, newIngest(t), options{})
	defer func() { _ = s.Close() }()
	tickets := map[string]*spool.Ticket{}
	for _, id := range []string{"a", "b", "c"} {
		var err error
		if tickets[id], err = s.Begin(record(id)); err != nil {
			t.Fatal(err)
		}
	}
	tickets["b"].Sent(3)
	if err := s.End(tickets["a"], record("a")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	return dir
}

const (
	slotBytes = 1 << 10
	slotFrame = 16
)

// journalOf returns the one journal of a directory.
func journalOf(t *testing.T, dir string) (path string, data []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "spool", "*.journal"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	data, err = os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return found[0], data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// shipped opens the directory and returns how all of its calls ended at the control plane.
func shipped(t *testing.T, dir string, ingest *fakeIngest) (ends map[string]string, stats spool.Stats) {
	t.Helper()
	s := open(t, dir, ingest, options{})
	stop := run(t, s)
	add(t, s, "last")
	eventually(t, "the last record", func() bool { return ingest.counted()["last"] > 0 })
	stop()
	ends = map[string]string{}
	for id, n := range ingest.counted() {
		if r := ingest.find(id); n == 1 {
			ends[id] = fmt.Sprintf("%s %d %d", r[0].End, r[0].Status, r[0].TokensOut)
		} else if id != "last" {
			t.Errorf("%s is counted %d times", id, n)
		}
	}
	delete(ends, "last")
	return ends, s.Stats()
}

func expect(t *testing.T, ends map[string]string, want ...string) {
	t.Helper()
	for i, id := range []string{"a", "b", "c"} {
		if ends[id] != want[i] {
			t.Errorf("%s is counted as %q, want %q", id, ends[id], want[i])
		}
	}
}

const asDone, cutLater, cutAtOnce = "done 200 4000000000", "node_crash 200 3", "node_crash 500 0"

func TestCutCallsSayWhatWasSent(t *testing.T) {
	t.Parallel()
	ingest := newIngest(t)
	ends, stats := shipped(t, corpse(t), ingest)
	expect(t, ends, asDone, cutLater, cutAtOnce)
	if stats.Cut != 2 || stats.Damaged != 0 || stats.Lost != 0 {
		t.Errorf("%+v", stats)
	}
}

// The process that counts cut calls dies after it wrote their segment and before it removed the journal, and even ships meanwhile.
func TestCutCallsAreCountedOnceThroughAnotherCrash(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), corpse(t)
	again := t.TempDir()
	if err := os.CopyFS(again, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	shipped(t, dir, ingest)
	ends, _ := shipped(t, again, ingest)
	expect(t, ends, asDone, cutLater, cutAtOnce)
}

// The process died between noting which record ends a call and writing that record.
func TestACallWithoutTheRecordThatWasToEndIt(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), corpse(t)
	path, data := journalOf(t, dir)
	const b = 2 * slotBytes
	binary.LittleEndian.PutUint64(data[b:], 2) // only record 1 is there
	write(t, path, data)
	ends, _ := shipped(t, dir, ingest)
	expect(t, ends, asDone, cutLater, cutAtOnce)
}

// The machine went down: a slot on disk is older than the record of its call.
func TestAStaleSlotAfterALossOfPower(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), corpse(t)
	path, data := journalOf(t, dir)
	live := data[2*slotBytes : 3*slotBytes]
	a := data[slotBytes : 2*slotBytes]
	binary.LittleEndian.PutUint32(a[slotFrame:], binary.LittleEndian.Uint32(live[slotFrame:])) // as long as the other
	binary.LittleEndian.PutUint64(a, 0)                                                        // runs, it says
	binary.LittleEndian.PutUint64(data[8:], 12345)                                             // another boot
	binary.LittleEndian.PutUint32(data[60:], crc32.Checksum(data[:60], crc32.MakeTable(crc32.Castagnoli)))
	write(t, path, data)
	ends, stats := shipped(t, dir, ingest)
	expect(t, ends, asDone, cutLater, cutAtOnce)
	if stats.Damaged != 0 {
		t.Errorf("the slot was not what it should be: %+v", stats)
	}
}

func TestDamagedJournalIsSetAside(t *testing.T) {
	t.Parallel()
	for name, at := range map[string]int{"a call": 2*slotBytes + slotFrame + 30, "the header": 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ingest, dir := newIngest(t), corpse(t)
			path, data := journalOf(t, dir)
			data[at] ^= 1
			write(t, path, data)
			ends, stats := shipped(t, dir, ingest)
			if name == "a call" {
				expect(t, ends, asDone, "", cutAtOnce)
			} else {
				expect(t, ends, asDone, "", "")
			}
			if kept, err := os.ReadFile(filepath.Join(dir, "spool", "damaged", filepath.Base(path))); err != nil || string(kept) != string(data) || stats.Damaged != 1 {
				t.Errorf("%v, %+v", err, stats)
			}
		})
	}
}

// Where the segment of the cut calls cannot be written, the node starts all the same, keeps the journal and counts them with its
// next start.
func TestNoRoomForCutCalls(t *testing.T) {
	t.Parallel()
	ingest, dir := newIngest(t), corpse(t)
	path, _ := journalOf(t, dir)
	incarnation := strings.Split(filepath.Base(path), "-")[1]
	inTheWay := filepath.Join(dir, "spool", incarnation[:len(incarnation)-1]+"x-0000000000000001.segment.next")
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	ends, stats := shipped(t, dir, ingest)
	expect(t, ends, asDone, "", "")
	if _, err := os.Stat(path); err != nil || stats.Cut != 0 {
		t.Errorf("%v, %+v", err, stats)
	}
	if err := os.Remove(inTheWay); err != nil {
		t.Fatal(err)
	}
	ends, _ = shipped(t, dir, ingest)
	for id, want := range map[string]string{"b": cutLater, "c": cutAtOnce} {
		if ends[id] != want {
			t.Errorf("%s is counted as %q, want %q", id, ends[id], want)
		}
	}
}

// A call that cannot be noted is refused before an upstream is asked.
func TestNoRoomForTheJournal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir, newIngest(t), options{})
	if err := os.Rename(filepath.Join(dir, "spool"), filepath.Join(dir, "away")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin(record("a")); err == nil {
		t.Error("a call is noted nowhere")
	}
	if err := os.Rename(filepath.Join(dir, "away"), filepath.Join(dir, "spool")); err != nil {
		t.Fatal(err)
	}
	o, err := s.Begin(record("a"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.End(o, record("a")), s.Close()); err != nil {
		t.Error(err)
	}
	if _, err := s.Begin(record("b")); !errors.Is(err, spool.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestManyRunningCallsAndLongNames(t *testing.T) {
	t.Parallel()
	ingest, live, dir := newIngest(t), t.TempDir(), t.TempDir()
	s := open(t, live, newIngest(t), options{})
	defer func() { _ = s.Close() }()
	const calls = 2500
	for i := range calls {
		r := record(fmt.Sprint("call-", i))
		r.Model, r.Task, r.Endpoint, r.Backend = strings.Repeat("m", 255), strings.Repeat("t", 300), strings.Repeat("e", 255), strings.Repeat("b", 255)
		if _, err := s.Begin(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(dir, os.DirFS(live)); err != nil {
		t.Fatal(err)
	}
	if ends, stats := shipped(t, dir, ingest); len(ends) != calls || stats.Cut != calls {
		t.Errorf("%d calls, %+v", len(ends), stats)
	}
}

// BenchmarkCall is what a streamed call costs beside the rest: its note, its progress over ten flushes, its record.
func BenchmarkCall(b *testing.B) {
	ingest := newIngest(b)
	ingest.setFault(func(string, []plane.UsageRecord) (bool, int, error) { return false, 0, errors.New("down") })
	s := open(b, b.TempDir(), ingest, options{segment: 4 << 20, disk: 8 << 30})
	run(b, s)
	r := record("0123456789abcdef")
	b.ReportAllocs()
	for b.Loop() {
		o, err := s.Begin(r)
		if err != nil {
			b.Fatal(err)
		}
		for i := range int64(10) {
			o.Sent(i)
		}
		if err := s.End(o, r); err != nil {
			b.Fatal(err)
		}
	}
}
