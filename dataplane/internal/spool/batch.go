package spool

import (
	"fmt"
	"log/slog"
	"os"

	"modelgate.internal/shared/usage"
)

// enter opens the current segment; one of an earlier process is searched for damage.
func (h *shipper) enter() error {
	f, err := os.Open(h.segment.path)
	if err != nil {
		return fmt.Errorf("read usage segment: %w", err)
	}
	h.file = f
	if h.runs != nil {
		return nil
	}
	data, err := h.readAll()
	if err != nil {
		return fmt.Errorf("read usage segment: %w", err)
	}
	runs, torn := scan(data, usage.Seed(h.segment.incarnation))
	if torn != 0 {
		h.s.o.Log.Warn("usage segment ends in a torn record", slog.String("file", h.segment.path), slog.Int("offset", torn))
	}
	if len(runs) > 1 || (len(runs) == 1 && (runs[0].from != segmentHeaderBytes || runs[0].first != h.segment.first)) {
		h.s.o.Log.Error("usage segment is damaged, shipping what is whole", slog.String("file", h.segment.path), slog.Int("parts", len(runs)))
		h.s.keepAside(h.segment.path)
	}
	h.runs = append([]run{}, runs...)
	return nil
}

// readAll returns the whole file, in the buffer: a segment after the other must not make garbage of its size.
func (h *shipper) readAll() ([]byte, error) {
	info, err := h.file.Stat()
	if err != nil {
		return nil, err
	}
	if size := int(info.Size()); len(h.buffer) < size {
		h.buffer = make([]byte, max(size, uploadBytes))
	}
	data := h.buffer[:info.Size()]
	_, err = h.file.ReadAt(data, 0)
	return data, err
}

// batch is contiguous records without gaps and of one name, as they are in the file.
type batch struct {
	first, last uint64 // both 0 when there are none
	from, to    int    // in the buffer
}

// read returns the next records. It returns none at the end of the segment.
func (h *shipper) read() (batch, error) {
	if h.file == nil {
		if err := h.enter(); err != nil {
			return batch{}, err
		}
	}
	for _, r := range h.runs {
		if r.to <= h.at || r.last < h.next {
			continue
		}
		b, err := h.readRun(r)
		if err != nil || b.last != 0 {
			return b, err
		}
	}
	return batch{}, nil
}

func (h *shipper) readRun(r run) (b batch, err error) {
	h.at = max(h.at, r.from)
	h.stated.Reset()
	seed := usage.Seed(h.segment.incarnation)
	if h.buffer == nil {
		h.buffer = make([]byte, uploadBytes)
	}
	for h.at < r.to && b.last == 0 {
		data := h.buffer[:min(uploadBytes, r.to-h.at)]
		if _, err := h.file.ReadAt(data, int64(h.at)); err != nil {
			return batch{}, fmt.Errorf("read usage segment: %w", err)
		}
		for at := 0; at < len(data); {
			seq, payload, n, ok := usage.Cut(data[at:], seed)
			if !ok && at == 0 {
				return batch{}, fmt.Errorf("%w: record at %d of %s", errDamaged, h.at, h.segment.path)
			}
			if !ok || b.last != 0 && (b.last-b.first+1 == h.records || h.names.starts(h.segment.incarnation, seq)) {
				break // a record that the read ends in the middle of, or that is damaged, is the first of the next one
			}
			if seq < h.next {
				h.at += n
			} else {
				b.add(seq, at, at+n)
				h.stated.Add(payload)
			}
			at += n
		}
	}
	return b, nil
}

func (b *batch) add(seq uint64, from, to int) {
	if b.last == 0 {
		b.first, b.from = seq, from
	}
	b.last, b.to = seq, to
}
