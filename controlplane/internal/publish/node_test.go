package publish_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/controlplane/internal/publish"
	"modelgate.internal/controlplane/internal/store"
	"modelgate.internal/controlplane/internal/store/storetest"
	"modelgate.internal/shared/plane"
)

// replicas returns stores on one new database.
func replicas(t testing.TB, n int) []*store.Store {
	t.Helper()
	url := storetest.Database(t)
	all := make([]*store.Store, n)
	for i := range all {
		all[i] = storetest.Open(t, url)
	}
	return all
}

func newPublisher(log publish.Log) *publish.Publisher {
	return publish.New(log, publish.Options{
		KeyPeppers: [][]byte{{1, 2, 3}}, StreamKeys: map[string][]byte{"k1": {4, 5}},
		Log: slog.New(slog.DiscardHandler), Now: time.Now,
	})
}

// running runs a publisher until the test or the returned function ends it.
func running(t testing.TB, log publish.Log) (*publish.Publisher, func()) {
	t.Helper()
	p := newPublisher(log)
	return p, run(t, p)
}

func run(t testing.TB, p *publish.Publisher) func() {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("run: %v", err)
		}
	}()
	stop := func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// pipe is a Sink whose other end is a node.
type pipe struct{ *io.PipeWriter }

func (pipe) Flush() error { return nil }

// node follows config streams as a data-plane node does. Changes after a reset come in force with the first mark, others at
// once but under the old cursor, so that a cut stream leaves some of them behind.
type node struct {
	name   string
	cursor plane.Cursor
	state  map[publish.RecordID]string
	hellos []plane.Hello
	marks  []marked
	seen   atomic.Int64 // marks, when the last stream ended
}

type marked struct {
	at    plane.Cursor
	state map[publish.RecordID]string
}

var errEnough = errors.New("enough")

// follow reads a stream of p until see returns an error, which it returns; or the stream's own.
func (n *node) follow(ctx context.Context, p *publish.Publisher, see func(m plane.Message) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := p.Stream(ctx, n.name, n.cursor, pipe{w})
		w.CloseWithError(err)
		ended <- err
	}()
	err := n.read(r, see)
	r.CloseWithError(errEnough)
	cancel()
	if streamErr := <-ended; !errors.Is(err, errEnough) {
		return errors.Join(err, streamErr)
	}
	return err
}

func (n *node) read(r io.Reader, see func(m plane.Message) error) error {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	var (
		lines = bufio.NewReader(z)
		hello *plane.Hello
		next  map[publish.RecordID]string
	)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		var m plane.Message
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		switch {
		case m.Hello != nil:
			if hello != nil {
				return errors.New("hello twice")
			}
			hello = m.Hello
			n.hellos = append(n.hellos, *hello)
			if hello.Reset {
				next = map[publish.RecordID]string{}
			}
		case hello == nil:
			return errors.New("no hello")
		case m.Change != nil:
			into := n.state
			if next != nil {
				into = next
			}
			id := publish.RecordID{Kind: m.Change.Kind, ID: m.Change.ID}
			if m.Change.Gone {
				delete(into, id)
			} else {
				into[id] = canonical(m.Change.Body)
			}
		case m.Mark != nil:
			if next != nil {
				n.state, next = next, nil
			}
			n.cursor = *m.Mark
			n.marks = append(n.marks, marked{n.cursor, maps.Clone(n.state)})
		}
		if err := see(m); err != nil {
			return err
		}
	}
}

func canonical(text []byte) string {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return "broken: " + string(text)
	}
	out, _ := json.Marshal(v)
	return string(out)
}

func newNode(name string) *node { return &node{name: name, state: map[publish.RecordID]string{}} }

// untilMark follows until the node is at least at the version.
func (n *node) untilMark(t *testing.T, p *publish.Publisher, v plane.Version) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := n.follow(ctx, p, func(m plane.Message) error {
		if m.Mark != nil && m.Mark.Version >= v {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("follow: %v", err)
	}
}
