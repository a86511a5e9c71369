package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/valyala/fasthttp"

	"modelgate.internal/dataplane/internal/call"
	"modelgate.internal/dataplane/internal/encode"
	"modelgate.internal/dataplane/internal/limit"
	"modelgate.internal/dataplane/internal/listener"
	"modelgate.internal/dataplane/internal/replay"
	contract "modelgate.internal/shared/api"
	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/obs"
	"modelgate.internal/shared/plane"
)

// Host is one of the two hosts.
type Host int

// The hosts.
const (
	MainHost   Host = iota // every operation, for API keys
	DarwinHost             // the agent and health, for Darwin tokens
)

// Options are what a Gateway works with.
type Options struct {
	// Authenticate returns the caller of a credential, or a 401 or 503.
	Authenticate func(ctx context.Context, text []byte, now time.Time) (*call.Caller, error)
	// Admit counts a call against its limits, or refuses it with a 429, or with a 503 if nobody can judge them. It may wait. The verdict
	// tells the state of the limits either way.
	Admit func(ctx context.Context, cells *limit.Cells, now time.Time) (limit.Verdict, error)
	// Peek tells how limits stand, and the refusal that a call would get, without counting one. It may wait.
	Peek func(ctx context.Context, cells *limit.Cells, now time.Time) ([]limit.Standing, error)
	// AdmitPeer counts a call without a key against the limits of the address it comes from, or refuses it.
	AdmitPeer func(peer netip.Addr, now time.Time) error
	// Record counts a call that ended.
	Record func(c *call.Call, status int, o *call.Outcome, now time.Time) error
	// Journal notes calls before an upstream is asked; nil notes none.
	Journal call.Journal
	// CanRecord returns why calls cannot be counted at the moment, or nil.
	CanRecord func() error
	// Current is the configuration in force.
	Current func() *plane.Current

	// Claim asks for the right to make a call under an Idempotency-Key. Without it such calls are 503.
	Claim func(ctx context.Context, who *plane.Principal, text, request []byte) (*replay.Claim, error)

	Operations []contract.Operation // of the contract; those of the other plane are ignored
	Routes     []Route              // the operations that are built

	GatewayURL, DarwinURL string        // where the hosts are, for callers at the wrong one
	CallTimeMax           time.Duration // total deadline of a call
	KeepAlive             time.Duration // silence of a stream that is waited for before a comment; 0 sends none
	Compress              bool          // whole answers, for clients that accept it
	Metrics               *Metrics
	Calls                 *obs.Canon   // one line a call; nil writes none
	Log                   *slog.Logger // everything else
	Now                   func() time.Time
}

// Gateway answers requests.
type Gateway struct {
	o          Options
	tables     [2]*table // by Host
	streams    *encode.Streams
	compressor *encode.Compressor // nil when answers are not compressed
}

// New returns a gateway. It is an error if the routes and the contract do not fit together.
func New(o Options) (*Gateway, error) {
	g := &Gateway{o: o, streams: encode.NewStreams()}
	for host := range g.tables {
		t, err := newTable(o.Operations, o.Routes, Host(host))
		if err != nil {
			return nil, err
		}
		g.tables[host] = t
	}
	if o.Compress {
		var err error
		if g.compressor, err = encode.NewCompressor(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Handler answers the requests of one host.
func (g *Gateway) Handler(host Host) fasthttp.RequestHandler {
	return func(ctx *fasthttp.RequestCtx) { g.serve(ctx, host) }
}

// serve is the way of a request. Whatever refuses it ends in finish, once; a stream ends there when it is over.
func (g *Gateway) serve(ctx *fasthttp.RequestCtx, host Host) {
	x := &exchange{g: g, ctx: ctx}
	defer x.recover()
	x.Started = ctx.Time()
	x.ID = requestID(ctx, x.Started)
	x.Config = g.o.Current()
	op, err := g.tables[host].find(ctx.Method(), ctx.Path())
	switch {
	case err != nil && asksForPage(ctx):
		x.preflight("")
		return
	case err != nil:
		x.refuse(g.elsewhere(host, err, ctx))
		return
	case op.preflight:
		x.preflight(op.allow)
		return
	}
	x.op, x.Endpoint, x.Param = op, op.ID, op.paramOf(ctx.Path())
	if op.handle == nil {
		x.refuse(errNotBuilt)
		return
	}
	if err := x.authenticate(host); err != nil {
		x.refuse(err)
		return
	}
	x.begin()
	if err := x.takeBody(); err != nil {
		x.fail(err)
		return
	}
	if op.counted && x.wantsDryRun() {
		x.dryRun()
		return
	}
	if op.once != nil && x.claim() {
		return
	}
	if err := x.admit(); err != nil {
		x.fail(err)
		return
	}
	if op.counted {
		x.Journal = g.o.Journal
	}
	answer, err := op.handle(&x.Call)
	switch {
	case err != nil:
		x.fail(err)
	case answer.Stream != nil:
		x.stream(answer.Stream)
	default:
		x.whole(&answer)
	}
}

// authenticate finds out who calls. Which host a credential is for is decided here, not by the credential's keeper.
func (x *exchange) authenticate(host Host) error {
	if !x.op.needsKey {
		return nil
	}
	text, err := credential(&x.ctx.Request.Header)
	if err != nil {
		return err
	}
	caller, err := x.g.o.Authenticate(context.Background(), text, x.Started)
	if err != nil {
		return err
	}
	x.Caller = caller
	switch {
	case host == MainHost && caller.Kind == key.Darwin:
		return apierr.New(apierr.Forbidden, fmt.Sprintf("Darwin tokens are accepted at %s only.", x.g.o.DarwinURL))
	case host == DarwinHost && caller.Kind != key.Darwin:
		return apierr.New(apierr.Forbidden, fmt.Sprintf("This host accepts Darwin tokens only. API keys are accepted at %s.", x.g.o.GatewayURL))
	}
	return nil
}

// admit counts the call against the caller's limits. A call that could not be recorded afterwards is not let in.
func (x *exchange) admit() (err error) {
	if x.op.open {
		return x.admitPeer()
	}
	if !x.op.counted {
		return nil
	}
	if err := x.g.o.CanRecord(); err != nil {
		return errNoMeter.Because(err)
	}
	x.verdict, err = x.g.o.Admit(x.Ctx, x.Caller.Cells, x.Started)
	x.judged = true
	x.g.o.Metrics.limited(err)
	x.g.o.Metrics.judged(&x.verdict, x.Caller, err)
	if err == nil {
		x.Tokens = x.verdict.Tokens(x.Ctx, x.Started)
	}
	return err
}

// admitPeer counts the call of somebody without a key against the limits of the address.
func (x *exchange) admitPeer() error {
	peer, _ := netip.AddrFromSlice(x.ctx.RemoteIP()) // the zero address stands for what is no IP connection
	err := x.g.o.AdmitPeer(peer, x.Started)
	if apierr.Ours(err) { // nothing was judged
		return err
	}
	x.g.o.Metrics.limited(err)
	return err
}

// begin gives the call its context. It is a child of the key's life, and the connection ends it for everything else.
func (x *exchange) begin() {
	parent := context.Background()
	if x.Caller != nil && x.Caller.Revoked != nil {
		parent = x.Caller.Revoked
	}
	x.Ctx, x.cancel = context.WithCancelCause(parent)
	x.Unstreamable = !x.ctx.Request.Header.IsHTTP11() // it could not tell the end of a chunked body from a broken connection
	if c := listener.Of(x.ctx); c != nil {
		x.conn = c
		c.Bind(x.cancel, x.Started.Add(x.g.o.CallTimeMax))
	}
}

// elsewhere improves on "not found" at the Darwin host.
func (g *Gateway) elsewhere(host Host, err error, ctx *fasthttp.RequestCtx) error {
	if host != DarwinHost || apierr.From(err).Kind != apierr.NotFound {
		return err
	}
	if _, elsewhere := g.tables[MainHost].find(ctx.Method(), ctx.Path()); elsewhere != nil {
		return err
	}
	return apierr.New(apierr.NotFound, fmt.Sprintf(
		"This host serves POST /api/v1/agent and GET /api/v1/health only. Everything else is at %s.", g.o.GatewayURL))
}

var (
	errNotBuilt = apierr.New(apierr.NotBuilt, "This operation is planned and not built yet.")
	errNoMeter  = apierr.New(apierr.Unavailable, "Usage cannot be recorded at the moment, so no calls are answered.").After(meterRetry)
	errRevoked  = apierr.New(apierr.Unauthorized, "The API key was revoked or has expired.")
	errDraining = apierr.New(apierr.Unavailable, "This node is shutting down. Try again.").After(drainingRetry)
)

// early returns how and why a call ended whose context ended before its answer was finished. The end is empty if that is not
// what happened.
func (g *Gateway) early(ctx context.Context) (end string, why error) {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, call.ErrClientGone):
		return plane.EndClientGone, call.ErrClientGone
	case errors.Is(cause, call.ErrRevoked):
		return plane.EndRevoked, errRevoked
	case errors.Is(cause, call.ErrDraining):
		return plane.EndDrained, errDraining
	case errors.Is(cause, call.ErrDeadline):
		return plane.EndDeadline, apierr.New(apierr.BadGateway, fmt.Sprintf("The answer took longer than %s.", g.o.CallTimeMax))
	}
	return "", nil
}
