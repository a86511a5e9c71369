package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"modelgate.internal/bench/internal/mockmodel"
	"modelgate.internal/bench/internal/mockmodel/fast"
	"modelgate.internal/bench/internal/mockmodel/fault"
)

const usage = `mockmodel is an upstream simulator: an OpenAI-compatible chat server without a model.

Point any OpenAI client or gateway at http://ADDRESS/v1. Faults are chosen per request, by the model's name
("mock:cut-after-3"), by a token in the last user message ("[[scenario:cut-after n=3]]") or by a script file with
lines "MODEL SCENARIO [KEY=VALUE ...]". What was received is shown by GET /_mock/requests.

Flags:
`

// options are the command's flags.
type options struct {
	listen, models, script string
	scenarios, isFast      bool
	cfg                    mockmodel.Config
	fast                   fast.Config
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main without the process: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	opt, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // the flag package has said why
	case opt.scenarios:
		fault.Describe(stdout)
		return 0
	}
	if err := serve(ctx, opt, stderr); err != nil {
		fmt.Fprintln(stderr, "mockmodel:", err)
		return 1
	}
	return 0
}

func parse(args []string, stderr io.Writer) (*options, error) {
	opt := &options{}
	f := flag.NewFlagSet("mockmodel", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	f.StringVar(&opt.listen, "listen", "127.0.0.1:8086", "`address` to listen on; port 0 takes a free one")
	f.StringVar(&opt.models, "model", "mock", "`names` of the models served, separated by commas; each also as NAME:SCENARIO")
	f.StringVar(&opt.cfg.APIKey, "api-key", os.Getenv("MOCKMODEL_API_KEY"), "`key` to ask for as a bearer token; none if empty (environment MOCKMODEL_API_KEY keeps it out of the process list)")
	f.DurationVar(&opt.cfg.TokenDelay, "token-delay", 20*time.Millisecond, "time between two tokens of a stream")
	f.DurationVar(&opt.cfg.FirstTokenDelay, "first-token-delay", 0, "time before the head of an answer; in fast mode before the first token")
	f.StringVar(&opt.script, "script", "", "`file` with lines MODEL SCENARIO [KEY=VALUE ...]; the nth request for a model gets its nth line, the last line stays")
	f.IntVar(&opt.cfg.Keep, "keep", mockmodel.DefaultKeep, "`number` of requests that /_mock/requests remembers")
	f.Int64Var(&opt.cfg.MaxBodyBytes, "max-body", mockmodel.DefaultMaxBodyBytes, "largest request body in `bytes`")
	f.BoolVar(&opt.scenarios, "scenarios", false, "print the catalogue of faults and exit")
	f.BoolVar(&opt.isFast, "fast", false, "answer from prebuilt bytes at minimum cost, for load benchmarks: no checks, no faults, no journal")
	f.IntVar(&opt.fast.Events, "fast-events", 100, "fast mode: `number` of content events of a stream")
	f.DurationVar(&opt.fast.Interval, "fast-interval", 50*time.Millisecond, "fast mode: time between writes; 0 writes as fast as the caller reads")
	f.IntVar(&opt.fast.Batch, "fast-batch", 1, "fast mode: `number` of events in each write")
	f.IntVar(&opt.fast.EventBytes, "fast-event-bytes", 250, "fast mode: size of an event in `bytes`, its framing as SSE included")
	f.IntVar(&opt.fast.UnaryBytes, "fast-unary-bytes", 1024, "fast mode: size of a unary body in `bytes`")
	f.BoolVar(&opt.fast.Stamp, "fast-stamp", false, "fast mode: begin the content of each event with the Unix time in nanoseconds (19 digits)")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		fmt.Fprintf(stderr, "mockmodel: unexpected argument %q\n", f.Arg(0))
		return nil, errors.New("unexpected argument")
	}
	return opt, nil
}

func serve(ctx context.Context, opt *options, stderr io.Writer) error {
	cfg := opt.cfg
	cfg.Models = strings.Split(opt.models, ",")
	cfg.Log = slog.New(slog.NewTextHandler(stderr, nil))
	if opt.script != "" {
		text, err := os.ReadFile(opt.script)
		if err != nil {
			return err
		}
		cfg.Script = string(text)
	}
	if opt.isFast {
		opt.fast.FirstDelay = cfg.FirstTokenDelay
		cfg.Fast = &opt.fast
	}
	s, err := mockmodel.New(cfg)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", opt.listen)
	if err != nil {
		return err
	}
	cfg.Log.Info("simulator ready, this is not a model",
		slog.String("base_url", "http://"+l.Addr().String()+"/v1"), slog.Any("models", cfg.Models), slog.Bool("fast", opt.isFast))
	return s.Serve(ctx, l)
}
