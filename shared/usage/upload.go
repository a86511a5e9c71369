package usage

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// An upload begins, little endian, with
//
//	magic (8) | numbers that were taken off (8) | incarnation (24) | bytes of the statement (4)
//	| CRC32C of the 44 bytes before and of the statement (4) | statement
//
// and goes on with frames until its end. The digit of the magic is the version of all of it.
const uploadMagic = "mgusage2"

// Origin is where the frames of an upload come from. Their checksums and seqs are of the file they were written to, which
// differ from the names they are sent under when records before them were destroyed.
type Origin struct {
	Incarnation string // of the process that wrote them
	Before      uint64 // taken off the seq of a frame it gives the record's number
}

// AppendPrologue begins an upload of records that add up to the statement.
func AppendPrologue(b []byte, o Origin, stated *Statement) []byte {
	at := len(b)
	b = append(b, uploadMagic...)
	b = binary.LittleEndian.AppendUint64(b, o.Before)
	var name [IncarnationBytesMax]byte
	copy(name[:], o.Incarnation)
	b = append(b, name[:]...)
	b = append(b, make([]byte, 8)...)
	b = stated.append(b)
	head, statement := b[at:at+PrologueBytes], b[at+PrologueBytes:]
	binary.LittleEndian.PutUint32(head[40:], uint32(len(statement)))
	binary.LittleEndian.PutUint32(head[44:], prologueSum(head, statement))
	return b
}

func prologueSum(head, statement []byte) uint32 {
	return crc32.Update(crc32.Checksum(head[:44], castagnoli), castagnoli, statement)
}

// Errors of an upload that cannot be read.
var (
	ErrForm    = errors.New("it is no upload of usage records of a version that is known")
	ErrDamaged = errors.New("it has bytes that are no record")
)

// Reader reads an upload, decompressed. It holds the statement and one record at a time.
type Reader struct {
	in     *bufio.Reader
	origin Origin
	seed   uint32
	stated []StatedLine
}

// NewReader reads the prologue. Its errors are ErrForm and those of r.
func NewReader(r io.Reader) (*Reader, error) {
	in := bufio.NewReaderSize(r, readBytes)
	var head [PrologueBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, form(err)
	}
	n := binary.LittleEndian.Uint32(head[40:])
	if string(head[:8]) != uploadMagic || n > StatementBytesMax {
		return nil, ErrForm
	}
	statement, err := io.ReadAll(io.LimitReader(in, int64(n))) // grows with what is there, not with what is claimed
	if err != nil {
		return nil, form(err)
	}
	lines, ok := parseStatement(statement)
	if !ok || len(statement) != int(n) || prologueSum(head[:], statement) != binary.LittleEndian.Uint32(head[44:]) {
		return nil, ErrForm
	}
	o := Origin{Before: binary.LittleEndian.Uint64(head[8:]), Incarnation: strings.TrimRight(string(head[16:40]), "\x00")}
	return &Reader{in: in, origin: o, seed: Seed(o.Incarnation), stated: lines}, nil
}

// form is ErrForm for an upload that ends too early.
func form(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ErrForm
	}
	return err
}

// Stated is what the sender says the records add up to.
func (r *Reader) Stated() []StatedLine { return r.stated }

// Next returns the number and the payload of the next record; the payload is valid until the next call. The errors are io.EOF
// at the end, one that is ErrDamaged, and those of the reader below.
func (r *Reader) Next() (number uint64, payload []byte, err error) {
	b, err := r.in.Peek(RecordBytesMax) // fewer at the end
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return 0, nil, err
	case len(b) == 0:
		return 0, nil, io.EOF
	}
	seq, payload, n, ok := Cut(b, r.seed)
	if !ok {
		return 0, nil, ErrDamaged
	}
	if seq <= r.origin.Before {
		return 0, nil, fmt.Errorf("%w: record %d has no number", ErrDamaged, seq)
	}
	_, _ = r.in.Discard(n) // they are there; payload stays until the buffer is filled again
	return seq - r.origin.Before, payload, nil
}
