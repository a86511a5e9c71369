package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Entry is one entry of the replicated log: what the leader gathered in one tick.
type Entry struct {
	At       int64 // ledger clock in milliseconds
	Commands []Command
	Frames   []Frame
}

// Frame is what a node reports and asks for. Counters are cumulative since the start of the incarnation, so a lost, doubled or
// late frame does no harm.
type Frame struct {
	Node        uint64 // number that the node got when it joined
	Incarnation uint64 // grows with every registration of the node, over restarts too
	Seq         uint64 // grows with every frame of an incarnation, from 1
	Leave       bool   // the node stops: what it holds is void once this frame is applied
	Records     []Record
}

// Record is the part of a frame about one limit.
type Record struct {
	ID    ID
	Class Class
	Seen  uint64 // config version at which the node read the class; the greatest one counts
	Used  int64  // tokens spent
	Void  int64  // tokens given back unspent
	Hold  int64  // tokens that the node would like to hold now, those it holds included
	Seed  int64  // of a daily limit, if the ledger asked: one more than the control plane counts for the day; 0 says nothing
}

// CommandKind says what a Command does.
type CommandKind uint8

// The commands. Their numbers are in logs and never change.
const (
	SetClass      CommandKind = 1 // Class has the limit Max
	SetOverride   CommandKind = 2 // ID has the limit Max, whatever its class; 0 revokes
	ClearOverride CommandKind = 3 // ID has the limit of its class again
	ForgetNode    CommandKind = 4 // Node is gone for good; what it held is charged as with any lost session
	SeedDays      CommandKind = 5 // the ledger may lack calls of today: daily limits wait for the control plane's count
	BanNode       CommandKind = 6 // as ForgetNode, and no frame or connection of Node is taken ever again
)

// NewestCommand is the newest one that this build knows. A replica halts at others.
const NewestCommand = BanNode

// Command changes what the ledger enforces. A command with an older Version than the newest one about the same class or ID has
// no effect, so they may be repeated and reordered.
type Command struct {
	Kind    CommandKind
	Class   Class
	ID      ID
	Node    uint64
	Version uint64
	Max     int64
}

const (
	wideSubject = 0x80 // flag in the kind's byte: the subject has 16 bytes
	flagLeave   = 0x01
	flagSeeds   = 0x02 // records have a Seed
)

// AppendEntry appends the encoding of the entry: version (1 byte), then unsigned varints and single bytes as in the code.
func AppendEntry(b []byte, e *Entry) []byte {
	records := 0
	for i := range e.Frames {
		records += len(e.Frames[i].Records)
	}
	b = slices.Grow(b, frameBytesMost*(1+len(e.Frames))+recordBytesOften*records)
	b = append(b, entryVersion)
	b = binary.AppendUvarint(b, uint64(e.At))
	b = binary.AppendUvarint(b, uint64(len(e.Commands)))
	for i := range e.Commands {
		b = appendCommand(b, &e.Commands[i])
	}
	b = binary.AppendUvarint(b, uint64(len(e.Frames)))
	for i := range e.Frames {
		b = AppendFrame(b, &e.Frames[i])
	}
	return b
}

// AppendFrame appends the encoding of the frame.
func AppendFrame(b []byte, f *Frame) []byte {
	b = binary.AppendUvarint(b, f.Node)
	b = binary.AppendUvarint(b, f.Incarnation)
	b = binary.AppendUvarint(b, f.Seq)
	flags := byte(0)
	if f.Leave {
		flags |= flagLeave
	}
	seeds := slices.ContainsFunc(f.Records, func(r Record) bool { return r.Seed > 0 })
	if seeds {
		flags |= flagSeeds
	}
	b = append(b, flags)
	b = binary.AppendUvarint(b, uint64(len(f.Records)))
	for i := range f.Records {
		r := &f.Records[i]
		b = appendID(b, r.ID)
		b = binary.AppendUvarint(b, uint64(r.Class))
		b = binary.AppendUvarint(b, r.Seen)
		b = binary.AppendUvarint(b, uint64(r.Used))
		b = binary.AppendUvarint(b, uint64(r.Void))
		b = binary.AppendUvarint(b, uint64(r.Hold))
		if seeds {
			b = binary.AppendUvarint(b, uint64(r.Seed))
		}
	}
	return b
}

func appendID(b []byte, id ID) []byte {
	if id.Hi == 0 {
		b = append(b, byte(id.Kind))
		return binary.AppendUvarint(b, id.Lo)
	}
	b = append(b, byte(id.Kind)|wideSubject)
	b = binary.BigEndian.AppendUint64(b, id.Hi)
	return binary.BigEndian.AppendUint64(b, id.Lo)
}

func appendCommand(b []byte, c *Command) []byte {
	b = append(b, byte(c.Kind))
	b = binary.AppendUvarint(b, c.Version)
	switch c.Kind {
	case SetClass:
		b = binary.AppendUvarint(b, uint64(c.Class))
		b = binary.AppendUvarint(b, uint64(c.Max))
	case SetOverride:
		b = appendID(b, c.ID)
		b = binary.AppendUvarint(b, uint64(c.Max))
	case ClearOverride:
		b = appendID(b, c.ID)
	case ForgetNode, BanNode:
		b = binary.AppendUvarint(b, c.Node)
	case SeedDays:
	default:
		panic("BUG: encoding a command of an unknown kind")
	}
	return b
}

// DecodeEntry decodes an entry. Any error is a reason to halt.
func DecodeEntry(b []byte) (Entry, error) {
	r := reader{rest: b}
	return r.entry()
}

func (r *reader) entry() (Entry, error) {
	if len(r.rest) > EntryBytesMax {
		return Entry{}, fmt.Errorf("entry has %d bytes, more than %d", len(r.rest), EntryBytesMax)
	}
	if v := r.byte(); r.err == nil && v != entryVersion {
		return Entry{}, fmt.Errorf("entry has version %d; this build knows %d", v, entryVersion)
	}
	e := Entry{At: r.int(1 << 62)}
	if n := r.count(EntryCommandsMax); n > 0 {
		e.Commands = make([]Command, n)
	}
	for i := range e.Commands {
		r.command(&e.Commands[i])
	}
	if n := r.count(len(r.rest)); n > 0 && r.err == nil {
		e.Frames = make([]Frame, n)
	}
	for i := range e.Frames {
		r.frame(&e.Frames[i])
	}
	return e, r.end("entry")
}

// DecodeFrame decodes and checks a frame as a node sent it. An error means that the frame must not be put into an entry.
func DecodeFrame(b []byte) (Frame, error) {
	if len(b) > FrameBytesMax {
		return Frame{}, fmt.Errorf("frame has %d bytes, more than %d", len(b), FrameBytesMax)
	}
	r := reader{rest: b}
	var f Frame
	r.frame(&f)
	if err := r.end("frame"); err != nil {
		return Frame{}, err
	}
	return f, f.Check()
}

// Check refuses what an honest node would not send, in frames that were not decoded.
func (f *Frame) Check() error {
	if f.Node == 0 || f.Incarnation == 0 || f.Seq == 0 {
		return errors.New("frame has no node, incarnation or sequence number")
	}
	if len(f.Records) > FrameRecordsMax {
		return fmt.Errorf("frame has %d records, more than %d", len(f.Records), FrameRecordsMax)
	}
	for i := range f.Records {
		r := &f.Records[i]
		if !r.ID.Kind.Known() {
			return fmt.Errorf("frame has a limit of the unknown kind %d", r.ID.Kind)
		}
		if r.Used < 0 || r.Void < 0 || r.Hold < 0 || r.Seed < 0 || r.Used > counterMax || r.Void > counterMax || r.Hold > LimitMax || r.Seed > counterMax {
			return fmt.Errorf("frame has counters out of range for limit %s", r.ID)
		}
	}
	return nil
}

// reader decodes; after the first error it returns zeros.
type reader struct {
	rest    []byte
	err     error
	records []Record // of all frames so far, and room for more
}

// take returns room for the records of a frame. Those of earlier frames stay where they are.
func (r *reader) take(n int) []Record {
	from := len(r.records)
	if cap(r.records)-from < n {
		from, r.records = 0, make([]Record, 0, max(n, min(2*cap(r.records), EntryRecordsMax)))
	}
	r.records = r.records[:from+n]
	return r.records[from : from+n : from+n]
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.rest = nil
	}
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.fail("input ends early")
		return 0
	}
	v := r.rest[0]
	r.rest = r.rest[1:]
	return v
}

func (r *reader) uint() uint64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || (n > 1 && r.rest[n-1] == 0) { // only the shortest form, so that equal values have equal bytes
		r.fail("input has a malformed number")
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) int(most int64) int64 {
	v := r.uint()
	if v > uint64(most) {
		r.fail("input has the number %d, above %d", v, most)
		return 0
	}
	return int64(v)
}

// count reads a number of items that follow, each of at least one byte.
func (r *reader) count(most int) int {
	n := r.int(int64(most))
	if n > int64(len(r.rest)) {
		r.fail("input announces %d items in %d bytes", n, len(r.rest))
		return 0
	}
	return int(n)
}

func (r *reader) id() ID {
	kind := r.byte()
	id := ID{Kind: Kind(kind &^ wideSubject)}
	if r.err == nil && !id.Kind.Known() {
		r.fail("input has a limit of the unknown kind %d", id.Kind)
	}
	if kind&wideSubject == 0 {
		id.Lo = r.uint()
		return id
	}
	if len(r.rest) < 16 {
		r.fail("input ends early")
		return id
	}
	id.Hi, id.Lo = binary.BigEndian.Uint64(r.rest), binary.BigEndian.Uint64(r.rest[8:])
	r.rest = r.rest[16:]
	if id.Hi == 0 {
		r.fail("input has a wide subject that is not")
	}
	return id
}

func (r *reader) frame(f *Frame) {
	f.Node, f.Incarnation, f.Seq = r.uint(), r.uint(), r.uint()
	flags := r.byte()
	if flags&^(flagLeave|flagSeeds) != 0 {
		r.fail("frame has unknown flags %#x", flags)
	}
	f.Leave = flags&flagLeave != 0
	seeds := int64(0)
	if n := r.count(FrameRecordsMax); n > 0 {
		f.Records = r.take(n)
	}
	for i := range f.Records {
		rec := &f.Records[i]
		rec.ID, rec.Seed = r.id(), 0
		rec.Class = Class(r.int(1<<32 - 1))
		rec.Seen = r.uint()
		rec.Used, rec.Void, rec.Hold = r.int(counterMax), r.int(counterMax), r.int(LimitMax)
		if flags&flagSeeds != 0 {
			rec.Seed = r.int(counterMax)
			seeds |= rec.Seed
		}
	}
	if flags&flagSeeds != 0 && seeds == 0 {
		r.fail("frame announces seeds and has none")
	}
}

func (r *reader) command(c *Command) {
	c.Kind = CommandKind(r.byte())
	c.Version = r.uint()
	switch c.Kind {
	case SetClass:
		c.Class, c.Max = Class(r.int(1<<32-1)), r.int(LimitMax)
	case SetOverride:
		c.ID, c.Max = r.id(), r.int(LimitMax)
	case ClearOverride:
		c.ID = r.id()
	case ForgetNode, BanNode:
		c.Node = r.uint()
	case SeedDays:
	default:
		r.fail("entry has a command of the unknown kind %d", c.Kind)
	}
}

func (r *reader) end(what string) error {
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow", len(r.rest))
	}
	if r.err != nil {
		return fmt.Errorf("decode %s: %w", what, r.err)
	}
	return nil
}
