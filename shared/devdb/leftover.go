package devdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clearLeftover deals with the pid file of a server that did not end in order. We hold the lock on the directory, so
// the file is either that of a server which is just finishing after its program was killed, or stale. PostgreSQL by
// itself refuses to start when any process has the number in a stale file, which is likely in a container.
func (p *postgres) clearLeftover(ctx context.Context) error {
	file := filepath.Join(p.data, "postmaster.pid")
	pid, err := firstNumber(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil && p.serves(pid) {
		p.o.Log.Info("waiting for the database server of an earlier run to end", slog.Int("pid", pid))
		if err := p.outlast(ctx, pid); err != nil {
			return err
		}
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove a stale pid file: %w", err)
	}
	return nil
}

// outlast ends a server of an earlier run, politely first.
func (p *postgres) outlast(ctx context.Context, pid int) error {
	end := time.Now().Add(leftoverWait)
	_ = syscall.Kill(pid, syscall.SIGINT)
	for p.serves(pid) {
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGQUIT)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the database server of an earlier run, process %d, does not end: %w", pid, ctx.Err())
		case <-time.After(leftoverPoll):
		}
	}
	return nil
}

// serves reports whether a process is a server on our data: such a process works in the data directory.
func (p *postgres) serves(pid int) bool {
	dir, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		return false
	}
	data, err := filepath.EvalSymlinks(p.data)
	return err == nil && dir == data
}

// firstNumber reads the number in a file's first line.
func firstNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strconv.Atoi(strings.TrimSpace(line))
}
