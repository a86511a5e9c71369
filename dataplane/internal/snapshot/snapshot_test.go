package snapshot_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"modelgate.internal/dataplane/internal/snapshot"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

var darwin = plane.Model{ID: "Darwin", Family: "darwin", Upstream: "u1"}

// filled starts a node and gives it keys a and b and a model, at epoch 1 version 3.
func filled(t testing.TB, dir string, p *fakePlane, w watcher) (*node, *fakeStream) {
	t.Helper()
	n := startNode(t, dir, p.server.URL, w)
	s := p.stream()
	s.send(hello(1, true), keyChange(1, "a"), keyChange(2, "b"), change(3, plane.KindModel, "Darwin", darwin), mark(1, 3))
	p.acked(1, 3)
	return n, s
}

func TestFirstStartJoinsAndTakesTheWholeState(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n := startNode(t, dir, p.server.URL, nil)
	s := p.stream()
	if s.epoch != "0" || s.version != "0" {
		t.Errorf("a new node asks from %s/%s", s.epoch, s.version)
	}
	if n.Ready() == nil || n.Checker() != nil {
		t.Error("ready without a configuration")
	}
	s.send(hello(1, true), keyChange(1, "a"), keyChange(2, "b"), change(3, plane.KindModel, "Darwin", darwin))
	if n.Ready() == nil || len(n.Current().Models) != 0 {
		t.Error("serves half a state")
	}
	s.send(mark(1, 3))
	if ack := p.acked(1, 3); ack.KeysHeld != 2 || ack.Build != "test" {
		t.Errorf("acknowledged %+v", ack)
	}
	n.has(t, "a", "b")
	if got := n.Current(); got.Models["Darwin"].Upstream != "u1" || got.Version != 3 {
		t.Errorf("current %+v", got)
	}
	f := n.Freshness()
	if err := n.Ready(); err != nil || !f.Connected || f.Cursor.Version != 3 || f.Keys != 2 {
		t.Errorf("%v, %+v", err, f)
	}
	for _, name := range []string{"node.json", "index.db"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if n.link.NodeID() != "node-1" || p.joined() != 1 {
		t.Errorf("node %q joined %d times", n.link.NodeID(), p.joined())
	}
}

func TestChangesAreInForceWhenAcknowledged(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	w := &recorder{}
	n, s := filled(t, t.TempDir(), p, w)
	w.take()
	current := n.Current()
	s.send(keyGone(4, "a"), keyChange(5, "c"), change(6, plane.KindUpstream, "u1", plane.UpstreamSpec{ID: "u1", BaseURL: "http://x/v1"}))
	s.send(mark(1, 6))
	p.acked(1, 6)
	n.has(t, "b", "c")
	if got := w.take(); got != "a gone, c changed, catalog 1/1/0" {
		t.Errorf("told of: %s", got)
	}
	if n.Current().Upstreams["u1"].BaseURL != "http://x/v1" || len(current.Upstreams) != 0 {
		t.Error("the configuration was not replaced as a whole")
	}
	if pr, _, _ := n.Lookup(key.Hash("c")); pr == nil || pr.Seen != 5 {
		t.Errorf("principal %+v", pr)
	}
	pool := plane.PoolSpec{ID: "p", Members: []plane.Member{{Upstream: "u1", Weight: 2}}, Retry: plane.Retry{Attempts: 2}}
	s.send(change(7, plane.KindModel, "Darwin", nil), change(8, plane.KindPool, "p", pool), mark(1, 8))
	p.acked(1, 8)
	if len(n.Current().Models) != 0 {
		t.Error("model is not gone")
	}
	if got := n.Current().Pools["p"]; !reflect.DeepEqual(got, pool) {
		t.Errorf("pool %+v", got)
	}
	skill := plane.SkillSpec{Name: "sing", Kind: plane.SkillHosted, Upstream: "u1", Path: "/sing"}
	s.send(change(9, plane.KindSkill, "sing", skill), mark(1, 9))
	p.acked(1, 9)
	if got := n.Current().Skills["sing"]; got != skill {
		t.Errorf("skill %+v", got)
	}
	s.send(keyChange(10, "d"), mark(1, 10))
	p.acked(1, 10)
	if got := w.take(); got != "catalog 0/1/1, catalog 0/1/1, d changed" {
		t.Errorf("told of: %s", got)
	}
}

// recorder notes what the source tells, and whether the index was already in the new state then.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) KeyChanged(digest key.Digest, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range []string{"a", "b", "c", "d"} {
		if key.Hash(name) == digest {
			r.lines = append(r.lines, name+map[bool]string{true: " gone", false: " changed"}[gone])
		}
	}
}

func (r *recorder) AllChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, "all")
}

func (r *recorder) CatalogChanged(current *plane.Current) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, fmt.Sprintf("catalog %d/%d/%d", len(current.Models), len(current.Upstreams), len(current.Pools)))
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := strings.Join(r.lines, ", ")
	r.lines = nil
	return s
}

func TestColdStartWithoutTheControlPlane(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n, _ := filled(t, dir, p, nil)
	n.stop()
	p.server.CloseClientConnections()
	p.server.Close()
	n = startNode(t, dir, p.server.URL, nil)
	if err := n.Ready(); err != nil {
		t.Fatal(err)
	}
	n.has(t, "a", "b")
	if n.Current().Models["Darwin"].ID != "Darwin" || n.Checker() == nil || n.Freshness().Connected {
		t.Errorf("%+v %+v", n.Current(), n.Freshness())
	}
}

func TestReconnectsFromItsCursor(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n, s := filled(t, dir, p, nil)
	s.raw(nil)
	s = p.stream()
	if s.epoch != "1" || s.version != "3" {
		t.Fatalf("asks from %s/%s", s.epoch, s.version)
	}
	s.send(hello(1, false), keyChange(4, "c"), mark(1, 4))
	p.acked(1, 4)
	n.has(t, "a", "b", "c")
	n.stop()
	n = startNode(t, dir, p.server.URL, nil)
	if s = p.stream(); s.version != "4" {
		t.Errorf("after a restart it asks from %s/%s", s.epoch, s.version)
	}
	n.has(t, "a", "b", "c")
	if p.joined() != 1 {
		t.Errorf("joined %d times", p.joined())
	}
}

func TestNewEpochReplacesEverything(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	w := &recorder{}
	n, s := filled(t, dir, p, w)
	s.raw(nil)
	s = p.stream()
	w.take()
	s.send(hello(2, true), keyChange(1, "d"))
	n.has(t, "a", "b") // the old state serves until the new one is whole
	s.raw(nil)         // and the new one breaks off
	s = p.stream()
	if s.epoch != "1" || s.version != "3" {
		t.Errorf("asks from %s/%s", s.epoch, s.version)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.db.next")); err == nil {
		t.Error("the unfinished index is left behind")
	}
	n.has(t, "a", "b")
	s.send(hello(2, true), keyChange(1, "c"), mark(2, 1))
	p.acked(2, 1)
	n.has(t, "c")
	if len(n.Current().Models) != 0 || w.take() != "catalog 0/0/0, all" {
		t.Error("something of the old epoch is left")
	}
	s.send(keyChange(2, "d"), mark(2, 2)) // deltas go on on the new file
	p.acked(2, 2)
	n.has(t, "c", "d")
}

func TestStreamThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	s.raw(nil)
	for name, lines := range map[string][]any{
		"no hello":               {keyChange(4, "c")},
		"continues other epoch":  {hello(7, false)},
		"hello twice":            {hello(1, false), hello(1, false)},
		"mark of another epoch":  {hello(1, false), keyChange(4, "c"), mark(2, 4)},
		"mark that goes back":    {hello(1, false), keyChange(4, "c"), mark(1, 2)},
		"not JSON":               {hello(1, false), []byte("{\n")},
		"line over the bound":    {hello(1, false), []byte(`{"ping":"` + strings.Repeat("x", plane.MessageBytesMax) + "\"}\n")},
		"key that is no digest":  {hello(1, false), change(4, plane.KindKey, "c", plane.Principal{}), mark(1, 4)},
		"model of another shape": {hello(1, false), change(4, plane.KindModel, "x", []int{1}), mark(1, 4)},
	} {
		t.Run(name, func(t *testing.T) {
			s := p.stream()
			for _, line := range lines {
				s.raw(line)
			}
			<-s.gone
			s = p.stream()
			s.send(hello(1, false), plane.Message{Ping: true}) // a good stream, so that the node does not wait long after the next
			s.raw(nil)
			n.has(t, "a", "b")
			if got := n.Current(); got.Version != 3 || len(got.Models) != 1 {
				t.Errorf("in force: %+v", got)
			}
		})
	}
}

func TestUnknownKindsAndFieldsAreForTheFuture(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	s.raw([]byte(`{"weather":"fine"}` + "\n"))
	s.send(change(4, "skill", "pdf", map[string]any{"x": 1}), mark(1, 4))
	p.acked(1, 4)
	n.has(t, "a", "b")
}

func TestPepperRotation(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	next := []byte("the next pepper, also 32 bytes..")
	text, err := key.Mint(key.Live, next)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := n.Checker().Check([]byte(text)); err == nil {
		t.Fatal("accepted under the wrong pepper")
	}
	s.raw(nil)
	h := hello(1, false)
	h.Hello.KeyPeppers = [][]byte{next, testPepper}
	s = p.stream()
	s.send(h)
	eventually(t, "new pepper", func() bool {
		_, _, err := n.Checker().Check([]byte(text))
		return err == nil
	})
}

func TestRejoinsWhenTheSecretIsRefused(t *testing.T) {
	t.Parallel()
	p, dir := newPlane(t), t.TempDir()
	n, s := filled(t, dir, p, nil)
	p.set("secret-2", 0)
	s.raw(nil)
	s = p.stream()
	s.send(hello(1, false), keyChange(4, "c"), mark(1, 4))
	p.acked(1, 4)
	n.has(t, "a", "b", "c")
	data, err := os.ReadFile(filepath.Join(dir, "node.json"))
	if err != nil || !bytes.Contains(data, []byte("secret-2")) || p.joined() != 2 {
		t.Errorf("%s, %v, joined %d times", data, err, p.joined())
	}
	if strings.Contains(n.log.String(), "secret-") {
		t.Error("a secret is in the log")
	}
}

func TestIdentityFileThatCannotBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, content := range []string{"", "{", `{"node_id":"x"}`} {
		if err := os.WriteFile(filepath.Join(dir, "node.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := snapshot.NewLink(snapshot.LinkOptions{DataDir: dir}); err == nil {
			t.Errorf("%q is an identity", content)
		}
	}
}

func TestControlPlaneThatAnswersErrors(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	p.set("secret-1", http.StatusServiceUnavailable)
	s.raw(nil)
	eventually(t, "loss of the stream", func() bool { return !n.Freshness().Connected })
	n.has(t, "a", "b")
	p.set("secret-1", 0)
	s = p.stream()
	s.send(hello(1, false), plane.Message{Ping: true})
	eventually(t, "connection", func() bool { return n.Freshness().Connected })
}

// Look-ups go on while the index is replaced under them.
func TestLookupsDuringResets(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, found, err := n.Lookup(key.Hash("a")); err != nil || !found {
					t.Errorf("found %v, %v", found, err)
					return
				}
			}
		})
	}
	for epoch := uint64(2); epoch < 12; epoch++ {
		s.raw(nil)
		s = p.stream()
		s.send(hello(epoch, true), keyChange(1, "a"), mark(epoch, 1))
		p.acked(epoch, 1)
	}
	close(stop)
	group.Wait()
}

// Whatever is published in whatever batches, with the stream cut anywhere and the node restarted, the node has the published
// state once a mark is acknowledged.
func TestNodeConvergesOnThePublishedState(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 3))
	p, dir := newPlane(t), t.TempDir()
	n := startNode(t, dir, p.server.URL, nil)
	held := map[string]plane.Version{}
	var history []plane.Message
	for round := range 25 {
		s := p.stream()
		from := 0
		if _, err := fmt.Sscan(s.version, &from); err != nil {
			t.Fatal(err)
		}
		for range rnd.IntN(40) {
			name := fmt.Sprint("key-", rnd.IntN(20))
			v := plane.Version(len(history) + 1)
			if rnd.IntN(3) == 0 {
				delete(held, name)
				history = append(history, keyGone(v, name))
			} else {
				held[name] = v
				history = append(history, keyChange(v, name))
			}
		}
		reset := s.epoch == "0" || rnd.IntN(5) == 0
		if reset {
			from = 0
		}
		s.send(hello(1, reset))
		cut := rnd.IntN(3) == 0
		for i, m := range history[from:] {
			if cut && rnd.IntN(30) == 0 {
				break
			}
			s.send(m)
			if !reset && rnd.IntN(10) == 0 {
				s.send(mark(1, plane.Version(from+i+1)))
			}
		}
		if cut {
			s.raw(nil)
			continue
		}
		s.send(mark(1, plane.Version(len(history))))
		if ack := p.acked(1, plane.Version(len(history))); ack.KeysHeld != int64(len(held)) {
			t.Fatalf("round %d: holds %d keys, published are %d", round, ack.KeysHeld, len(held))
		}
		for i := range 20 {
			name := fmt.Sprint("key-", i)
			pr, found, err := n.Lookup(key.Hash(name))
			v, published := held[name]
			if err != nil || found != published || (found && pr.Seen != v) {
				t.Fatalf("round %d: %s: %+v %v %v, published %v at %d", round, name, pr, found, err, published, v)
			}
		}
		if rnd.IntN(2) == 0 {
			n.stop()
			n = startNode(t, dir, p.server.URL, nil)
		} else {
			s.raw(nil)
		}
	}
}

func TestLargeStateComesInSeveralWrites(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n := startNode(t, t.TempDir(), p.server.URL, nil)
	s := p.stream()
	const keys = 21_000
	s.send(hello(1, true))
	var lines []byte
	for i := range keys {
		line, _ := json.Marshal(keyChange(plane.Version(i+1), fmt.Sprint("key-", i)))
		lines = append(append(lines, line...), '\n')
	}
	s.raw(lines)
	s.send(mark(1, keys))
	if ack := p.acked(1, keys); ack.KeysHeld != keys {
		t.Errorf("holds %d", ack.KeysHeld)
	}
	lines = lines[:0]
	for i := range keys { // more than one write between two marks
		line, _ := json.Marshal(keyGone(plane.Version(keys+i+1), fmt.Sprint("key-", i)))
		lines = append(append(lines, line...), '\n')
	}
	s.raw(lines)
	s.send(mark(1, 2*keys))
	if ack := p.acked(1, 2*keys); ack.KeysHeld != 0 {
		t.Errorf("holds %d", ack.KeysHeld)
	}
	n.has(t)
}

// TestKeysThatComeTwiceInAResetCountOnce: what changed while the pages of a reset were read comes again before its mark, in the order
// of the changes.
func TestKeysThatComeTwiceInAResetCountOnce(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n := startNode(t, t.TempDir(), p.server.URL, nil)
	names := []string{"a", "b", "c", "d", "e"}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(keyID(a), keyID(b)) })
	s := p.stream()
	s.send(hello(1, true), keyChange(1, names[1]), keyChange(2, names[2]), keyChange(3, names[3]), // the pages
		keyChange(4, names[3]), keyChange(5, names[1]), keyGone(6, names[2]), keyChange(7, names[0]), keyChange(8, names[4]), keyChange(9, names[4]),
		keyGone(10, names[4]), mark(1, 10))
	if ack := p.acked(1, 10); ack.KeysHeld != 3 {
		t.Errorf("holds %d keys, want 3", ack.KeysHeld)
	}
	n.has(t, names[0], names[1], names[3])
}

func TestSilentControlPlane(t *testing.T) {
	t.Parallel()
	p := newPlane(t)
	n, s := filled(t, t.TempDir(), p, nil)
	<-s.gone // nothing comes, so the node gives the stream up
	if next := p.stream(); next.version != "3" {
		t.Errorf("asks from %s/%s", next.epoch, next.version)
	}
	n.has(t, "a", "b")
	eventually(t, "a word in the log", func() bool { return strings.Contains(n.log.String(), "control plane is silent") })
}
