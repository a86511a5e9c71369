package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"modelgate.internal/shared/child"
	"modelgate.internal/shared/devdb"
)

// Options says what to run. The zero value is what `make run` uses, except for Fsync.
type Options struct {
	Dir      string // where everything is kept; .modelgate when empty
	Bin      string // directory of the programs; bin when empty
	PortBase int    // first port; 8080 when 0
	Nodes    int    // data-plane nodes; 1 when 0
	Fsync    bool   // keep the database's data for good

	ChatURL   string // base URL of an OpenAI-compatible server; the simulator when empty
	ChatKey   string // its key, if it wants one
	ChatModel string // what it calls the model
	ChatTakes string // its parameters, as plane.UpstreamSpec has them

	OneAttempt bool // no retries and no circuit breaker, for suites that count what reaches the model server

	QuotaVia func(address string) string // what other nodes reach a node's rate-limit ledger by, for tests that cut the network; itself when nil

	DatabaseURL string    // a database to use; one of our own when empty
	LogLevel    string    // of both planes: debug, info, warn, error; info when empty
	Env         []string  // added to our environment for every process, "NAME=value"
	Out         io.Writer // progress, crashes; nothing when nil
}

// Stack is a running system.
type Stack struct {
	o    Options
	out  *voice
	at   layout
	lock *os.File
	db   *devdb.DB
	info Info

	parts  []*part // in the order of their start
	ctx    context.Context
	cancel context.CancelFunc
	logs   sync.WaitGroup
	stop   sync.Once
}

// Start starts everything and returns when a call through the gateway would be answered. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Stack, error) {
	s := &Stack{o: o}
	if err := s.begin(); err != nil {
		return nil, err
	}
	s.ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if err := s.start(ctx); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// begin checks the options, makes the directories and takes the lock.
func (s *Stack) begin() error {
	o := &s.o
	for _, d := range []struct {
		field *string
		value string
	}{{&o.Dir, ".modelgate"}, {&o.Bin, "bin"}, {&o.LogLevel, "info"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}
	if o.PortBase == 0 {
		o.PortBase = portBaseDefault
	}
	if o.Nodes == 0 {
		o.Nodes = 1
	}
	if o.Nodes < 1 || o.Nodes > nodesMax {
		return fmt.Errorf("%d nodes: 1 to %d can be run", o.Nodes, nodesMax)
	}
	if o.PortBase < 1 || o.PortBase+portsPerNode*o.Nodes > portMax {
		return fmt.Errorf("port base %d (MODELGATE_PORT_BASE) does not leave room for %d ports", o.PortBase, portsPerNode*o.Nodes)
	}
	if o.Out == nil {
		o.Out = io.Discard
	}
	s.out = &voice{to: o.Out}

	var err error
	if s.at, err = lay(o.Dir, o.Bin); err != nil {
		return err
	}
	if s.lock, err = child.Lock(filepath.Join(s.at.run, "lock")); err != nil {
		var held *child.HeldError
		if errors.As(err, &held) {
			return fmt.Errorf("the stack in %s runs already, as process %s: stop that one, or set MODELGATE_DIR and MODELGATE_PORT_BASE to run a second",
				s.at.dir, held.Pid)
		}
		return err
	}
	return nil
}

// start is the way from nothing to ready, in order.
func (s *Stack) start(ctx context.Context) error {
	if err := s.at.clearPids(); err != nil {
		return err
	}
	if err := s.at.programs(s.needed()); err != nil {
		return err
	}
	if err := s.checkPorts(ctx); err != nil {
		return err
	}
	if err := s.startDatabase(ctx); err != nil {
		return err
	}
	if err := s.makeSecrets(ctx); err != nil {
		return err
	}
	if err := s.writeConfigs(); err != nil {
		return err
	}
	s.out.say("preparing the database (%s)", s.db.Kind())
	if err := s.tool(ctx, "migrate", "controlplane", "-config", s.at.config("controlplane"), "migrate"); err != nil {
		return err
	}
	programs, nodes := s.programs()
	for _, p := range programs {
		if err := s.startPart(ctx, p); err != nil {
			return err
		}
	}
	if err := s.startNodes(ctx, nodes); err != nil {
		return err
	}
	s.logs.Go(func() { s.boundLogs(s.ctx) })
	demo, err := s.demo(ctx)
	if err != nil {
		return err
	}
	s.info = s.describe(demo)
	return writeJSON(filepath.Join(s.at.run, "stack.json"), s.info)
}

// needed lists the programs that have to be built.
func (s *Stack) needed() []string {
	names := []string{"controlplane", "dataplane", "mailbox"}
	if !s.paid() {
		names = append(names, "stripesim")
	}
	if s.simulated() {
		names = append(names, "mockmodel")
	}
	return names
}

func (s *Stack) simulated() bool { return s.o.ChatURL == "" }

// startDatabase starts the database and supervises it like every other process.
func (s *Stack) startDatabase(ctx context.Context) error {
	s.out.say("starting the database")
	getenv := func(name string) string {
		if name == "DATABASE_URL" && s.o.DatabaseURL != "" {
			return s.o.DatabaseURL
		}
		return os.Getenv(name)
	}
	db, err := devdb.Start(ctx, devdb.Options{
		Dir: s.at.database, Fsync: s.o.Fsync, LogFile: s.at.log("database"), Getenv: getenv,
		Log: slog.New(slog.NewTextHandler(s.out, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	s.db = db
	if db.Given() {
		return nil // not ours to supervise
	}
	p := &part{name: "database", at: s.at, out: s.out}
	p.launch = func(ctx context.Context) (*child.Process, error) {
		ctx, cancel := context.WithTimeout(ctx, databaseWait)
		defer cancel()
		err := db.Restart(ctx)
		return db.Process(), err
	}
	p.halt = func(*child.Process) { db.Halt() }
	s.parts = append(s.parts, p)
	if err := p.start(ctx); err != nil {
		return err
	}
	p.supervise(s.ctx) //nolint:contextcheck // ctx is that of the start
	return db.CreateDatabase(ctx, databaseName)
}

// databaseURL is the address of the control plane's database.
func (s *Stack) databaseURL() string {
	if s.db.Given() {
		return s.db.URL("")
	}
	return s.db.URL(databaseName)
}

// databaseName is the control plane's database on a server of our own.
const databaseName = "modelgate"

// startPart starts one process and waits until it is ready. One that ends before that is an error, not a reason to try again.
func (s *Stack) startPart(ctx context.Context, p *part) error {
	s.out.say("starting %s", p.name)
	s.parts = append(s.parts, p)
	if err := p.start(ctx); err != nil {
		return err
	}
	return s.awaitPart(ctx, p)
}

// awaitPart waits until a process that was started is ready, and supervises it from then on.
func (s *Stack) awaitPart(ctx context.Context, p *part) error {
	if err := p.awaitReady(ctx); err != nil {
		return err
	}
	p.supervise(s.ctx) //nolint:contextcheck // ctx is that of the start
	return nil
}

// Info is where everything is: the content of run/stack.json.
func (s *Stack) Info() Info { return s.info }

// Stop stops everything in the reverse order of its start, each within its bound, and returns when no process is left.
func (s *Stack) Stop() {
	s.stop.Do(func() {
		s.cancel()
		for _, p := range slices.Backward(s.parts) {
			p.finish()
		}
		s.logs.Wait()
		if s.db != nil {
			s.db.Stop()
		}
		_ = os.Remove(filepath.Join(s.at.run, "stack.json"))
		_ = s.lock.Close()
	})
}

// Pid is the process of a part ("controlplane", "dataplane-1", "database", "mailbox", "stripesim", "mockmodel"), or 0 while it is down.
func (s *Stack) Pid(name string) int {
	if p := s.part(name); p != nil {
		return p.pid()
	}
	return 0
}

// Halt stops one part politely and keeps it stopped until Resume.
func (s *Stack) Halt(name string) error {
	p := s.part(name)
	if p == nil {
		return unknownPart(name)
	}
	p.stay(false)
	return nil
}

// Resume starts a halted part again and waits until it is ready.
func (s *Stack) Resume(ctx context.Context, name string) error {
	p := s.part(name)
	if p == nil {
		return unknownPart(name)
	}
	p.stay(true)
	return p.awaitReady(ctx)
}

// AwaitReady waits until a part that runs, or is about to be started again, is ready.
func (s *Stack) AwaitReady(ctx context.Context, name string) error {
	p := s.part(name)
	if p == nil {
		return unknownPart(name)
	}
	return p.awaitReady(ctx)
}

func (s *Stack) part(name string) *part {
	i := slices.IndexFunc(s.parts, func(p *part) bool { return p.name == name })
	if i < 0 {
		return nil
	}
	return s.parts[i]
}

func unknownPart(name string) error { return fmt.Errorf("the stack has no part %q", name) }

// voice writes whole lines from any number of goroutines.
type voice struct {
	mu sync.Mutex
	to io.Writer
}

func (v *voice) Write(text []byte) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.to.Write(text)
}

func (v *voice) say(format string, args ...any) {
	_, _ = fmt.Fprintln(v, strings.TrimRight(fmt.Sprintf(format, args...), "\n"))
}
