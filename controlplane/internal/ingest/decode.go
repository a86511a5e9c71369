package ingest

import (
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
	"modelgate.internal/shared/usage"
)

// line is one record of a segment, reduced to what is counted.
type line struct {
	at                  time.Time
	id                  RollupID // without its bucket
	tokensIn, tokensOut int64
	failed, counts      bool
	ttft, took          time.Duration // 0 when there is nothing to be told of them
	asked               asked
	bad                 *Rejected // the record cannot be counted; of everything else there is only what it was sent as
}

// segment is the decoded records of an upload with consecutive numbers.
type segment struct {
	first  uint64
	lines  []line
	stated []EdgeDay // what the node says the lines add up to
}

// errUnreadable is a segment of which nothing can be said.
type errUnreadable struct{ reason string }

func (e *errUnreadable) Error() string { return e.reason }

var (
	errTooMany  = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment has more than %d records. Send fewer.", plane.SegmentRecordsMax))
	errTooLarge = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment has more than %d bytes. Send fewer records.", plane.SegmentBytesMax))
	errBomb     = apierr.New(apierr.TooLarge, fmt.Sprintf("The segment decodes to more than %d bytes. Send fewer records.", DecodedBytesMax))
)

// decode reads an upload. Errors: 413; *errUnreadable; *GapError when the records of the segment are not numbered
// consecutively.
func decode(z *zstd.Decoder, body []byte, now time.Time) (*segment, error) {
	if err := z.Reset(bytes.NewReader(body)); err != nil {
		return nil, unreadable(err)
	}
	defer func() { _ = z.Reset(nil) }() // lets go of body; it cannot fail
	limited := &io.LimitedReader{R: z, N: DecodedBytesMax + 1}
	in, err := usage.NewReader(limited)
	if err != nil {
		return nil, unreadable(err)
	}
	s := segment{stated: edges(in.Stated())}
	for {
		number, payload, err := in.Next()
		switch {
		case limited.N == 0:
			return nil, errBomb
		case errors.Is(err, io.EOF) && len(s.lines) == 0:
			return nil, &errUnreadable{"there is no record in it"}
		case errors.Is(err, io.EOF):
			return &s, nil
		case err != nil:
			return nil, unreadable(err)
		case len(s.lines) == plane.SegmentRecordsMax:
			return nil, errTooMany
		case number > SeqMax:
			return nil, &errUnreadable{fmt.Sprintf("a record has the number %d", number)}
		case len(s.lines) == 0:
			s.first = number
		case number != s.first+uint64(len(s.lines)):
			return nil, &GapError{Expected: s.first + uint64(len(s.lines)), Got: number, inside: true}
		}
		s.lines = append(s.lines, parse(payload, number, now))
	}
}

func unreadable(err error) error {
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded):
		return errBomb
	case errors.Is(err, usage.ErrForm), errors.Is(err, usage.ErrDamaged):
		return &errUnreadable{err.Error()}
	}
	return &errUnreadable{"it is no whole zstd stream: " + err.Error()}
}

// parse returns what a record says.
func parse(payload []byte, number uint64, now time.Time) line {
	r, err := usage.Decode(payload, number)
	if err != nil {
		return bad(number, err.Error(), bytes.Clone(payload))
	}
	l, reason := reduce(&r, now)
	if reason == "" {
		return l
	}
	sent := line{at: r.At, tokensIn: r.TokensIn, tokensOut: r.TokensOut, id: RollupID{
		Account: parsed(r.AccountID), App: parsed(r.AppID), Key: parsed(r.KeyID),
	}}
	kept, err := json.Marshal(&r) // for the operator who looks into it
	if err != nil {
		kept = bytes.Clone(payload)
	}
	sent.bad = bad(number, reason, kept).bad
	return sent
}

func bad(number uint64, reason string, kept []byte) line {
	return line{bad: &Rejected{Seq: number, Reason: reason, Body: kept}}
}

// reduce returns what counts of a record, or why it cannot be counted.
func reduce(r *plane.UsageRecord, now time.Time) (l line, reason string) {
	if reason := absurd(r, now); reason != "" {
		return line{}, reason
	}
	id := RollupID{Model: r.Model, Task: r.Task, Status: r.Status, Source: r.Source, End: r.End}
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
	l = line{
		at: r.At, id: id, tokensIn: r.TokensIn, tokensOut: r.TokensOut, failed: failed(r), counts: counts(r),
		asked: asked{id: r.RequestID, endpoint: r.Endpoint, model: r.Model, task: r.Task, ttft: r.TTFT, took: r.Took},
	}
	if r.End == plane.EndDone && r.Status < 400 { // how long a refusal or half an answer took says nothing about answers
		l.ttft, l.took = r.TTFT, r.Took
	}
	return l, ""
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
		plane.EndDeadline, plane.EndDrained, plane.EndLimit, plane.EndNodeCrash:
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
