package listener

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Watch knows all open connections of the node's servers. It notices clients that leave, ends calls whose total deadline
// passed, and ends all calls when the node gives up waiting for them.
//
// The server reads a connection only between requests, so nothing else would see a client leave while an upstream thinks. A
// second epoll set next to the runtime's reports the peer's FIN or RST once (EPOLLRDHUP, edge-triggered). The set itself sits
// in the runtime's poller, so waiting for it costs no thread.
type Watch struct {
	epoll *os.File
	raw   syscall.RawConn

	buffers buffers // of the connections, for what they receive

	mu    sync.Mutex
	conns map[uint64]*Conn
	next  uint64
}

// NewWatch opens the epoll set.
func NewWatch() (*Watch, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("open epoll set: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil { // or the runtime would not poll it
		_ = unix.Close(fd)
		return nil, fmt.Errorf("open epoll set: %w", err)
	}
	w := &Watch{epoll: os.NewFile(uintptr(fd), "epoll"), conns: map[uint64]*Conn{}}
	if w.raw, err = w.epoll.SyscallConn(); err != nil {
		return nil, fmt.Errorf("poll epoll set: %w", err)
	}
	return w, nil
}

// Run watches until ctx ends.
func (w *Watch) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = w.epoll.Close() })
	defer stop()
	var deadlines sync.WaitGroup
	defer deadlines.Wait()
	deadlines.Go(func() { w.runDeadlines(ctx) })
	var events [eventsPerWait]unix.EpollEvent
	for {
		var n int
		err := w.raw.Read(func(fd uintptr) bool {
			var err error
			n, err = unix.EpollWait(int(fd), events[:], 0)
			return n > 0 || (err != nil && !errors.Is(err, unix.EINTR))
		})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil || n < 0 {
			return fmt.Errorf("wait for departures: %w", err)
		}
		for _, e := range events[:n] {
			if c := w.find(idOf(&e)); c != nil {
				c.left()
			}
		}
	}
}

func (w *Watch) runDeadlines(ctx context.Context) {
	tick := time.NewTicker(deadlineEvery)
	defer tick.Stop()
	var conns []*Conn
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			conns = w.all(conns[:0])
			for _, c := range conns {
				c.expire(now)
			}
			clear(conns)
		}
	}
}

// add makes a connection known and watched. Connections without a descriptor are known only.
func (w *Watch) add(c *Conn) error {
	w.mu.Lock()
	w.next++
	c.id, c.watch = w.next, w
	w.conns[c.id] = c
	w.mu.Unlock()
	socket := c.Conn
	if c.raw != nil {
		socket = c.raw
	}
	sc, ok := socket.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return fmt.Errorf("watch connection: %w", err)
	}
	event := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(c.id), Pad: int32(c.id >> 32)}
	var inner, ctl error
	outer := w.raw.Control(func(epoll uintptr) {
		inner = raw.Control(func(fd uintptr) {
			ctl = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, int(fd), &event)
		})
	})
	if err := cmp.Or(outer, inner, ctl); err != nil {
		return fmt.Errorf("watch connection: %w", err)
	}
	return nil
}

func idOf(e *unix.EpollEvent) uint64 {
	return uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32
}

// remove forgets a connection. Closing it takes it out of the epoll set.
func (w *Watch) remove(c *Conn) {
	w.mu.Lock()
	delete(w.conns, c.id)
	w.mu.Unlock()
}

func (w *Watch) find(id uint64) *Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.conns[id]
}

// all appends the open connections to dst.
func (w *Watch) all(dst []*Conn) []*Conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		dst = append(dst, c)
	}
	return dst
}

// Open returns the number of open connections.
func (w *Watch) Open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// endAll ends all calls with call.ErrDraining.
func (w *Watch) endAll() {
	for _, c := range w.all(nil) {
		c.drain()
	}
}

// closeAll closes all connections.
func (w *Watch) closeAll() {
	for _, c := range w.all(nil) {
		c.cut()
	}
}
