package stack

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// boundLogs keeps every log below its bound, until ctx ends. The processes append to open files, so a full log is copied
// aside and cut to nothing; a line written between the two is lost.
func (s *Stack) boundLogs(ctx context.Context) {
	tick := time.NewTicker(logCheckEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, p := range s.parts {
			if err := boundLog(s.at.log(p.name), logBytesMax); err != nil {
				s.out.say("keep the log of %s small: %v", p.name, err)
			}
		}
	}
}

func boundLog(path string, bytesMax int64) error {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) || (err == nil && info.Size() <= bytesMax) {
		return nil
	}
	if err != nil {
		return err
	}
	from, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	to, err := os.OpenFile(path+".1", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close(), from.Truncate(0))
}

// tail is the last lines of a log, indented.
func tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		_, _ = file.Seek(-tailBytes, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(file, tailBytes))
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}
