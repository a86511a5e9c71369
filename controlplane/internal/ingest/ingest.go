package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// Upload names the segment that a node sends.
type Upload struct {
	NodeID      string
	Node        string // its name, for the log
	Incarnation string
	Segment     uint64
}

// GapError refuses records because others are missing before them.
type GapError struct {
	Expected uint64 // number of the first missing record
	Got      uint64
	Stored   uint64 // every record up to this one is stored
	inside   bool   // of the segment itself
}

// Error says what to send, as a detail for the node.
func (e *GapError) Error() string {
	if e.inside {
		return fmt.Sprintf("The records of the segment are not numbered without gaps: expected seq %d, got %d.", e.Expected, e.Got)
	}
	return fmt.Sprintf("Records are missing: expected seq %d, got %d. Send them from %d, or begin a new incarnation with seq 1 if they are lost.",
		e.Expected, e.Got, e.Expected)
}

// Receiver takes uploads.
type Receiver struct {
	Now      func() time.Time // set before use, like the next
	PartRows int              // PartRowsMax, less in tests

	store    Store
	log      *slog.Logger
	reads    chan struct{}
	decoders chan *zstd.Decoder
	turn     chan struct{}
	records  *prometheus.CounterVec
	segments *prometheus.CounterVec
}

// NewReceiver returns a receiver that registers its counters with reg.
func NewReceiver(store Store, log *slog.Logger, reg prometheus.Registerer) (*Receiver, error) {
	r := &Receiver{
		Now: time.Now, PartRows: PartRowsMax, store: store, log: log,
		reads: make(chan struct{}, ReadsMax), decoders: make(chan *zstd.Decoder, DecodersMax), turn: make(chan struct{}, 1),
		records: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_usage_records_total", Help: "Usage records received from nodes, by what became of them.",
		}, []string{"outcome"}),
		segments: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "modelgate_usage_segments_total", Help: "Usage uploads received from nodes, by what became of them.",
		}, []string{"outcome"}),
	}
	for range DecodersMax {
		z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(WindowBytesMax), zstd.WithDecoderMaxMemory(DecodedBytesMax))
		if err != nil {
			return nil, fmt.Errorf("make a usage decoder: %w", err)
		}
		r.decoders <- z
	}
	for _, c := range []prometheus.Collector{r.records, r.segments} {
		if err := reg.Register(c); err != nil {
			return nil, fmt.Errorf("register usage counters: %w", err)
		}
	}
	return r, nil
}

// Take reads an upload and counts the records that are not counted yet. When it returns nil, every record up to and
// including Seq of the answer is stored for good: counted, or kept as one that cannot be.
//
// Errors: *GapError; 400 when the upload's names are not valid or the segment cannot be read, which is then kept up to
// RejectedBytesMax; 413; 503. After an error the first records may have been counted, none of them in part: sending all of them again
// goes on behind those, also if the outcome of a commit is unknown.
func (r *Receiver) Take(ctx context.Context, u Upload, body io.Reader) (plane.UsageAck, error) {
	if err := checkUpload(u); err != nil {
		return plane.UsageAck{}, err
	}
	compressed, err := r.receive(ctx, body)
	if err != nil {
		r.segments.WithLabelValues("refused").Inc()
		return plane.UsageAck{}, err
	}
	now := r.Now()
	s, err := r.decode(ctx, compressed, now)
	if err == nil {
		var ack plane.UsageAck
		if ack, err = r.apply(ctx, u, s, now); err == nil {
			return ack, nil
		}
	}
	if e, ok := errors.AsType[*errUnreadable](err); ok {
		return plane.UsageAck{}, r.reject(ctx, u, compressed, e.reason, now)
	}
	outcome := "failed"
	if gap, ok := errors.AsType[*GapError](err); ok {
		outcome = "gap"
		if gap.inside {
			if gap.Stored, err = r.stored(ctx, u, now); err == nil {
				err = gap
			}
		}
		r.log.WarnContext(ctx, "usage records are missing", slog.String("node_id", u.NodeID), slog.String("node", u.Node),
			slog.String("incarnation", u.Incarnation), slog.Uint64("expected", gap.Expected), slog.Uint64("got", gap.Got))
	}
	r.segments.WithLabelValues(outcome).Inc()
	return plane.UsageAck{}, err
}

// receive reads the compressed segment.
func (r *Receiver) receive(ctx context.Context, body io.Reader) ([]byte, error) {
	select {
	case r.reads <- struct{}{}:
		defer func() { <-r.reads }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to receive usage: %w", ctx.Err())
	}
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(body, plane.SegmentBytesMax+1))
	if n > plane.SegmentBytesMax {
		return nil, errTooLarge
	}
	if err != nil {
		return nil, apierr.New(apierr.BadRequest, "The segment broke off. Send it again.").Because(err)
	}
	return b.Bytes(), nil
}

func (r *Receiver) decode(ctx context.Context, compressed []byte, now time.Time) (*segment, error) {
	select {
	case z := <-r.decoders:
		defer func() { r.decoders <- z }()
		return decode(z, compressed, now)
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to decode usage: %w", ctx.Err())
	}
}

// apply counts the records that are not counted yet, in parts. Each part moves the number forward in a transaction of its own, so that
// none is long. Whoever comes after a death between two goes on where it ended, with the same segment.
func (r *Receiver) apply(ctx context.Context, u Upload, s *segment, now time.Time) (plane.UsageAck, error) {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return plane.UsageAck{}, fmt.Errorf("wait to count usage: %w", ctx.Err())
	}
	var (
		end     = s.first + uint64(len(s.lines))
		counted uint64
	)
	for {
		var (
			d    *Delta
			from uint64 // number of its first record
		)
		next, err := r.store.ApplyUsage(ctx, u.NodeID, u.Incarnation, now, func(next uint64) (*Delta, error) {
			if s.first > next {
				return nil, &GapError{Expected: next, Got: s.first, Stored: next - 1}
			}
			if end <= next {
				d = nil
				return nil, nil
			}
			if d == nil || from != next {
				d, from = s.part(next-s.first, now, r.PartRows), next
			}
			return d, nil
		})
		if err != nil {
			return plane.UsageAck{}, fmt.Errorf("count usage: %w", err)
		}
		if d != nil {
			counted += next - from
			r.noteRecords(ctx, u, d, next-from)
		}
		if next >= end {
			r.noteSegment(counted, uint64(len(s.lines)))
			return plane.UsageAck{Seq: next - 1}, nil
		}
	}
}

// part adds up the records behind the first so many, as many of them as one transaction should take. The last part has what is left of
// what the node states; where the statement and the records differ, it shows there.
func (s *segment) part(before uint64, now time.Time, rowsMax int) *Delta {
	lines := s.lines[before:]
	d, n := sum(lines, now, rowsMax)
	if n == len(lines) {
		d.Edges = fresh(s.stated, s.lines[:before])
	} else {
		d.Edges = own(lines[:n])
	}
	d.Calls, d.LeftOut = logged(lines[:n], max(1, CallsMax*n/len(s.lines)))
	d.Next = s.first + before + uint64(n)
	return d
}

func (r *Receiver) noteRecords(ctx context.Context, u Upload, d *Delta, counted uint64) {
	r.records.WithLabelValues("applied").Add(float64(counted - uint64(len(d.Rejected))))
	r.records.WithLabelValues("rejected").Add(float64(len(d.Rejected)))
	if len(d.Rejected) > 0 {
		r.log.ErrorContext(ctx, "usage records rejected and set aside", slog.String("node_id", u.NodeID), slog.String("node", u.Node),
			slog.String("incarnation", u.Incarnation), slog.Uint64("seq", d.Rejected[0].Seq), slog.Int("records", len(d.Rejected)),
			slog.String("reason", d.Rejected[0].Reason))
	}
}

func (r *Receiver) noteSegment(counted, all uint64) {
	r.records.WithLabelValues("duplicate").Add(float64(all - counted))
	outcome := "applied"
	if counted == 0 {
		outcome = "duplicate"
	}
	r.segments.WithLabelValues(outcome).Inc()
}

// stored returns how far the incarnation is stored.
func (r *Receiver) stored(ctx context.Context, u Upload, now time.Time) (uint64, error) {
	next, err := r.store.ApplyUsage(ctx, u.NodeID, u.Incarnation, now, func(uint64) (*Delta, error) { return nil, nil })
	if err != nil {
		return 0, fmt.Errorf("read how far usage is counted: %w", err)
	}
	return next - 1, nil
}

// reject keeps a segment that cannot be read and returns the answer to it.
func (r *Receiver) reject(ctx context.Context, u Upload, compressed []byte, reason string, now time.Time) error {
	r.segments.WithLabelValues("rejected").Inc()
	r.log.ErrorContext(ctx, "usage segment rejected and set aside", slog.String("node_id", u.NodeID), slog.String("node", u.Node),
		slog.String("incarnation", u.Incarnation), slog.Uint64("segment", u.Segment), slog.String("reason", reason))
	kept := Rejected{Seq: u.Segment, Whole: true, Reason: reason, Body: compressed[:min(len(compressed), RejectedBytesMax)]}
	if err := r.store.RejectSegment(ctx, u.NodeID, u.Incarnation, now, kept); err != nil {
		return fmt.Errorf("set a usage segment aside: %w", err)
	}
	return apierr.New(apierr.BadRequest, "The segment cannot be read: "+reason+". Nothing of it is counted.")
}

// checkUpload holds the names to what a node makes up.
func checkUpload(u Upload) error {
	good := u.Incarnation != "" && len(u.Incarnation) <= IncarnationBytesMax && u.Segment <= SeqMax
	for i := range len(u.Incarnation) {
		if c := u.Incarnation[i]; c <= ' ' || c > '~' {
			good = false
		}
	}
	if !good {
		return apierr.New(apierr.BadRequest, fmt.Sprintf(
			"%s must be 1 to %d printable ASCII characters without spaces, %s a number.", plane.HeaderIncarnation, IncarnationBytesMax, plane.HeaderSegment))
	}
	return nil
}
