package ledger

import (
	"encoding/binary"
	"fmt"
)

const (
	grantPend    = 0x01
	grantUnknown = 0x02
	grantSeed    = 0x04 // the day follows
	grantWait    = 0x08
)

// AppendReply appends the encoding of the reply, which goes from the leader to a node and is in no log: unsigned varints and single
// bytes as in the code; Avail is signed.
func AppendReply(b []byte, r *Reply) []byte {
	for _, v := range []uint64{r.Node, r.Incarnation, r.Seq, r.Newest} {
		b = binary.AppendUvarint(b, v)
	}
	b = append(b, byte(r.Status))
	b = binary.AppendUvarint(b, uint64(len(r.Grants)))
	for i := range r.Grants {
		g := &r.Grants[i]
		b = appendID(b, g.ID)
		b = binary.AppendUvarint(b, uint64(g.Granted))
		b = binary.AppendUvarint(b, uint64(g.Limit))
		b = binary.AppendUvarint(b, uint64(g.Avail<<1^g.Avail>>63))
		b = binary.AppendUvarint(b, uint64(g.RetryMS))
		b = binary.AppendUvarint(b, uint64(g.FreesMS))
		b = append(b, flag(g.Pend, grantPend)|flag(g.Unknown, grantUnknown)|flag(g.SeedDay != 0, grantSeed)|flag(g.Wait, grantWait))
		if g.SeedDay != 0 {
			b = binary.AppendUvarint(b, uint64(g.SeedDay))
		}
	}
	return b
}

// DecodeReply decodes a reply.
func DecodeReply(b []byte) (Reply, error) {
	if len(b) > FrameBytesMax {
		return Reply{}, fmt.Errorf("reply has %d bytes, more than %d", len(b), FrameBytesMax)
	}
	r := reader{rest: b}
	v := Reply{Node: r.uint(), Incarnation: r.uint(), Seq: r.uint(), Newest: r.uint(), Status: Status(r.byte())}
	if n := r.count(FrameRecordsMax); n > 0 {
		v.Grants = make([]Grant, n)
	}
	for i := range v.Grants {
		g := &v.Grants[i]
		g.ID = r.id()
		g.Granted, g.Limit = r.int(counterMax*2), r.int(LimitMax)
		avail := r.uint()
		g.Avail = int64(avail>>1) ^ -int64(avail&1)
		g.RetryMS, g.FreesMS = r.int(1<<40), r.int(1<<40)
		flags := r.byte()
		g.Pend, g.Unknown, g.Wait = flags&grantPend != 0, flags&grantUnknown != 0, flags&grantWait != 0
		if flags&grantSeed != 0 {
			g.SeedDay = r.uint32()
		}
	}
	return v, r.end("reply")
}

// AppendRecall appends the encoding of the recall.
func AppendRecall(b []byte, r *Recall) []byte {
	b = binary.AppendUvarint(b, r.Node)
	b = binary.AppendUvarint(b, r.Incarnation)
	return appendID(b, r.ID)
}

// DecodeRecall decodes a recall.
func DecodeRecall(b []byte) (Recall, error) {
	r := reader{rest: b}
	v := Recall{Node: r.uint(), Incarnation: r.uint(), ID: r.id()}
	return v, r.end("recall")
}
