package spool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/plane"
	"modelgate.internal/shared/usage"
)

// shipper uploads the records of the queue in order and drops segments whose records are all acknowledged. Except for acked it
// is used by one goroutine.
type shipper struct {
	s       *Spool
	encoder *zstd.Encoder
	names   names
	acked   atomic.Uint64   // of this process's records
	records uint64          // at most this many in an upload
	buffer  []byte          // what was read; nil until the first
	stated  usage.Statement // of the batch

	failing bool

	segment  *segment // whose records are being shipped
	file     *os.File
	runs     []run
	next     uint64   // seq to be shipped next; 0 before the first upload of a segment
	at       int      // offset of a record that is not after next
	previous position // of the newest acknowledgement
}

// position is how far an incarnation is acknowledged.
type position struct {
	incarnation string
	acked       uint64
}

func newShipper(s *Spool) (*shipper, error) {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("make usage encoder: %w", err)
	}
	names, err := loadNames(s.dir, s.queue)
	if err != nil {
		return nil, err
	}
	return &shipper{s: s, encoder: encoder, names: names, records: uploadRecordsMax}, nil
}

func (h *shipper) run(ctx context.Context) {
	defer h.leave()
	runtime.LockOSThread() // whose time says what shipping costs
	defer runtime.UnlockOSThread()
	wait, pace := retryFirst, pacer{at: time.Now()}
	for ctx.Err() == nil {
		before := threadTime()
		more, err := h.step(ctx)
		idle := pace.rest(time.Now(), threadTime()-before, h.s.stats.appended.Load(), h.s.stats.acknowledged.Load(), runtime.GOMAXPROCS(0))
		switch {
		case err != nil && ctx.Err() == nil:
			if !h.failing {
				h.s.o.Log.Warn("usage records are not being shipped, trying again", slog.Any("error", err))
			}
			h.failing = true
			pause(ctx, wait/2+rand.N(wait/2)) //nolint:gosec // spreads load, guards nothing
			wait = min(2*wait, retryMax)
		case err == nil:
			if h.failing && more {
				h.s.o.Log.Info("usage records are being shipped again")
				h.failing = false
			}
			wait = retryFirst
			switch {
			case !more: // calls are to be seen soon
				pause(ctx, shipEvery)
			case h.s.behind():
				pause(ctx, idle)
			}
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainWait)
	defer cancel()
	select {
	case <-h.s.settled:
	case <-last.Done():
	}
	for more := true; more && last.Err() == nil; {
		var err error
		if more, err = h.step(last); err != nil {
			return // the next process ships the rest
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// step ships one batch or drops one segment. It reports false if there is nothing to do before more calls have ended: a batch
// that holds all there is, however small, is followed by a pause, so that a busy node sends few large ones.
func (h *shipper) step(ctx context.Context) (more bool, err error) {
	segment, sealed, newest := h.head()
	if segment == nil {
		return false, nil
	}
	b, err := h.read()
	if err != nil {
		if errors.Is(err, errDamaged) && sealed {
			h.s.distrust(segment)
			h.leave()
		}
		return false, err
	}
	if b.last != 0 {
		err := h.upload(ctx, b)
		return sealed || h.next <= newest, err
	}
	if !sealed {
		return false, nil
	}
	if err := h.s.drop(segment); err != nil {
		return false, err
	}
	h.leave()
	return true, nil
}

// head goes to the first segment of the queue and to what has been appended to it since and is on disk, up to the record newest:
// what the control plane has must not be missing here after a loss of power, or its call would be taken for one that was cut.
func (h *shipper) head() (first *segment, sealed bool, newest uint64) {
	h.s.mu.Lock()
	if len(h.s.queue) == 0 {
		h.s.mu.Unlock()
		return nil, false, 0
	}
	first = h.s.queue[0]
	suspect := first.suspect
	sealed = first.sealed && (suspect || first.durable == first.tail)
	live := run{from: segmentHeaderBytes, to: first.durable, first: first.first, last: first.kept}
	h.s.mu.Unlock()
	if h.segment != first {
		h.leave()
		h.segment = first
		h.at = segmentHeaderBytes
		h.runs = nil // of a suspect segment: scanned when it is opened
	}
	if !suspect {
		h.runs = []run{live}
	}
	return first, sealed, live.last
}

// leave closes the current segment.
func (h *shipper) leave() {
	if h.file != nil {
		_ = h.file.Close()
	}
	h.segment, h.file, h.next = nil, nil, 0
}

// upload sends a batch and goes where the answer says. The records leave as they are in the file; what their numbers are under
// the name of the upload stands before them, and what they add up to. The two are zstd frames of one stream.
func (h *shipper) upload(ctx context.Context, b batch) error {
	if h.segment.incarnation == h.s.incarnation { // before a record leaves, the journal says on disk that its call has ended
		if err := h.s.journal.sync(0); err != nil {
			return err
		}
	}
	name, from := h.names.of(h.segment.incarnation, b.first)
	head := usage.AppendPrologue(nil, usage.Origin{Incarnation: h.segment.incarnation, Before: from - 1}, &h.stated)
	header := http.Header{
		"Content-Type":          {"application/octet-stream"},
		"Content-Encoding":      {"zstd"},
		plane.HeaderIncarnation: {name},
		plane.HeaderSegment:     {strconv.FormatUint(b.first-from+1, 10)},
	}
	ctx, cancel := context.WithTimeout(ctx, uploadWait)
	defer cancel()
	// The compressed bytes are not kept for the next upload: the client may still be writing them when it has the answer.
	body := h.compress(h.buffer[b.from:b.to], h.encoder.EncodeAll(head, nil))
	status, answer, err := h.s.o.Uploader.Send(ctx, plane.UsagePath, header, body)
	if err != nil {
		h.shrink(b)
		return fmt.Errorf("upload usage records: %w", err)
	}
	switch {
	case status == http.StatusRequestEntityTooLarge && h.records > 1:
		h.records = (b.last-b.first)/2 + 1
		return nil
	case status == http.StatusConflict, status >= 200 && status <= 299:
	default:
		h.shrink(b)
		return fmt.Errorf("control plane answers %d to usage records: %.300s", status, answer)
	}
	stored, err := storedSeq(answer)
	if err != nil {
		return fmt.Errorf("control plane answers %d to usage records: %w", status, err)
	}
	h.records = min(2*h.records, uploadRecordsMax)
	return h.acknowledged(stored+from-1, b.first, b.last)
}

// compress appends the records a window at a time and lets calls run in between.
func (h *shipper) compress(records, body []byte) []byte {
	for len(records) > 0 {
		n := min(len(records), windowBytes)
		body = h.encoder.EncodeAll(records[:n], body)
		records = records[n:]
		runtime.Gosched()
	}
	return body
}

// shrink has less sent after an upload that failed: a control plane that is slow, or near its end, can take a part of it within
// the time that it gives a transaction.
func (h *shipper) shrink(b batch) {
	h.records = max((b.last-b.first+1)/2, uploadRecordsMin)
}

// storedSeq reads a plane.UsageAck, which a 409 brings, too. An answer without the number is not one: taking it for "nothing is
// stored" would number records anew that are counted already.
func storedSeq(answer []byte) (uint64, error) {
	var ack struct {
		Seq *uint64 `json:"seq"`
	}
	if err := json.Unmarshal(answer, &ack); err != nil {
		return 0, fmt.Errorf("decode acknowledgement: %w", err)
	}
	if ack.Seq == nil {
		return 0, fmt.Errorf("no seq in %.300s", answer)
	}
	return *ack.Seq, nil
}

// acknowledged goes on after acked, the last record that the control plane has of the name; first and last are what was sent.
func (h *shipper) acknowledged(acked, first, last uint64) error {
	own := h.segment.incarnation == h.s.incarnation
	switch {
	case own && acked > h.s.Stats().Appended:
		return fmt.Errorf("control plane acknowledges usage record %d, which was not written yet", acked)
	case acked >= first: // perhaps more than was sent now: an earlier upload whose answer was lost
		h.note(acked, first, last)
		if own {
			h.acked.Store(acked)
		}
		return nil
	case acked+1 == first:
		return errors.New("control plane stores none of the usage records it was sent")
	case h.holds(acked + 1): // it has less than it said before
		h.next, h.at = acked+1, segmentHeaderBytes
		return nil
	default:
		return h.rename(acked + 1)
	}
}

// note counts stored records, and lost ones when the control plane stored records beyond a gap.
func (h *shipper) note(acked, first, last uint64) {
	p := position{h.segment.incarnation, acked}
	if h.previous.incarnation == p.incarnation && first > h.previous.acked+1 {
		h.lose(h.previous.acked+1, first)
	}
	h.previous = p
	h.next = acked + 1
	h.s.stats.acknowledged.Add(min(acked, last) - first + 1)
}

// lose reports the records from first to before next as destroyed.
func (h *shipper) lose(first, next uint64) {
	h.s.stats.lost.Add(next - first)
	h.s.o.Log.Error("usage records are lost", slog.Any("incarnation", h.segment.incarnation), slog.Uint64("first_seq", first), slog.Uint64("last_seq", next-1))
}

// holds reports whether the segment has the record.
func (h *shipper) holds(seq uint64) bool {
	for _, r := range h.runs {
		if r.first <= seq && seq <= r.last {
			return true
		}
	}
	return false
}

// rename ships what follows a gap under a new name. The control plane waits for a record that is nowhere any more, so it has
// none of the later ones, and they can be numbered anew without counting any twice. The name is durable before it is used.
func (h *shipper) rename(wanted uint64) error {
	var from uint64
	for _, r := range h.runs {
		if r.first > wanted {
			from = r.first
			break
		}
	}
	if from == 0 {
		return fmt.Errorf("control plane waits for usage record %d, which this node does not have", wanted)
	}
	name, err := newIncarnation(h.s.o.Now())
	if err != nil {
		return err
	}
	if err := h.names.add(h.s.dir, h.segment.incarnation, alias{From: from, Incarnation: name}); err != nil {
		return err
	}
	h.lose(wanted, from)
	h.previous = position{h.segment.incarnation, from - 1}
	h.next, h.at = from, segmentHeaderBytes
	return nil
}
