package obs

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Bounds of gathered log lines.
const (
	linesBytesMax   = 64 << 10
	linesFlushEvery = 100 * time.Millisecond
)

// Lines gathers log lines, so that a busy process spends no system call on each. A kill -9 loses what the last
// linesFlushEvery brought; a warning and whatever came before it leave at once when the logger is made by [Lines.Logger]. It
// is safe for concurrent use.
type Lines struct {
	mu  sync.Mutex
	buf *bufio.Writer
}

// NewLines returns Lines that end up in w. Somebody must call [Lines.Run].
func NewLines(w io.Writer) *Lines { return &Lines{buf: bufio.NewWriterSize(w, linesBytesMax)} }

// Write takes a line.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// Flush hands on what was gathered.
func (l *Lines) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Flush()
}

// Run flushes at intervals until ctx ends, and once more then. Lines that cannot be written are dropped: there is nowhere to
// say so.
func (l *Lines) Run(ctx context.Context) error {
	tick := time.NewTicker(linesFlushEvery)
	defer tick.Stop()
	for {
		_ = l.Flush()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return l.Flush()
		}
	}
}

// Logger returns a logger as [Logger] does whose warnings and errors do not wait.
func (l *Lines) Logger(level, format string) (*slog.Logger, error) {
	log, err := Logger(l, level, format)
	if err != nil {
		return nil, err
	}
	return slog.New(urgent{log.Handler(), l}), nil
}

// urgent flushes after a warning.
type urgent struct {
	slog.Handler
	lines *Lines
}

// Handle implements slog.Handler.
func (u urgent) Handle(ctx context.Context, r slog.Record) error {
	err := u.Handler.Handle(ctx, r)
	if r.Level >= slog.LevelWarn {
		_ = u.lines.Flush()
	}
	return err
}

// WithAttrs implements slog.Handler.
func (u urgent) WithAttrs(attrs []slog.Attr) slog.Handler {
	return urgent{u.Handler.WithAttrs(attrs), u.lines}
}

// WithGroup implements slog.Handler.
func (u urgent) WithGroup(name string) slog.Handler {
	return urgent{u.Handler.WithGroup(name), u.lines}
}
