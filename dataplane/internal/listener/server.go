package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/shared/apierr"
)

// Options configure a Server.
type Options struct {
	Name     string // "gateway", "darwin"; for the log
	Socket   net.Listener
	Watch    *Watch
	Budget   *Budget
	ConnsMax int // over all servers that share the Watch
	// Certificate has the server speak TLS, and nothing else; nil for plain connections.
	Certificate *Certificate
	// Handler answers a request. It may keep the context until the body stream it sets is closed, no longer.
	Handler fasthttp.RequestHandler
	// Refuse answers with an error, also to what could not be parsed; the connection is closed afterwards.
	Refuse func(ctx *fasthttp.RequestCtx, err *apierr.Error)
	// BodyMax bounds the body of requests for a path, in bytes.
	BodyMax func(path []byte) int
	// UploadMax bounds the body of POST requests for a path that takes uploads, in bytes; it is 0 for others. Bodies for it
	// that are not small are not read before the handler runs, see Conn.Upload.
	UploadMax  func(path []byte) int64
	UploadTime time.Duration // for the whole body of an upload
	WriteTime  time.Duration // for one write to a client that does not read
	Log        *slog.Logger
}

// Server serves one host.
type Server struct {
	o       Options
	http    *fasthttp.Server
	ln      net.Listener
	uploads sync.WaitGroup // connections that were taken over
}

// New returns a server that does not serve yet.
func New(o Options) *Server {
	s := &Server{o: o}
	a := &acceptor{
		Listener: o.Socket, watch: o.Watch, budget: o.Budget, connsMax: o.ConnsMax, writeTime: o.WriteTime, log: o.Log,
	}
	if o.Certificate != nil {
		a.tls = o.Certificate.config()
	}
	s.ln = a
	s.http = &fasthttp.Server{
		Handler:                       s.handle,
		ErrorHandler:                  s.unparsed,
		HeaderReceived:                s.headReceived,
		Concurrency:                   o.ConnsMax + 1,
		ReadBufferSize:                headBytesMax,
		WriteBufferSize:               writeBufferBytes,
		ReadTimeout:                   readTimeout,
		IdleTimeout:                   idleTimeout,
		ReduceMemoryUsage:             true, // waiting streams and idle connections hold no read buffer
		CloseOnShutdown:               true,
		NoDefaultServerHeader:         true,
		NoDefaultContentType:          true,
		SecureErrorLogMessage:         true,
		DisablePreParseMultipartForm:  true,
		DisableHeaderNamesNormalizing: false,
		Logger:                        quiet{o.Log},
	}
	return s
}

// Address is where the server can be reached.
func (s *Server) Address() net.Addr { return s.o.Socket.Addr() }

// Serve accepts connections until Drain closes the socket.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.ln); err != nil {
		return fmt.Errorf("serve the %s host: %w", s.o.Name, err)
	}
	return nil
}

// headReceived sets the bound of the body by path. Without room for the body the bound becomes 1, so that it is not read. The
// body of an upload is left on the connection: the server is told that there is none, and handle takes the connection over.
func (s *Server) headReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	if s.isUpload(h, int64(h.ContentLength())) {
		h.SetContentLength(0)
		h.Del("Expect")
		return fasthttp.RequestConfig{MaxRequestBodySize: 1}
	}
	limit := s.o.BodyMax(pathOf(h.RequestURI()))
	if !s.o.Budget.reserve(h, int64(limit)) {
		limit = 1
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: limit}
}

func pathOf(uri []byte) []byte {
	for i, c := range uri {
		if c == '?' || c == '#' {
			return uri[:i]
		}
	}
	return uri
}

func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer s.recoverRequest(ctx)
	h := &ctx.Request.Header
	c := Of(ctx)
	if c != nil {
		c.answered = true
		if n := h.ContentLength(); n == chunked || n > bodyBytesFree {
			c.held.Store(max(s.o.Budget.take(h), 0))
		}
	}
	if err := checkFraming(h.RawHeaders()); err != nil {
		ctx.SetConnectionClose()
		s.o.Refuse(ctx, apierr.From(err))
		return
	}
	if c != nil && h.ContentLength() == 0 && h.IsPost() {
		if f := framingOf(h.RawHeaders()); s.isUpload(h, f.length) {
			s.takeOver(ctx, c, f)
			return
		}
	}
	s.o.Handler(ctx)
}

// recoverRequest keeps the process alive: fasthttp lets a handler's panic through.
func (s *Server) recoverRequest(ctx *fasthttp.RequestCtx) {
	if p := recover(); p != nil {
		s.o.Log.Error("handler panicked", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
		ctx.Response.Reset()
		ctx.SetConnectionClose()
		s.o.Refuse(ctx, apierr.From(fmt.Errorf("panic: %v", p)))
	}
}

var (
	errTooSlow   = apierr.New(apierr.Timeout, "The request did not arrive in time.")
	errHead      = apierr.New(apierr.HeaderTooLarge, fmt.Sprintf("The request line and headers are larger than %d bytes.", headBytesMax))
	errNoRoom    = apierr.New(apierr.Unavailable, "Too many large requests at the moment. Try again.").After(overloadRetry)
	errMalformed = apierr.New(apierr.BadRequest, "The request is not valid HTTP/1.1.")
)

// unparsed answers what did not become a request. The server closes the connection after it.
func (s *Server) unparsed(ctx *fasthttp.RequestCtx, cause error) {
	noRoom := s.o.Budget.take(&ctx.Request.Header)
	c := Of(ctx)
	if c != nil {
		c.answered = true
		c.held.Store(max(noRoom, 0))
		c.linger.Store(true)
	}
	var small *fasthttp.ErrSmallBuffer
	var slow interface {
		error
		Timeout() bool
	}
	var answer *apierr.Error
	switch {
	case errors.As(cause, &slow) && slow.Timeout():
		answer = errTooSlow
	case errors.As(cause, &small):
		answer = errHead
	case errors.Is(cause, fasthttp.ErrBodyTooLarge) && noRoom == refused:
		answer = errNoRoom
	case errors.Is(cause, fasthttp.ErrBodyTooLarge):
		answer = s.tooLarge(ctx.Request.Header.RequestURI())
	default:
		answer = errMalformed
	}
	s.o.Refuse(ctx, answer.Because(cause))
}

// tooLarge names the bound, if it is still known for which path: the head of a chunked request is forgotten by now.
func (s *Server) tooLarge(uri []byte) *apierr.Error {
	if len(uri) <= 1 {
		return apierr.New(apierr.TooLarge, "The body is larger than this path accepts.")
	}
	return tooLarge(int64(s.o.BodyMax(pathOf(uri))))
}

// quiet is where fasthttp logs: connections that broke, of which the canonical lines tell already.
type quiet struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (q quiet) Printf(format string, args ...any) {
	if q.log.Enabled(context.Background(), slog.LevelDebug) {
		q.log.Debug("connection ended", slog.String("why", fmt.Sprintf(format, args...)))
	}
}
