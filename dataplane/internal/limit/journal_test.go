package limit

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func mustOpen(t *testing.T, path string, today int64) (*journal, error) {
	t.Helper()
	j, damage, err := openJournal(path, today)
	if err != nil {
		t.Fatal(err)
	}
	return j, damage
}

// However the file is cut or garbled, what was written before the damage is found again and the file is kept.
func TestJournalDamage(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "limits.journal")
	j, _ := mustOpen(t, path, 7)
	for i := range 4 {
		if err := j.write(map[string]day{fmt.Sprintf("account/%d/day", i): {number: 7, count: int64(i + 1)}}, 7); err != nil {
			t.Fatal(err)
		}
	}
	_ = j.close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := (len(whole) - len(journalHeader)) / 4
	for at := 1; at < len(whole); at += 3 {
		for _, garble := range []bool{false, true} {
			data := append([]byte{}, whole[:at]...)
			if garble {
				data = append([]byte{}, whole...)
				data[at] ^= 0x55
			}
			_ = os.Remove(path + ".damaged")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			j, damage := mustOpen(t, path, 7)
			_ = j.close()
			intact := max(0, (at-len(journalHeader))/record)
			if at < len(journalHeader) {
				intact = 0
			}
			if len(j.live) != intact {
				t.Fatalf("byte %d, garbled %v: %d counts, want %d", at, garble, len(j.live), intact)
			}
			if _, err := os.Stat(path + ".damaged"); (err == nil) != (damage != nil) {
				t.Fatalf("byte %d, garbled %v: damage %v, kept file: %v", at, garble, damage, err)
			}
			if garble && damage == nil {
				t.Fatalf("byte %d garbled and not noticed", at)
			}
		}
	}
}

func TestJournalIsRewrittenWhenItGrows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "limits.journal")
	j, _ := mustOpen(t, path, 7)
	for i := range 60 {
		counts := map[string]day{"account/1/day": {number: 7, count: int64(i)}}
		for k := range 2000 {
			counts[fmt.Sprint("account/", i, "/", k)] = day{number: 6, count: 1}
		}
		if err := j.write(counts, 7); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() > 2*journalSlackBytes {
			t.Fatalf("%v, %v", info, err)
		}
	}
	_ = j.close()
	j, damage := mustOpen(t, path, 7)
	defer func() { _ = j.close() }()
	if damage != nil || len(j.live) != 1 || j.live["account/1/day"].count != 59 {
		t.Errorf("%v, %v", j.live, damage)
	}
}
