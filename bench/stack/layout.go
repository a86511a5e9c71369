package stack

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// layout is where things lie. All paths are absolute.
type layout struct {
	dir, bin, run, logs, secrets, database string
}

// lay makes the directories.
func lay(dir, bin string) (layout, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return layout{}, fmt.Errorf("find the directory of the stack: %w", err)
	}
	if bin, err = filepath.Abs(bin); err != nil {
		return layout{}, fmt.Errorf("find the directory of the programs: %w", err)
	}
	at := layout{
		dir: dir, bin: bin, run: filepath.Join(dir, "run"), logs: filepath.Join(dir, "log"),
		secrets: filepath.Join(dir, "secrets"), database: filepath.Join(dir, "database"),
	}
	//nolint:gosec // the user that runs PostgreSQL has to pass through
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return layout{}, fmt.Errorf("make the directory of the stack: %w", err)
	}
	for _, sub := range []string{at.run, at.logs, at.secrets} {
		if err := os.MkdirAll(sub, 0o700); err != nil {
			return layout{}, fmt.Errorf("make the directory of the stack: %w", err)
		}
	}
	return at, nil
}

func (at layout) config(name string) string  { return filepath.Join(at.dir, name+".yaml") }
func (at layout) log(name string) string     { return filepath.Join(at.logs, name+".log") }
func (at layout) pidFile(name string) string { return filepath.Join(at.run, name+".pid") }
func (at layout) program(name string) string { return filepath.Join(at.bin, name) }
func (at layout) secret(name string) string  { return filepath.Join(at.secrets, name) }

// programs checks that everything is built.
func (at layout) programs(names []string) error {
	for _, name := range names {
		if _, err := os.Stat(at.program(name)); err != nil {
			return fmt.Errorf("%s is not built: run `make build`", at.program(name))
		}
	}
	return nil
}

// clearPids removes what a killed stack left. We hold the lock, so no process that these files name is one of ours.
func (at layout) clearPids() error {
	files, err := filepath.Glob(filepath.Join(at.run, "*.pid"))
	if err != nil {
		return err
	}
	for _, file := range append(files, filepath.Join(at.run, "stack.json")) {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("remove a stale file: %w", err)
		}
	}
	return nil
}

// writePid notes the process of a part; a reader never sees half a number.
func (at layout) writePid(name string, pid int) error {
	return writeFile(at.pidFile(name), []byte(strconv.Itoa(pid)+"\n"))
}

// writeFile replaces a file as a whole. Only its owner may read it.
func writeFile(path string, text []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.Write(text) // CreateTemp makes it 0600
	if e := file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeFile(path, append(text, '\n'))
}
