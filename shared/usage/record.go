package usage

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
	"unsafe"

	"modelgate.internal/shared/plane"
)

// A frame, little endian, aligned to 8 bytes:
//
//	payload length (4) | CRC32C of incarnation, length, seq and payload (4) | seq (8) | payload | zeros up to the alignment
//
// The length is written last: a record whose length is zero is not there. The incarnation in the checksum, which no client
// knows, keeps a text inside a record from passing for a record when damage is searched.

// recordForm is the first byte of a payload. A payload of another form does not decode.
const recordForm = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	// ErrRecord is a payload of a form that this version does not know.
	ErrRecord = errors.New("usage record does not decode")
)

func aligned(n int) int { return (n + Alignment - 1) &^ (Alignment - 1) }

// Seed is what the checksums of an incarnation's records start from.
func Seed(incarnation string) uint32 { return crc32.Checksum([]byte(incarnation), castagnoli) }

// Put writes a record at the beginning of b, which has room for RecordBytesMax and is aligned, and returns its whole length.
// Somebody who reads b meanwhile, or after the process died between two stores, finds the record whole or not at all.
func Put(b []byte, seed uint32, seq uint64, r *plane.UsageRecord) int {
	payload := appendPayload(b[FrameBytes:FrameBytes:len(b)], r)
	binary.LittleEndian.PutUint64(b[8:], seq)
	length := uint32(len(payload))
	binary.LittleEndian.PutUint32(b[4:], checksum(seed, length, b[8:FrameBytes+len(payload)]))
	// A mapping is in the page cache, so what the process wrote before it died is there in the order of its stores.
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), length) //nolint:gosec // aligned; the architectures we build for are little endian
	return aligned(FrameBytes + len(payload))
}

// SizeMax is how long a record can be at most that Put writes.
func SizeMax(r *plane.UsageRecord) int {
	n := FrameBytes + 2 + textsOfRecord + numbersOfRecord*binary.MaxVarintLen64
	for _, text := range [...]string{
		r.RequestID, r.AccountID, r.DeveloperID, r.AppID, r.KeyID, r.Endpoint, r.Model, r.Task, r.Backend, r.End, r.Source,
	} {
		n += min(len(text), TextBytesMax)
	}
	return aligned(n)
}

func checksum(seed, length uint32, seqAndPayload []byte) uint32 {
	return crc32.Update(seed^length, castagnoli, seqAndPayload)
}

// Cut returns the record at the beginning of b, with its whole length; the padding of the last record may be missing. It
// reports false if there is none that is whole.
func Cut(b []byte, seed uint32) (seq uint64, payload []byte, n int, ok bool) {
	if len(b) < FrameBytes {
		return 0, nil, 0, false
	}
	length := binary.LittleEndian.Uint32(b)
	if length == 0 || length > RecordBytesMax-FrameBytes || int(length) > len(b)-FrameBytes {
		return 0, nil, 0, false
	}
	end := FrameBytes + int(length)
	if checksum(seed, length, b[8:end]) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, nil, 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), b[FrameBytes:end], min(aligned(end), len(b)), true
}

// appendPayload encodes everything but Seq: texts with a length byte, numbers as varints, times as Unix nanoseconds.
func appendPayload(b []byte, r *plane.UsageRecord) []byte {
	b = append(b, recordForm)
	for _, text := range [...]string{
		r.RequestID, r.AccountID, r.DeveloperID, r.AppID, r.KeyID, r.Endpoint, r.Model, r.Task, r.Backend, r.End, r.Source,
	} {
		text = cut(text)
		b = append(b, byte(len(text)))
		b = append(b, text...)
	}
	for _, number := range [...]int64{
		r.At.UnixNano(), int64(r.Status), r.TokensIn, r.TokensOut, int64(r.TTFT), int64(r.Took),
	} {
		b = binary.AppendVarint(b, number)
	}
	if r.Sandbox {
		return append(b, 1)
	}
	return append(b, 0)
}

// cut shortens a text to TextBytesMax without splitting a character.
func cut(text string) string {
	if len(text) <= TextBytesMax {
		return text
	}
	n := TextBytesMax
	for n > TextBytesMax-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// Decode returns what a payload says, numbered seq. Its error is ErrRecord.
func Decode(payload []byte, seq uint64) (plane.UsageRecord, error) {
	r := plane.UsageRecord{Seq: seq}
	if len(payload) == 0 || payload[0] != recordForm {
		return r, ErrRecord
	}
	b := string(payload[1:]) // one copy, of which the texts are parts
	for _, text := range [...]*string{
		&r.RequestID, &r.AccountID, &r.DeveloperID, &r.AppID, &r.KeyID, &r.Endpoint, &r.Model, &r.Task, &r.Backend, &r.End, &r.Source,
	} {
		if len(b) == 0 || len(b) <= int(b[0]) {
			return r, ErrRecord
		}
		n := 1 + int(b[0])
		*text = strings.ToValidUTF8(b[1:n], "?") // which is never longer
		b = b[n:]
	}
	rest := payload[len(payload)-len(b):]
	var at, status int64
	for _, number := range [...]*int64{
		&at, &status, &r.TokensIn, &r.TokensOut, (*int64)(&r.TTFT), (*int64)(&r.Took),
	} {
		v, n := binary.Varint(rest)
		if n <= 0 {
			return r, ErrRecord
		}
		*number = v
		rest = rest[n:]
	}
	if len(rest) != 1 || rest[0] > 1 {
		return r, ErrRecord
	}
	r.At, r.Status, r.Sandbox = time.Unix(0, at).UTC(), int(status), rest[0] == 1
	return r, nil
}
