// Package usagetest writes and reads whole uploads of usage records, for the tests of both planes. It is no part of a program.
//
// Concurrency: the functions are safe for concurrent use. What cannot be read is an error.
package usagetest

import (
	"errors"
	"io"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// incarnation is a process that wrote records.
const incarnation = "usagetest"

// Upload returns an upload of the records, each with its Seq as its number, not compressed.
func Upload(records []plane.UsageRecord) []byte {
	var (
		stated usage.Statement
		frames []byte
	)
	for i := range records {
		frame := Frame(&records[i])
		_, payload, _, _ := usage.Cut(frame, usage.Seed(incarnation))
		stated.Add(payload)
		frames = append(frames, frame...)
	}
	return append(usage.AppendPrologue(nil, usage.Origin{Incarnation: incarnation}, &stated), frames...)
}

// Frame returns one record as it stands in such an upload.
func Frame(r *plane.UsageRecord) []byte {
	b := make([]byte, usage.RecordBytesMax)
	return b[:usage.Put(b, usage.Seed(incarnation), r.Seq, r)]
}

// Read returns the records of an upload.
func Read(upload io.Reader) (records []plane.UsageRecord, err error) {
	in, err := usage.NewReader(upload)
	for err == nil {
		var (
			number  uint64
			payload []byte
			r       plane.UsageRecord
		)
		if number, payload, err = in.Next(); errors.Is(err, io.EOF) {
			return records, nil
		}
		if err == nil {
			r, err = usage.Decode(payload, number)
			records = append(records, r)
		}
	}
	return nil, err
}
