package ledger

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"modelgate.internal/controlplane/internal/ingest"
	"modelgate.internal/shared/id"
	"modelgate.internal/shared/wire"
)

// Call is an entry of the log of an app's calls.
type Call struct {
	Place
	KeyID               string
	Hint                *string // the key masked; nil once it is deleted
	Endpoint            string
	Task, Model         string
	Status              int
	End, Source         string
	TTFT, Took          time.Duration // TTFT is 0 when there was no first event
	TokensIn, TokensOut int64
}

// Place is where in the log a call is: newer ones first, of one microsecond by id.
type Place struct {
	At time.Time
	ID string
}

// CallQuery asks for a part of the log.
type CallQuery struct {
	AppID                string
	KeyID, Model         string    // "" for any
	StatusFrom, StatusTo int       // StatusFrom <= status < StatusTo; 0 for any
	From, To             time.Time // From <= at < To; zero for all that is kept
	Cursor               string    // of the page before, "" for the first
	Before               Place     // what the cursor says
	Limit                int
}

// AppCalls returns a page of the calls of an app, the newest first. The caller has checked whose app it is. Errors: 422 for a
// cursor or a key id that is none; 503.
func (l *Ledger) AppCalls(ctx context.Context, q CallQuery, now time.Time) (wire.RequestPage, error) {
	page := wire.RequestPage{Requests: []wire.RequestEntry{}, KeptDays: int(ingest.CallsKept / day)}
	if q.KeyID != "" && !id.Valid(q.KeyID) {
		return page, refused("key_id", "it must be the id of a key", q.KeyID)
	}
	since := now.Add(-ingest.CallsKept)
	if q.From.Before(since) { // what is pruned a little later is gone already
		q.From = since
	}
	if q.To.IsZero() {
		q.To = now.Add(ingest.AheadMax) // a node's clock may be ahead
	}
	q.Before.At = q.To
	if q.Cursor != "" {
		var ok bool
		if q.Before, ok = place(q.Cursor); !ok {
			return page, refused("cursor", "it must be the next_cursor of a page", q.Cursor)
		}
	}
	limit := q.Limit
	q.Limit++
	calls, err := l.Store.Calls(ctx, q)
	if err != nil {
		return page, fmt.Errorf("read calls: %w", err)
	}
	if len(calls) > limit {
		calls = calls[:limit]
		next := calls[limit-1].cursor()
		page.NextCursor = &next
	}
	for i := range calls {
		page.Requests = append(page.Requests, entry(&calls[i]))
	}
	if page.LeftOut, err = l.Store.CallsLeftOut(ctx, q.AppID, startOfDay(since)); err != nil {
		return page, fmt.Errorf("read calls: %w", err)
	}
	return page, nil
}

func entry(c *Call) wire.RequestEntry {
	e := wire.RequestEntry{
		ID: c.ID, At: c.At, KeyID: c.KeyID, Hint: c.Hint, Endpoint: c.Endpoint, Task: c.Task, Model: c.Model, Status: c.Status, End: c.End,
		TookMS: c.Took.Round(time.Millisecond).Milliseconds(), TokensIn: c.TokensIn, TokensOut: c.TokensOut, Source: c.Source,
	}
	if c.TTFT > 0 {
		ms := c.TTFT.Round(time.Millisecond).Milliseconds()
		e.TTFTMS = &ms
	}
	return e
}

// cursor is a place as text: microseconds since 1970 and the id.
func (p Place) cursor() string { return strconv.FormatInt(p.At.UnixMicro(), 10) + "-" + p.ID }

func place(cursor string) (Place, bool) {
	at, id, ok := strings.Cut(cursor, "-")
	micros, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil || micros < 0 || micros > cursorMicrosMax || strings.ContainsRune(id, 0) {
		return Place{}, false
	}
	return Place{time.UnixMicro(micros).UTC(), id}, true
}
