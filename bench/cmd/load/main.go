package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/bench/internal/load"
	"modelgate.internal/bench/internal/proc"
	"modelgate.internal/shared/conf"
	"modelgate.internal/shared/run"
)

const usage = `load makes HTTP load on a gateway or proxy of this machine. It refuses targets other than loopback.

  load -mode unary  -url URL -bearer env:KEY -connections 64 -duration 5s [-rate 2000]
  load -mode stream -url URL -bearer env:KEY -stream -connections 1000 -open-over 1s -duration 3s -limit 20s [-events 80]
  load -mode leave  -url URL -bearer env:KEY -stream -connections 200 [-after-events 3]

Flags:
`

const exitWrong = 3

// options are the command's flags.
type options struct {
	mode, url, bearer, body  string
	headers                  list
	pids                     list
	stream, json             bool
	connections              int
	rate                     float64
	requests, events, after  int64
	minBytes                 int64
	warmUp, duration, settle time.Duration
	openOver, wait, limit    time.Duration
}

// list is a flag that may be given more than once.
type list []string

func (l *list) String() string     { return strings.Join(*l, ", ") }
func (l *list) Set(v string) error { *l = append(*l, v); return nil }

func main() {
	code := 0
	failed := run.Main(os.Stderr, "load", func(ctx context.Context) (err error) {
		code, err = command(ctx, os.Args[1:], os.Stdout, os.Stderr)
		return err
	})
	os.Exit(max(code, failed))
}

// command is main without the process.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) (code int, err error) {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0, nil
	case err != nil:
		return 2, nil //nolint:nilerr // the flag package has said why
	}
	target, watch, err := o.prepare()
	if err != nil {
		return 1, err
	}
	result, wrong, err := o.run(ctx, target, watch)
	if err != nil {
		return 1, err
	}
	if o.json {
		enc := json.NewEncoder(stdout)
		enc.SetIndent("", "  ")
		err = enc.Encode(result)
	} else {
		result.WriteText(stdout)
	}
	if wrong > 0 {
		code = exitWrong
	}
	return code, err
}

func parse(args []string, stderr io.Writer) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("load", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		fmt.Fprint(stderr, usage)
		f.PrintDefaults()
	}
	f.StringVar(&o.mode, "mode", "unary", "unary, stream or leave")
	f.StringVar(&o.url, "url", "http://127.0.0.1:8081/api/v1/agent", "`URL` to post to, on loopback")
	f.StringVar(&o.bearer, "bearer", "", "`key` for the Authorization header, as file:PATH, env:NAME or itself")
	f.Var(&o.headers, "header", "`line` to add to the head, as NAME: VALUE; may be repeated")
	f.StringVar(&o.body, "body", "", "JSON `text` to send; a short prompt for /api/v1/agent if empty")
	f.BoolVar(&o.stream, "stream", false, "ask for a stream in the default body")
	f.IntVar(&o.connections, "connections", 64, "`number` of connections, streams or clients")
	f.Float64Var(&o.rate, "rate", 0, "unary: requests due per second, over all connections; 0 is the closed loop")
	f.Int64Var(&o.requests, "requests", 0, "unary: `number` of requests at most; 0 leaves it to the time")
	f.Int64Var(&o.minBytes, "min-bytes", 1, "unary: a body of fewer `bytes` counts as truncated")
	f.DurationVar(&o.warmUp, "warm-up", time.Second, "unary: time before the measurement")
	f.DurationVar(&o.duration, "duration", 5*time.Second, "time measured; 0 with -mode stream measures the whole run")
	f.Int64Var(&o.events, "events", 0, "stream: `number` of events that each stream has to bring; 0 takes any")
	f.DurationVar(&o.openOver, "open-over", time.Second, "stream, leave: time within which all are opened")
	f.DurationVar(&o.settle, "settle", 500*time.Millisecond, "stream: time between the last opening and the measurement")
	f.DurationVar(&o.limit, "limit", time.Minute, "stream, leave: time after which the run ends")
	f.Int64Var(&o.after, "after-events", 0, "leave: `number` of events each client sees before all leave; 0 leaves in silence")
	f.DurationVar(&o.wait, "wait", 500*time.Millisecond, "leave: time between the last client's readiness and the departure")
	f.Var(&o.pids, "pid", "NAME=`PID` of a process to watch, with its children; may be repeated")
	f.BoolVar(&o.json, "json", false, "print JSON")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	known := o.mode == "unary" || o.mode == "stream" || o.mode == "leave"
	if f.NArg() > 0 || !known {
		fmt.Fprintf(stderr, "load: mode %q, arguments %q: unary, stream or leave without arguments is possible\n", o.mode, f.Args())
		return nil, errors.New("wrong usage")
	}
	return o, nil
}

// prepare turns the flags into a target and processes.
func (o *options) prepare() (load.Target, []proc.Watched, error) {
	if o.bearer != "" {
		key, err := conf.NewSecret(o.bearer).Value()
		if err != nil {
			return load.Target{}, nil, err
		}
		o.headers = append(o.headers, "Authorization: Bearer "+key)
	}
	if o.body == "" {
		o.body = `{"prompt":"Say something.","stream":` + strconv.FormatBool(o.stream) + `}`
	}
	var watch []proc.Watched
	for _, p := range o.pids {
		name, number, _ := strings.Cut(p, "=")
		pid, err := strconv.Atoi(number)
		if err != nil || name == "" || pid <= 0 {
			return load.Target{}, nil, fmt.Errorf("-pid %s is not of the form NAME=PID", p)
		}
		watch = append(watch, proc.Watched{Name: name, Pid: pid})
	}
	target, err := load.NewTarget(o.url, o.headers, []byte(o.body))
	return target, watch, err
}

// run makes the run and says how much of it was wrong.
func (o *options) run(ctx context.Context, target load.Target, watch []proc.Watched) (interface{ WriteText(io.Writer) }, int64, error) {
	switch o.mode {
	case "unary":
		r, err := load.Unary{
			Target: target, Connections: o.connections, Rate: o.rate, Requests: o.requests,
			WarmUp: o.warmUp, Duration: o.duration, MinBytes: o.minBytes, Watch: watch,
		}.Run(ctx)
		return r, r.Wrong(), err
	case "stream":
		r, err := load.Streams{
			Target: target, Count: o.connections, OpenOver: o.openOver, Events: o.events,
			Settle: o.settle, Window: o.duration, Limit: o.limit, Watch: watch,
		}.Run(ctx)
		return r, r.Wrong(), err
	default:
		r, err := load.Leave{
			Target: target, Count: o.connections, OpenOver: o.openOver, AfterEvents: o.after, Wait: o.wait, Limit: o.limit,
		}.Run(ctx, nil)
		return r, int64(r.Clients) - r.Ready + r.Early, err
	}
}
