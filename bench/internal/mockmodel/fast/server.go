package fast

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
)

// Counters is what the server has done so far.
type Counters struct {
	// Open is the number of requests being answered now.
	Open int64 `json:"open"`
	// Requests, Done and ClientGone are totals; a request still open is in the first only.
	Requests   int64 `json:"requests"`
	Done       int64 `json:"done"`
	ClientGone int64 `json:"client_gone"`
}

// Server answers connections. Make one with New.
type Server struct {
	cfg      Config
	tpl      *template
	fallback http.Handler

	requests, done, gone, open atomic.Int64

	mu    sync.Mutex
	conns map[net.Conn]struct{}
	wg    sync.WaitGroup
}

// New prepares the answers. The fallback serves every path but chat completions.
func New(cfg Config, fallback http.Handler) *Server {
	cfg.Batch = max(cfg.Batch, 1)
	return &Server{cfg: cfg, tpl: build(&cfg), fallback: fallback, conns: map[net.Conn]struct{}{}}
}

// Counters reads the counters, each on its own: they may be one request apart.
func (s *Server) Counters() Counters {
	return Counters{Open: s.open.Load(), Requests: s.requests.Load(), Done: s.done.Load(), ClientGone: s.gone.Load()}
}

// Serve accepts connections until the context ends, then closes them all and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		_ = l.Close() // ends Accept
		s.closeAll()
	})
	defer stop()
	defer s.wg.Wait()
	for {
		nc, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = nc.Close() // came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			s.closeAll()
			return err
		case err != nil:
			continue // one connection failed, for instance for want of descriptors
		}
		s.wg.Go(func() { s.handle(ctx, nc) })
	}
}

func (s *Server) handle(ctx context.Context, nc net.Conn) {
	defer func() { _ = nc.Close() }()
	s.mu.Lock()
	s.conns[nc] = struct{}{}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
	}()
	if ctx.Err() != nil {
		return // closeAll may have run before this connection was known
	}
	newConn(s, nc).serve(ctx)
}

func (s *Server) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for nc := range s.conns {
		_ = nc.Close()
	}
}
