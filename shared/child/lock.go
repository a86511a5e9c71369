package child

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// HeldError says that another process holds a lock.
type HeldError struct {
	Path string
	Pid  string // what the holder wrote into the file: its process id
}

func (e *HeldError) Error() string { return fmt.Sprintf("%s is held by process %s", e.Path, e.Pid) }

// Lock takes the lock that a file stands for, or fails at once, with a [*HeldError] when another process (or another
// call here) has it. Closing the returned file gives it back; the kernel does so when this program dies. Children do not inherit it.
func Lock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		pid, _ := os.ReadFile(path)
		_ = file.Close()
		return nil, &HeldError{Path: path, Pid: strings.TrimSpace(string(pid))}
	}
	// The number is for HeldError only.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return file, nil
}
