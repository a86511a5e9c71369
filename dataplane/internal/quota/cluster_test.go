package quota_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/dataplane/internal/quota"
	"modelgate.internal/dataplane/internal/quota/client"
	"modelgate.internal/dataplane/internal/quota/identity"
	"modelgate.internal/dataplane/internal/quota/ledger"
)

// member is a node of a cluster on loopback.
type member struct {
	*quota.Node
	t       *testing.T
	dir     string
	address string
	alone   bool
	days    quota.Days
	now     func() time.Time
	reg     *prometheus.Registry
	cancel  context.CancelFunc
	ended   chan error
}

func (m *member) start() {
	m.t.Helper()
	m.reg = prometheus.NewRegistry()
	o := quota.Options{Dir: m.dir, Days: m.days, Metrics: m.reg, Log: slog.New(slog.DiscardHandler), Now: m.now}
	if !m.alone {
		m.await("its port", func() bool {
			var err error
			o.Socket, err = (&net.ListenConfig{}).Listen(m.t.Context(), "tcp", m.address)
			return err == nil
		})
		o.Address = m.address
	}
	var err error
	if m.Node, err = quota.Open(m.t.Context(), o); err != nil {
		m.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel, m.ended = cancel, make(chan error, 1)
	go func() { m.ended <- m.Run(ctx) }()
}

func (m *member) stop() {
	m.t.Helper()
	if m.cancel == nil {
		return
	}
	m.cancel()
	m.cancel = nil
	if err := <-m.ended; err != nil {
		m.t.Errorf("node: %v", err)
	}
}

// admit spends one token of the cell.
func (m *member) admit(c *client.Cell) error {
	return m.Leases().Admit(context.Background(), []*client.Cell{c})
}

func (m *member) await(what string, done func() bool) {
	m.t.Helper()
	for range 3000 {
		if done() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	m.t.Fatalf("waited too long for %s", what)
}

func (m *member) ready() {
	m.t.Helper()
	m.await("the ledger", func() bool { return m.Leases().Live() })
}

// ask is an operator at the node.
func (m *member) ask(c quota.Command) (quota.Answer, error) {
	m.t.Helper()
	return quota.Ask(m.t.Context(), m.dir, c)
}

func found(t *testing.T, alone bool) *member {
	t.Helper()
	m := &member{t: t, dir: filepath.Join(t.TempDir(), "quota"), alone: alone, address: free(t)}
	if _, err := quota.Begin(m.dir, "one"); err != nil {
		t.Fatal(err)
	}
	m.start()
	t.Cleanup(m.stop)
	m.ready()
	return m
}

func (m *member) join(role identity.Role) *member {
	m.t.Helper()
	a, err := m.ask(quota.Command{Op: quota.OpToken, Role: role})
	if err != nil {
		m.t.Fatal(err)
	}
	next := &member{t: m.t, dir: filepath.Join(m.t.TempDir(), "quota"), address: free(m.t)}
	if _, err := quota.Join(m.t.Context(), next.dir, "next", a.Token); err != nil {
		m.t.Fatal(err)
	}
	next.start()
	m.t.Cleanup(next.stop)
	next.ready()
	if role == identity.Voter {
		var err error
		defer func() {
			if m.t.Failed() {
				m.t.Log(err)
			}
		}()
		m.await("the promotion", func() bool {
			_, err = m.ask(quota.Command{Op: quota.OpPromote, Node: next.Identity().Node})
			return err == nil || strings.Contains(err.Error(), "votes already")
		})
	}
	return next
}

func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

func cell(n uint64, limit int64) *client.Cell {
	return client.NewCell(ledger.ID{Kind: ledger.KeyMinute, Lo: n}, ledger.Literal(limit), 1)
}

// spend admits until it is refused, and returns how often it was admitted.
func (m *member) spend(c *client.Cell) int {
	m.t.Helper()
	for n := 0; ; n++ {
		if err := m.admit(c); err != nil {
			if _, ok := err.(*client.LimitedError); !ok { //nolint:errorlint // as it is returned
				m.t.Fatal(err)
			}
			return n
		}
	}
}

func TestANodeAloneKeepsItsCountsOverARestart(t *testing.T) {
	m := found(t, true)
	if n := m.spend(cell(1, 30)); n != 30 {
		t.Fatalf("%d admitted", n)
	}
	_, err := quota.Open(t.Context(), quota.Options{Dir: m.dir, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "another process serves") {
		t.Errorf("a second process: %v", err)
	}
	m.stop()
	m.start()
	m.ready()
	if n := m.spend(cell(1, 30)); n != 0 {
		t.Errorf("%d admitted after a restart", n)
	}
	if n := m.spend(cell(1, 30)); n != 0 {
		t.Errorf("%d admitted", n)
	}
}

// Three voters and two clients admit exactly the limit, together, while leadership moves and while the leader stops.
func TestFiveNodesShareALimitWhileLeadersChange(t *testing.T) {
	one := found(t, false)
	nodes := []*member{one, one.join(identity.Voter), one.join(identity.Voter), one.join(identity.Client), one.join(identity.Client)}
	const (
		limit  = 200
		enough = limit - 20
		calm   = 8 * time.Second
		most   = 45 * time.Second // for a busy machine; calls of the first second are still in the window
	)
	var total atomic.Int64
	var callers sync.WaitGroup
	for _, m := range nodes[1:] {
		callers.Go(func() {
			c := cell(1, limit)
			for begin := time.Now(); time.Since(begin) < calm || total.Load() < enough && time.Since(begin) < most; time.Sleep(10 * time.Millisecond) {
				if m.admit(c) == nil {
					total.Add(1)
				}
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	if a, err := nodes[4].ask(quota.Command{Op: quota.OpPeers}); err != nil || len(a.Members) != 3 || len(a.Clients) != 2 {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := one.ask(quota.Command{Op: quota.OpTransfer}); err != nil {
		t.Error(err)
	}
	time.Sleep(500 * time.Millisecond)
	one.stop()
	callers.Wait()
	if n := total.Load(); n > limit || n < enough {
		t.Errorf("%d of %d admitted", n, limit)
	}
	one.start()
	one.ready()
	one.await("a lease", func() bool { return one.admit(cell(2, 5)) == nil })
}

func TestRefusalsThatExplainThemselves(t *testing.T) {
	one := found(t, false)
	self := one.Identity().Node
	refused := func(c quota.Command, want string) {
		t.Helper()
		if _, err := one.ask(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", c.Op, err, want)
		}
	}
	refused(quota.Command{Op: quota.OpDemote, Node: self}, "it is the only voter")
	refused(quota.Command{Op: quota.OpLeave}, "it is the only voter")
	refused(quota.Command{Op: quota.OpPromote, Node: strings.Repeat("0", 32)}, "no such replica")
	two := one.join(identity.Voter)
	refused(quota.Command{Op: quota.OpPromote, Node: two.Identity().Node}, "it votes already")
	refused(quota.Command{Op: quota.OpForget, Node: two.Identity().Node}, "Stop it first")
	if _, err := quota.Recover(t.Context(), one.dir, false); err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Error(err)
	}
	three := one.join(identity.Voter)
	two.stop()
	one.await("the leader to notice", func() bool {
		a, err := one.ask(quota.Command{Op: quota.OpPeers})
		return err == nil && a.Members[1].Silent != ""
	})
	refused(quota.Command{Op: quota.OpDemote, Node: three.Identity().Node}, "of the 2 voters that would remain 1 answer, and 2 are needed")
	if _, err := one.ask(quota.Command{Op: quota.OpForget, Node: two.Identity().Node}); err != nil {
		t.Error(err)
	}
	// Both that are left vote; one of them is lost for good.
	three.stop()
	one.stop()
	losses, err := quota.Recover(t.Context(), one.dir, false)
	if err != nil || losses.Voters != 1 || losses.LastIndex == 0 {
		t.Errorf("%+v, %v", losses, err)
	}
	if _, err := quota.Recover(t.Context(), one.dir, true); err != nil {
		t.Fatal(err)
	}
	one.start()
	one.ready()
	if a, err := one.ask(quota.Command{Op: quota.OpPeers}); err != nil || len(a.Members) != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// A directory of another node, or one whose log is gone, is refused with an explanation, and nothing of it is changed.
func TestDirectoriesThatAreRefused(t *testing.T) {
	root := t.TempDir()
	dirs := []string{filepath.Join(root, "a"), filepath.Join(root, "b")}
	for _, dir := range dirs {
		if _, err := quota.Begin(dir, "n"); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(dir, want string) {
		t.Helper()
		_, err := quota.Open(t.Context(), quota.Options{Dir: dir, Metrics: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := quota.Begin(dirs[0], "n"); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Error(err)
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(dirs[0], "log")), os.Rename(filepath.Join(dirs[1], "log"), filepath.Join(dirs[0], "log"))); err != nil {
		t.Fatal(err)
	}
	refused(dirs[0], "a log is never moved to another node")
	refused(dirs[1], "join anew")
	if err := os.WriteFile(filepath.Join(dirs[1], "identity.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(dirs[1], "damaged")
	if _, err := quota.Join(t.Context(), filepath.Join(root, "c"), "n", "not a token"); err == nil || quota.Exists(filepath.Join(root, "c")) {
		t.Error(err)
	}
}
