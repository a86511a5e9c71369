package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// names says under which incarnation and from which number on records are shipped, where that is not their own: behind records
// that were lost. Aliases of an incarnation are in the order of From.
type names map[string][]alias

type alias struct {
	From        uint64 `json:"from"` // seq in the segment that is number 1 under the alias
	Incarnation string `json:"incarnation"`
}

const namesFile = "renumbered.json"

// loadNames returns the names of the incarnations that there still are segments of.
func loadNames(dir string, queue []*segment) (names, error) {
	all, kept := names{}, names{}
	data, err := os.ReadFile(filepath.Join(dir, namesFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return kept, nil
	case err != nil:
		return nil, fmt.Errorf("read names of usage records: %w", err)
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read names of usage records: %w", err)
	}
	for _, segment := range queue {
		if aliases, ok := all[segment.incarnation]; ok {
			kept[segment.incarnation] = aliases
		}
	}
	return kept, nil
}

// of returns the name of a record and the seq that is number 1 under it.
func (n names) of(incarnation string, seq uint64) (name string, from uint64) {
	name, from = incarnation, 1
	for _, a := range n[incarnation] {
		if a.From <= seq {
			name, from = a.Incarnation, a.From
		}
	}
	return name, from
}

// starts reports whether another name begins with the record.
func (n names) starts(incarnation string, seq uint64) bool {
	for _, a := range n[incarnation] {
		if a.From == seq {
			return true
		}
	}
	return false
}

// add makes an alias durable.
func (n names) add(dir, incarnation string, a alias) error {
	n[incarnation] = append(n[incarnation], a)
	data, err := json.Marshal(n)
	if err == nil {
		err = replaceFile(filepath.Join(dir, namesFile), data)
	}
	if err != nil {
		n[incarnation] = n[incarnation][:len(n[incarnation])-1]
		return fmt.Errorf("keep names of usage records: %w", err)
	}
	return nil
}

// replaceFile writes a file that is there whole or as it was, also after a loss of power.
func replaceFile(path string, data []byte) error {
	f, err := os.OpenFile(path+".next", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".next", path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}
