package upstream

import (
	"errors"
	"time"

	"modelgate.internal/dataplane/internal/upstream/transport"
	"modelgate.internal/shared/plane"
)

// server is what the dialects share: where an upstream is, how long it may take, and who hears how its calls went.
type server struct {
	id, model  string
	chat       bool // speaks the dialect chat
	native     bool // speaks the dialect native
	base       base
	credential string
	timeouts   Timeouts
	keepAlive  time.Duration
	now        func() time.Time
	observer   Observer
	host       *transport.Host
}

func newServer(spec plane.UpstreamSpec, b base, credential string, o Options) server {
	return server{
		id: spec.ID, model: spec.Model, chat: spec.Dialect == plane.DialectChat, native: spec.Dialect == plane.DialectNative, base: b, credential: credential,
		timeouts: o.Timeouts.withDefaults(), keepAlive: o.KeepAlive, now: o.Now, observer: o.Observer,
		host: newHost(b, o),
	}
}

// Close closes the idle connections, and those of running calls as they end. Calls that still come are served.
func (s *server) Close() { s.host.Close() }

// Connections returns the number of idle and of busy connections.
func (s *server) Connections() (idle, busy int) { return s.host.Counts() }

// begin counts a call in and returns when it began.
func (s *server) begin() time.Time {
	if s.observer.InFlight != nil {
		s.observer.InFlight(s.id, 1)
	}
	return s.now()
}

// end counts a call out.
func (s *server) end(began time.Time, result string) {
	if s.observer.InFlight != nil {
		s.observer.InFlight(s.id, -1)
	}
	if s.observer.Ended != nil {
		s.observer.Ended(s.id, result, s.now().Sub(began))
	}
}

// lateWhole gives a timeout on the way of a whole answer its name.
func (s *server) lateWhole(err error, limit time.Duration) error {
	if e, ok := errors.AsType[*transport.Error](err); ok && (e.Phase == transport.Await || e.Phase == transport.Cut) && e.Timeout() {
		return s.late("did not finish its answer", limit)
	}
	return err
}

// unreadable says why the body of a good status cannot be read, or nil. The empty media type stands for any.
func (s *server) unreadable(conn *transport.Conn, mediaType string) *fault {
	if conn.Head.Encoded {
		return s.bad(ResultInvalid, "sent a compressed answer that was not asked for. This is for the gateway's operator to fix.")
	}
	if mediaType != "" && !conn.Head.Is(mediaType) {
		return s.bad(ResultInvalid, "answered with another content type than %s. This is for the gateway's operator to fix.", mediaType)
	}
	return nil
}
