package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	bolterrors "go.etcd.io/bbolt/errors"

	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// ErrNoState is a node that has no configuration: it never had one, or the one it had was damaged and is being fetched.
var ErrNoState = errors.New("node has no configuration yet")

// Options configure a Source.
type Options struct {
	DataDir string
	Build   string // told to the control plane
	Link    *Link
	Now     func() time.Time
	Log     *slog.Logger
}

// Source is the configuration as this node has it.
type Source struct {
	o       Options
	path    string
	index   atomic.Pointer[index] // nil without state
	checker atomic.Pointer[key.Checker]
	streams atomic.Pointer[key.StreamVerifier]
	current atomic.Pointer[plane.Current]
	held    atomic.Int64
	fresh   atomic.Int64 // Unix nanoseconds: when the node was last known to have everything
	online  atomic.Bool
	damaged chan *index       // look-ups report here
	acks    chan plane.Cursor // newest only

	keyChanged     func(digest key.Digest, gone bool)
	allChanged     func()
	catalogChanged func(*plane.Current)

	state state // of index; used by Run
}

// Open returns a source that serves by what the data directory holds. Damage is set aside and logged, not returned.
func Open(o Options) (*Source, error) {
	s := &Source{
		o: o, path: filepath.Join(o.DataDir, "index.db"),
		damaged: make(chan *index, 1), acks: make(chan plane.Cursor, 1),
		keyChanged: func(key.Digest, bool) {}, allChanged: func() {}, catalogChanged: func(*plane.Current) {},
	}
	s.current.Store(emptyCurrent())
	if err := os.Remove(s.nextPath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove unfinished index: %w", err)
	}
	info, err := os.Stat(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("open index: %w", err)
	}
	x, err := openIndex(s.path, 0)
	if err == nil {
		if err = s.start(x); err != nil {
			_ = x.close()
		}
	}
	switch {
	case errors.Is(err, errDamaged):
		return s, s.setAside(err)
	case err != nil:
		return nil, err
	}
	s.fresh.Store(info.ModTime().UnixNano()) // no older than the last change
	return s, nil
}

// start serves by an index.
func (s *Source) start(x *index) error {
	st, current, err := x.load()
	if err != nil {
		return err
	}
	s.serve(x, st, current)
	return nil
}

func (s *Source) serve(x *index, st state, current *plane.Current) {
	s.state = st
	s.held.Store(st.Keys)
	s.trust(&st)
	s.current.Store(current)
	s.index.Store(x)
}

// trust puts what recognizes credentials in force.
func (s *Source) trust(st *state) {
	s.checker.Store(key.NewChecker(st.Peppers))
	s.streams.Store(key.NewStreamVerifier(st.StreamKeys))
}

// setAside takes a damaged index out of service. Its file is kept under another name, in place of one kept before.
func (s *Source) setAside(why error) error {
	aside := s.path + ".damaged"
	s.o.Log.Error("index of keys is damaged, set aside and fetched anew", slog.String("file", aside), slog.Any("error", why))
	if x := s.index.Swap(nil); x != nil {
		if err := x.close(); err != nil {
			s.o.Log.Warn("damaged index does not close", slog.Any("error", err))
		}
	}
	s.state = state{}
	if err := os.Rename(s.path, aside); err != nil {
		return fmt.Errorf("set damaged index aside: %w", err)
	}
	return syncDir(filepath.Dir(s.path))
}

func (s *Source) nextPath() string { return s.path + ".next" }

// Watch has changes of keys told to the given functions, which return when the change is in force. It is called once, before
// Run.
func (s *Source) Watch(keyChanged func(digest key.Digest, gone bool), allChanged func()) {
	s.keyChanged, s.allChanged = keyChanged, allChanged
}

// WatchCatalog has f told what models, upstreams and pools there are: now, and whenever they changed, before the change is
// acknowledged. It is called once, before Run.
func (s *Source) WatchCatalog(f func(*plane.Current)) {
	s.catalogChanged = f
	f(s.Current())
}

// Current returns the models, upstreams and pools in force. It never returns nil; before the first configuration it is empty.
func (s *Source) Current() *plane.Current { return s.current.Load() }

// Checker returns what recognizes the texts of keys, nil before the first configuration.
func (s *Source) Checker() *key.Checker { return s.checker.Load() }

// StreamKeys returns what verifies stream tokens, nil before the first configuration.
func (s *Source) StreamKeys() *key.StreamVerifier { return s.streams.Load() }

// Lookup returns the principal of a key and whether there is one. It reads the disk index, in microseconds when its pages are
// in memory.
func (s *Source) Lookup(digest key.Digest) (p *plane.Principal, found bool, err error) {
	err = s.read(func(x *index) error {
		p, found, err = x.lookup(digest)
		return err
	})
	return p, found, err
}

// Scene returns the record of a scene and whether there is one. It reads the disk index, as Lookup does.
func (s *Source) Scene(id string) (scene *plane.Scene, found bool, err error) {
	err = s.read(func(x *index) error {
		scene, err = x.scene(id)
		return err
	})
	return scene, scene != nil, err
}

// read has a look-up made in the index in service, and reports damage.
func (s *Source) read(look func(x *index) error) error {
	for {
		x := s.index.Load()
		if x == nil {
			return ErrNoState
		}
		err := look(x)
		switch {
		case errors.Is(err, bolterrors.ErrDatabaseNotOpen) && s.index.Load() != x:
			continue // replaced meanwhile
		case errors.Is(err, errDamaged):
			select {
			case s.damaged <- x:
			default:
			}
		}
		return err
	}
}

// Freshness is how well a source follows the control plane.
type Freshness struct {
	Connected bool          // a change stream is open and complete
	Age       time.Duration // since the node was last known to have everything; an upper bound after a restart
	Cursor    plane.Cursor  // what is in force; zero without a configuration
	Keys      int64
}

// Freshness returns how well the source follows the control plane.
func (s *Source) Freshness() Freshness {
	f := Freshness{Connected: s.online.Load(), Cursor: s.Current().Cursor, Keys: s.held.Load()}
	if at := s.fresh.Load(); at != 0 {
		f.Age = max(s.o.Now().Sub(time.Unix(0, at)), 0)
	}
	return f
}

// Ready returns nil if keys can be checked. A node out of touch with the control plane is ready.
func (s *Source) Ready() error {
	if s.index.Load() == nil {
		return ErrNoState
	}
	return nil
}

// Run follows the control plane until ctx ends, then closes the index.
func (s *Source) Run(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.acknowledge(ctx)
	}()
	wait := newBackoff()
	for ctx.Err() == nil {
		err := s.follow(ctx, wait)
		s.online.Store(false)
		if ctx.Err() != nil {
			break
		}
		if errors.Is(err, errDamaged) {
			if err := s.setAside(err); err != nil {
				return err
			}
		}
		s.o.Log.Warn("config stream ended, serving what this node has", slog.Any("error", err), slog.Uint64("version", uint64(s.state.Version)))
		wait.sleep(ctx)
	}
	<-done
	if x := s.index.Swap(nil); x != nil {
		return x.close()
	}
	return nil
}
