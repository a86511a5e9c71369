package ingest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/plane"
)

// line is one record of a segment, reduced to what is counted.
type line struct {
	at                  time.Time
	id                  RollupID // without its bucket
	tokensIn, tokensOut int64
	failed, counts      bool
	bad                 *Rejected // the record cannot be counted; everything else is zero
}

// segment is the decoded records of an upload with consecutive numbers.
type segment struct {
	first uint64
	lines []line
}

// errUnreadable is a segment of which nothing can be said.
type errUnreadable struct{ reason string }

func (e *errUnreadable) Error() string { return e.reason }

var (
	errTooMany  = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment has more than %d records. Send fewer.", plane.SegmentRecordsMax))
	errTooLarge = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment has more than %d bytes. Send fewer records.", plane.SegmentBytesMax))
	errBomb     = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment decodes to more than %d bytes. Send fewer records.", DecodedBytesMax))
)

// decode reads a zstd stream of one record a line. Errors: 413; *errUnreadable; *GapError when the records of the segment are
// not numbered consecutively.
func decode(z *zstd.Decoder, body []byte, now time.Time) (*segment, error) {
	if err := z.Reset(bytes.NewReader(body)); err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = z.Reset(nil) }() // lets go of body; it cannot fail
	limited := &io.LimitedReader{R: z, N: DecodedBytesMax + 1}
	in := bufio.NewReaderSize(limited, RecordBytesMax)
	var (
		s     segment
		known bool // first is
	)
	for n := 0; ; n++ {
		text, long, err := nextLine(in)
		if limited.N == 0 {
			return nil, errBomb
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, unreadable(err)
		}
		if n == plane.SegmentRecordsMax {
			return nil, errTooMany
		}
		l, seq := parse(text, long, now)
		if seq != 0 {
			if !known {
				if seq <= uint64(n) {
					return nil, &errUnreadable{fmt.Sprintf("line %d has the number %d", n+1, seq)}
				}
				s.first, known = seq-uint64(n), true
			}
			if want := s.first + uint64(n); seq != want {
				return nil, &GapError{Expected: want, Got: seq, inside: true}
			}
		}
		s.lines = append(s.lines, l)
	}
	if len(s.lines) == 0 {
		return nil, &errUnreadable{"there is no record in it"}
	}
	if !known {
		return nil, &errUnreadable{"no record in it has a number; the first: " + s.lines[0].bad.Reason}
	}
	for i := range s.lines {
		if bad := s.lines[i].bad; bad != nil {
			bad.Seq = s.first + uint64(i)
		}
	}
	return &s, nil
}

func unreadable(err error) error {
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		return errBomb
	}
	return &errUnreadable{"it is no whole zstd stream: " + err.Error()}
}

// nextLine returns the next line without its end. Of one longer than RecordBytesMax it returns the beginning and true.
// The text is valid until the next call.
func nextLine(in *bufio.Reader) (text []byte, long bool, err error) {
	text, err = in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		text = bytes.Clone(text)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, true, err
		}
		return text, true, nil
	case errors.Is(err, io.EOF) && len(text) > 0:
		return text, false, nil
	case err != nil:
		return nil, false, err
	}
	return text[:len(text)-1], false, nil
}

// parse returns what a line says and its number, 0 if it has none.
func parse(text []byte, long bool, now time.Time) (line, uint64) {
	var r plane.UsageRecord
	if long {
		return bad(text, fmt.Sprintf("it has more than %d bytes", RecordBytesMax)), 0
	}
	if err := json.Unmarshal(text, &r); err != nil {
		seq := r.Seq // set when only a later field is of the wrong type
		if seq > SeqMax {
			seq = 0
		}
		return bad(text, "it does not parse: "+err.Error()), seq
	}
	if r.Seq == 0 || r.Seq > SeqMax {
		return bad(text, "seq is not a number from 1"), 0
	}
	l, reason := reduce(&r, now)
	if reason != "" {
		return bad(text, reason), r.Seq
	}
	return l, r.Seq
}

func bad(text []byte, reason string) line {
	// The reason may quote the record, and the database takes neither NUL nor broken UTF-8.
	reason = strings.ToValidUTF8(strings.ReplaceAll(reason, "\x00", "?"), "?")
	return line{bad: &Rejected{Reason: reason, Body: bytes.Clone(text)}}
}

// reduce returns what counts of a record, or why it cannot be counted.
func reduce(r *plane.UsageRecord, now time.Time) (l line, reason string) {
	if reason := absurd(r, now); reason != "" {
		return line{}, reason
	}
	id := RollupID{Model: r.Model, Task: r.Task, Status: r.Status, Source: r.Source}
	var err error
	if id.Account, err = uuid.Parse(r.AccountID); err != nil {
		return line{}, "account_id is not a UUID"
	}
	if id.Key, err = uuid.Parse(r.KeyID); err != nil {
		return line{}, "key_id is not a UUID"
	}
	if r.AppID != "" {
		if id.App, err = uuid.Parse(r.AppID); err != nil {
			return line{}, "app_id is neither empty nor a UUID"
		}
	}
	if claimed(r) {
		id.Model, id.Task = "", ""
	}
	return line{at: r.At, id: id, tokensIn: r.TokensIn, tokensOut: r.TokensOut, failed: failed(r), counts: counts(r)}, ""
}

func absurd(r *plane.UsageRecord, now time.Time) string {
	switch {
	case r.At.Before(now.Add(-AgeMax)):
		return fmt.Sprintf("at is more than %s ago", AgeMax)
	case r.At.After(now.Add(AheadMax)):
		return fmt.Sprintf("at is more than %s ahead", AheadMax)
	case r.Status < 100 || r.Status > 599:
		return "status is not an HTTP status"
	case r.TokensIn < 0 || r.TokensIn > TokensMax || r.TokensOut < 0 || r.TokensOut > TokensMax:
		return fmt.Sprintf("tokens_in or tokens_out is not within 0 and %d", TokensMax)
	case r.TTFT < 0 || r.TTFT > TookMax || r.Took < 0 || r.Took > TookMax:
		return fmt.Sprintf("ttft or took is not within 0 and %s", TookMax)
	}
	switch r.Source {
	case plane.SourceProvider, plane.SourceCounted, plane.SourceEstimated, plane.SourceNone:
	default:
		return "source is unknown"
	}
	switch r.End {
	case plane.EndDone, plane.EndRefused, plane.EndFailed, plane.EndClientGone, plane.EndRevoked, plane.EndUpstreamCut,
		plane.EndDeadline, plane.EndDrained:
	default:
		return "end is unknown"
	}
	for _, text := range [...]string{r.Model, r.Task, r.RequestID, r.DeveloperID, r.Endpoint, r.Backend} {
		if len(text) > TextBytesMax || strings.IndexByte(text, 0) >= 0 {
			return fmt.Sprintf("a text has more than %d bytes or a NUL", TextBytesMax)
		}
	}
	return ""
}
