package listener

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
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
	// UploadMax bounds the body of POST requests for a path that takes uploads, in bytes; it is 0 for others.
	UploadMax  func(path []byte) int64
	UploadTime time.Duration // for the whole body of an upload
	WriteTime  time.Duration // for one write to a client that does not read
	Log        *slog.Logger
}

// Server serves one host.
type Server struct {
	o    Options
	http *fasthttp.Server
	ln   net.Listener

	apart    sync.WaitGroup // connections that were taken over and not given back
	stopping atomic.Bool
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
		ReadTimeout:                   requestTime,
		IdleTimeout:                   idleTimeout,
		ReduceMemoryUsage:             true, // waiting streams and idle connections hold no read buffer
		CloseOnShutdown:               true,
		KeepHijackedConns:             true, // takeOver closes them, or has them served again
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

// headReceived bounds the body by path. The server reads small bodies; others, and those that the client waits to be asked for, are
// left on the connection: the server is told that there is none, and handle takes the connection over.
func (s *Server) headReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	length := h.ContentLength()
	if length == 0 || length == unstated {
		return fasthttp.RequestConfig{MaxRequestBodySize: 1}
	}
	expects := len(h.PeekCanonical(expectName)) > 0 // readHead says what
	if expects {
		h.Del("Expect")
	}
	if expects || length == chunked || length > bodyBytesFree {
		h.SetContentLength(0)
		return fasthttp.RequestConfig{MaxRequestBodySize: 1}
	}
	config := fasthttp.RequestConfig{MaxRequestBodySize: s.o.BodyMax(pathOf(h.RequestURI()))}
	if length > bodyBytesQuick {
		config.ReadTimeout = bodyTime
	}
	return config
}

// What fasthttp gives as the length of a body in chunks, and of none.
const (
	chunked  = -1
	unstated = -2
)

var expectName = []byte("Expect") // never written to

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
	c := Of(ctx)
	c.answered = true
	line := &ctx.Request.Header
	h, err := readHead(line.RawHeaders())
	if err == nil && !line.IsHTTP11() {
		err = checkVersion(line)
	}
	if err != nil {
		ctx.SetConnectionClose()
		s.o.Refuse(ctx, apierr.From(err))
		return
	}
	c.coded = h.coded
	if h.closes {
		ctx.SetConnectionClose()
	}
	if line.ContentLength() <= 0 && (h.chunked || len(h.length) > 0) {
		if length := h.bodyLength(); length != 0 {
			s.takeOver(ctx, c, length, h.expects)
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
	errMalformed = apierr.New(apierr.BadRequest, "The request is not valid HTTP/1.1.")
)

// unparsed answers what did not become a request. The server closes the connection after it.
func (s *Server) unparsed(ctx *fasthttp.RequestCtx, cause error) {
	c := Of(ctx)
	c.answered = true
	c.linger.Store(true)
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
	case errors.Is(cause, fasthttp.ErrBodyTooLarge):
		answer = tooLarge(int64(s.o.BodyMax(pathOf(ctx.Request.Header.RequestURI()))))
	default:
		answer = errMalformed
	}
	s.o.Refuse(ctx, answer.Because(cause))
}

// quiet is where fasthttp logs: connections that broke, of which the canonical lines tell already.
type quiet struct{ log *slog.Logger }

// Printf implements fasthttp.Logger.
func (q quiet) Printf(format string, args ...any) {
	if q.log.Enabled(context.Background(), slog.LevelDebug) {
		q.log.Debug("connection ended", slog.String("why", fmt.Sprintf(format, args...)))
	}
}
