package ledger

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"sync/atomic"
)

// Capture is a snapshot that is being written while entries go on being applied. An account that is about to change is encoded
// as it was before; WriteTo encodes the others bit by bit. It must be released.
type Capture struct {
	state  *State
	head   []byte
	seeds  bool // accounts say how far they are seeded
	count  int
	cursor int // index in the slab up to which all accounts are captured
	taken  int
	chunks [][]part // small pieces, since growing a large one would hold up an apply
	body   []byte   // of the newest parts
	done   atomic.Bool
}

// part is the encoding of one account.
type part struct {
	id   ID
	body []byte
}

// Snapshot begins a capture of the state as it is now. It takes time for sessions, classes and overrides only. One capture can be
// under way at a time.
func (s *State) Snapshot() (*Capture, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capture != nil {
		return nil, errors.New("a snapshot of the quota ledger is already being written")
	}
	s.gen++
	s.capture = &Capture{state: s, head: s.appendHead(nil), seeds: s.seeds > 0, count: len(s.slab)}
	return s.capture, nil
}

// own is called before an account changes, moves or goes.
func (s *State) own(a *account) {
	if a.gen == s.gen {
		return
	}
	a.gen = s.gen
	if s.capture != nil {
		s.capture.take(a)
	}
}

func (c *Capture) take(a *account) {
	if c.taken%capturePartRecords == 0 {
		c.chunks = append(c.chunks, make([]part, 0, capturePartRecords))
		c.body = make([]byte, 0, len(c.body)+len(c.body)/4)
	}
	from := len(c.body)
	c.body = appendAccount(c.body, a)
	if c.seeds && a.id.Kind.Daily() {
		c.body = binary.AppendUvarint(c.body, uint64(a.seeds))
	}
	last := &c.chunks[len(c.chunks)-1]
	*last = append(*last, part{a.id, c.body[from:len(c.body):len(c.body)]})
	c.taken++
}

// collect encodes the next accounts and reports whether there are more.
func (c *Capture) collect() (more bool, err error) {
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if c.state.capture != c {
		return false, errors.New("write snapshot of the quota ledger: it was released")
	}
	slab := c.state.slab
	for end := min(c.cursor+capturePartRecords, len(slab)); c.cursor < end; c.cursor++ {
		if a := slab[c.cursor]; a.gen != c.state.gen {
			a.gen = c.state.gen
			c.take(a)
		}
	}
	if c.cursor < len(slab) && c.taken < c.count {
		return true, nil
	}
	c.state.capture = nil
	return false, nil
}

// WriteTo writes the snapshot. Equal states have equal bytes. It may be called once.
func (c *Capture) WriteTo(w io.Writer) (int64, error) {
	for more := true; more; {
		var err error
		if more, err = c.collect(); err != nil {
			return 0, err
		}
	}
	if c.taken != c.count {
		return 0, fmt.Errorf("BUG: snapshot of the quota ledger has %d of %d limits", c.taken, c.count)
	}
	parts := slices.Concat(c.chunks...)
	slices.SortFunc(parts, func(a, b part) int { return a.id.Compare(b.id) })
	out := &sums{to: w}
	out.write(c.head)
	for _, p := range parts {
		out.write(p.body)
	}
	out.flush()
	out.write(binary.LittleEndian.AppendUint32(nil, out.crc))
	out.flush()
	return out.n, out.err
}

// Release ends the capture, written or not.
func (c *Capture) Release() {
	if c.done.Swap(true) {
		return
	}
	c.state.mu.Lock()
	defer c.state.mu.Unlock()
	if c.state.capture == c {
		c.state.capture = nil
	}
}

// sums writes in large pieces and keeps the checksum of what was flushed.
type sums struct {
	to  io.Writer
	buf []byte
	crc uint32
	n   int64
	err error
}

func (s *sums) write(b []byte) {
	s.buf = append(s.buf, b...)
	if len(s.buf) >= 1<<16 {
		s.flush()
	}
}

func (s *sums) flush() {
	if s.err == nil {
		var n int
		n, s.err = s.to.Write(s.buf)
		s.n += int64(n)
	}
	s.crc = crc32.Update(s.crc, crc32.MakeTable(crc32.Castagnoli), s.buf)
	s.buf = s.buf[:0]
}

func (s *State) appendHead(b []byte) []byte {
	b = append(b, snapshotMagic...)
	version := s.snapshotVersion()
	b = binary.AppendUvarint(b, version)
	if version >= 2 {
		b = binary.AppendUvarint(b, uint64(s.seeds))
		b = binary.AppendUvarint(b, uint64(s.seedDay))
	}
	if version >= 3 {
		b = binary.AppendUvarint(b, uint64(len(s.banned)))
		for _, node := range slices.Sorted(maps.Keys(s.banned)) {
			b = binary.AppendUvarint(b, node)
		}
	}
	for _, v := range []int64{s.policy.WindowMS, s.policy.GuardMS, s.policy.TTLMS, s.policy.RequestMS, s.now, int64(s.wheel.cursor)} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.AppendUvarint(b, uint64(len(s.nodes)))
	for _, node := range slices.Sorted(maps.Keys(s.nodes)) {
		b = appendSession(b, s.nodes[node])
	}
	b = binary.AppendUvarint(b, uint64(len(s.lost)))
	for _, key := range slices.SortedFunc(maps.Keys(s.lost), sessionKey.compare) {
		b = appendSession(b, s.lost[key])
	}
	b = binary.AppendUvarint(b, uint64(len(s.classes)))
	for _, class := range slices.Sorted(maps.Keys(s.classes)) {
		b = binary.AppendUvarint(b, uint64(class))
		b = appendTerms(b, s.classes[class])
	}
	b = binary.AppendUvarint(b, uint64(len(s.overrides)))
	for _, id := range slices.SortedFunc(maps.Keys(s.overrides), ID.Compare) {
		b = appendID(b, id)
		b = appendTerms(b, s.overrides[id])
	}
	return binary.AppendUvarint(b, uint64(len(s.slab)))
}

// snapshotVersion is the oldest that can say all that the state has, so that builds which know it can read it.
func (s *State) snapshotVersion() uint64 {
	switch {
	case len(s.banned) > 0:
		return snapshotVersion
	case s.seeds > 0:
		return 2
	default:
		return 1
	}
}

func appendTerms(b []byte, t terms) []byte {
	b = binary.AppendUvarint(b, t.version)
	b = binary.AppendUvarint(b, uint64(t.max))
	return append(b, flag(t.cleared, 1))
}

func appendSession(b []byte, x *session) []byte {
	for _, v := range []uint64{x.node, x.incarnation, x.seq, uint64(x.lastSeen)} {
		b = binary.AppendUvarint(b, v)
	}
	return append(b, flag(x.left, 1)|flag(x.forgotten, 2))
}

func flag(on bool, bit byte) byte {
	if on {
		return bit
	}
	return 0
}

func appendAccount(b []byte, a *account) []byte {
	b = appendID(b, a.id)
	for _, v := range []uint64{uint64(a.class), a.seen, uint64(a.due), uint64(a.day), uint64(a.recalled), uint64(a.settled), uint64(len(a.slots))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, s := range a.slots {
		b = binary.AppendUvarint(b, uint64(s.at))
		b = binary.AppendUvarint(b, uint64(s.count))
	}
	b = binary.AppendUvarint(b, uint64(len(a.holders)))
	for i := range a.holders {
		h := &a.holders[i]
		for _, v := range []uint64{h.session.node, h.session.incarnation, uint64(h.used), uint64(h.void), uint64(h.outstanding), uint64(h.asked)} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// Restore replaces the state by a snapshot. After an error the state is as it was.
func (s *State) Restore(from io.Reader) error {
	b, err := io.ReadAll(from)
	if err != nil {
		return fmt.Errorf("read snapshot of the quota ledger: %w", err)
	}
	next, err := decodeSnapshot(b)
	if err != nil {
		return fmt.Errorf("restore quota ledger: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next.policy != s.policy {
		return fmt.Errorf("restore quota ledger: the snapshot was made with the policy %+v; this build has %+v", next.policy, s.policy)
	}
	if s.capture != nil {
		return errors.New("restore quota ledger: a snapshot is being written")
	}
	s.now, s.nodes, s.lost, s.classes, s.overrides = next.now, next.nodes, next.lost, next.classes, next.overrides
	s.places, s.slab, s.wheel, s.gen = next.places, next.slab, next.wheel, next.gen
	s.seeds, s.seedDay, s.banned = next.seeds, next.seedDay, next.banned
	return nil
}

func decodeSnapshot(b []byte) (*State, error) {
	const sumBytes = 4
	if len(b) < len(snapshotMagic)+sumBytes || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("this is not a snapshot of a quota ledger")
	}
	b, sum := b[:len(b)-sumBytes], binary.LittleEndian.Uint32(b[len(b)-sumBytes:])
	if crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) != sum {
		return nil, errors.New("the snapshot is damaged: its checksum differs")
	}
	r := reader{rest: b[len(snapshotMagic):]}
	version := r.uint()
	if version < 1 || version > snapshotVersion {
		return nil, fmt.Errorf("the snapshot has version %d; this build knows those up to %d", version, snapshotVersion)
	}
	var seeds, seedDay uint32
	if version >= 2 {
		seeds, seedDay = r.uint32(), r.uint32()
	}
	banned := map[uint64]struct{}{}
	if version >= 3 {
		for range r.count(BannedMax) {
			banned[r.uint()] = struct{}{}
		}
	}
	s := New(Policy{WindowMS: r.int(1 << 50), GuardMS: r.int(1 << 50), TTLMS: r.int(1 << 50), RequestMS: r.int(1 << 50)})
	s.seeds, s.seedDay, s.banned = seeds, seedDay, banned
	if r.err == nil && s.snapshotVersion() != version {
		r.fail("the snapshot has version %d and not what that is for", version)
	}
	s.now, s.wheel.cursor = r.int(1<<62), uint32(r.int(1<<32-1))
	if s.policy.WindowMS <= 0 || s.policy.RequestMS <= 0 {
		r.fail("the snapshot has no window")
	}
	for range r.count(NodesMax) {
		x := r.session()
		s.nodes[x.node] = x
	}
	for range r.count(len(r.rest)) {
		x := r.session()
		s.lost[x.key()] = x
	}
	for range r.count(ClassesMax) {
		class := Class(r.int(1<<32 - 1))
		s.classes[class] = r.terms()
	}
	for range r.count(OverridesMax) {
		id := r.id()
		s.overrides[id] = r.terms()
	}
	n := r.count(AccountsMax)
	s.places, s.slab = make(map[packedID]uint32, n), make([]*account, 0, n)
	for range n {
		r.account(s)
	}
	return s, r.end("snapshot")
}

func (r *reader) session() *session {
	x := &session{node: r.uint(), incarnation: r.uint(), seq: r.uint(), lastSeen: r.int(1 << 62)}
	flags := r.byte()
	x.left, x.forgotten = flags&1 != 0, flags&2 != 0
	return x
}

func (r *reader) terms() terms {
	return terms{version: r.uint(), max: r.int(LimitMax), cleared: r.byte() != 0}
}

func (r *reader) uint32() uint32 { return uint32(r.int(1<<32 - 1)) }

func (r *reader) account(s *State) {
	a := &account{
		id: r.id(), class: Class(r.uint32()), seen: r.uint(), due: r.uint32(), day: r.uint32(), recalled: r.uint32(),
		settled: r.int(1 << 50),
	}
	if n := r.count(len(r.rest)); n > 0 {
		a.slots = make([]slot, n)
	}
	for i := range a.slots {
		a.slots[i] = slot{r.uint32(), r.uint32()}
	}
	if n := r.count(len(r.rest)); n > 0 {
		a.holders = make([]holder, n)
	}
	for i := range a.holders {
		h := &a.holders[i]
		key := sessionKey{r.uint(), r.uint()}
		if h.session = s.nodes[key.node]; h.session == nil || h.session.incarnation != key.incarnation {
			h.session = s.lost[key]
		}
		h.used, h.void, h.outstanding, h.asked = r.int(1<<60), r.int(1<<60), r.uint32(), r.uint32()
		if h.session == nil {
			r.fail("limit %s is held by a session that the snapshot does not have", a.id)
			return
		}
		h.session.refs++
		a.outstanding += int64(h.outstanding)
	}
	if s.seeds > 0 && a.id.Kind.Daily() {
		a.seeds = r.uint32()
	}
	if r.err != nil {
		return
	}
	if s.find(a.id) != nil || cmp.Compare(a.due, s.wheel.cursor) < 0 {
		r.fail("limit %s is there twice or due in the past", a.id)
		return
	}
	s.insert(a)
	s.wheel.add(a, a.due)
}
