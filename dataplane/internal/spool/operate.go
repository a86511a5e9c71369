package spool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"modelgate.internal/shared/usage"
)

// Ship uploads everything in the directory of a node that does not run, and removes what is acknowledged. It tells progress after
// each step. Calls that were running when the node died are counted first. It can be ended and begun again at any time.
//
// It fails if a process has the directory open, if there is none, and when the control plane cannot be reached, or takes nothing,
// shipTriesMax times in a row.
func Ship(ctx context.Context, o Options, progress func(Stats)) (Stats, error) {
	dir := filepath.Join(o.DataDir, "spool")
	if _, err := os.Stat(dir); err != nil {
		return Stats{}, fmt.Errorf("ship usage records: %w", err)
	}
	s := &Spool{o: o, dir: dir, want: make(chan struct{}, 1)}
	if err := os.MkdirAll(filepath.Join(dir, "damaged"), 0o700); err != nil {
		return Stats{}, fmt.Errorf("ship usage records: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return Stats{}, err
	}
	defer lock.Close()
	if err := s.recover(); err != nil {
		return Stats{}, err
	}
	if s.ship, err = newShipper(s); err != nil {
		return Stats{}, err
	}
	defer s.ship.leave()
	wait, tries := retryFirst, 0
	for more := true; more; {
		if more, err = s.ship.step(ctx); err == nil {
			wait, tries = retryFirst, 0
			progress(s.Stats())
			continue
		}
		if tries++; tries == shipTriesMax || ctx.Err() != nil {
			return s.Stats(), err
		}
		more = true
		pause(ctx, wait)
		wait = min(2*wait, retryMax)
	}
	left, err := filepath.Glob(filepath.Join(dir, journalPrefix+"*"+journalSuffix))
	if err == nil && len(left) > 0 {
		err = errors.New("calls that were cut could not be counted; see the log, and run this again")
	}
	return s.Stats(), err
}

// File is what a file of a usage log holds.
type File struct {
	Name    string // below the directory spool
	Records int    // whole ones; in a journal, notes of calls that may have records
	Parts   int    // runs of records; more than one is damage in the middle
	Torn    bool   // it ends in half a record
	Damaged int    // notes that cannot be read
	Why     string // it cannot be read at all; empty if it can
}

// Inspect reads the files of a usage log, also of a running node, and changes nothing.
func Inspect(dataDir string) ([]File, error) {
	var files []File
	dir := filepath.Join(dataDir, "spool")
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && path != dir { // shipped meanwhile
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		switch {
		case strings.HasSuffix(name, segmentSuffix):
			files = append(files, inspectSegment(path, name))
		case strings.HasSuffix(name, journalSuffix):
			files = append(files, inspectJournal(path, name))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("inspect usage log: %w", err)
	}
	return files, nil
}

func inspectSegment(path, name string) File {
	f := File{Name: name}
	segment, err := openSegment(path)
	if err != nil {
		f.Why = err.Error()
		return f
	}
	data, err := os.ReadFile(path)
	if err != nil {
		f.Why = err.Error()
		return f
	}
	runs, torn := scan(data, usage.Seed(segment.incarnation))
	f.Parts, f.Torn = len(runs), torn != 0
	for _, r := range runs {
		f.Records += int(r.last - r.first + 1)
	}
	return f
}

func inspectJournal(path, name string) File {
	f := File{Name: name}
	incarnation, _, err := journalHead(path)
	if err != nil {
		f.Why = err.Error()
		return f
	}
	calls, damaged, err := readJournal(path, usage.Seed(incarnation))
	if err != nil {
		f.Why = err.Error()
	}
	f.Records, f.Damaged = len(calls), damaged
	return f
}
