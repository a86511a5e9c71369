package spool

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

// A record in a segment, little endian, aligned to 8 bytes:
//
//	payload length (4) | CRC32C of incarnation, length, seq and payload (4) | seq (8) | payload | zeros up to the alignment
//
// The length is written last: a record whose length is zero is not there. The incarnation in the checksum, which no client
// knows, keeps a text inside a record from passing for a record when damage is searched.
const recordHeaderBytes = 16

// recordForm is the first byte of a payload. A payload of another form is damage to this version.
const recordForm = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	errRecord  = errors.New("usage record does not decode")
)

func aligned(n int) int { return (n + bytesPerWord - 1) &^ (bytesPerWord - 1) }

// putRecord writes a record at the beginning of b, which has room for recordBytesMax, and returns its whole length.
func putRecord(b []byte, seed uint32, seq uint64, r *plane.UsageRecord) int {
	payload := appendPayload(b[recordHeaderBytes:recordHeaderBytes:len(b)], r)
	binary.LittleEndian.PutUint64(b[8:], seq)
	length := uint32(len(payload))
	binary.LittleEndian.PutUint32(b[4:], checksum(seed, length, b[8:recordHeaderBytes+len(payload)]))
	// The mapping is in the page cache, so what the process wrote before it died is there in the order of its stores.
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&b[0])), length) //nolint:gosec // aligned; the architectures we build for are little endian
	return aligned(recordHeaderBytes + len(payload))
}

// seedOf is what the checksums of an incarnation's records start from.
func seedOf(incarnation string) uint32 { return crc32.Checksum([]byte(incarnation), castagnoli) }

func checksum(seed, length uint32, seqAndPayload []byte) uint32 {
	return crc32.Update(seed^length, castagnoli, seqAndPayload)
}

// cutRecord returns the record at the beginning of b, with its whole length. It reports false if there is none that is whole.
func cutRecord(b []byte, seed uint32) (seq uint64, payload []byte, n int, ok bool) {
	if len(b) < recordHeaderBytes {
		return 0, nil, 0, false
	}
	length := binary.LittleEndian.Uint32(b)
	if length == 0 || length > recordBytesMax-recordHeaderBytes || int(length) > len(b)-recordHeaderBytes {
		return 0, nil, 0, false
	}
	end := recordHeaderBytes + int(length)
	if checksum(seed, length, b[8:end]) != binary.LittleEndian.Uint32(b[4:]) {
		return 0, nil, 0, false
	}
	return binary.LittleEndian.Uint64(b[8:]), b[recordHeaderBytes:end], aligned(end), true
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

// cut shortens a text to textBytesMax without splitting a character.
func cut(text string) string {
	if len(text) <= textBytesMax {
		return text
	}
	n := textBytesMax
	for n > textBytesMax-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// decodePayload is the inverse of appendPayload.
func decodePayload(seq uint64, b []byte) (plane.UsageRecord, error) {
	r := plane.UsageRecord{Seq: seq}
	if len(b) == 0 || b[0] != recordForm {
		return r, errRecord
	}
	b = b[1:]
	for _, text := range [...]*string{
		&r.RequestID, &r.AccountID, &r.DeveloperID, &r.AppID, &r.KeyID, &r.Endpoint, &r.Model, &r.Task, &r.Backend, &r.End, &r.Source,
	} {
		if len(b) == 0 || len(b) <= int(b[0]) {
			return r, errRecord
		}
		n := 1 + int(b[0])
		*text = strings.ToValidUTF8(string(b[1:n]), "?") // JSON would make it longer than the bound
		b = b[n:]
	}
	var at, status int64
	for _, number := range [...]*int64{
		&at, &status, &r.TokensIn, &r.TokensOut, (*int64)(&r.TTFT), (*int64)(&r.Took),
	} {
		v, n := binary.Varint(b)
		if n <= 0 {
			return r, errRecord
		}
		*number = v
		b = b[n:]
	}
	if len(b) != 1 || b[0] > 1 {
		return r, errRecord
	}
	r.At, r.Status, r.Sandbox = time.Unix(0, at).UTC(), int(status), b[0] == 1
	return r, nil
}
