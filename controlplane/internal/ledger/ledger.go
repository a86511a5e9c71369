package ledger

import (
	"context"
	"fmt"
	"time"

	"modelgate.internal/controlplane/internal/sketch"
	"modelgate.internal/shared/wire"
)

// Part is what was used of one thing of a sort within a range of time.
type Part struct {
	Sort       Sort
	Name       string    // of the thing; empty for SortTime
	At         time.Time // start of the stored bucket, for SortTime
	Usage      wire.Counters
	TTFT, Took sketch.Sketch // of answers that were sent whole; not for SortEnd and SortSource
}

// Sort is what usage is split by.
type Sort string

// The sorts.
const (
	SortTime   Sort = "time"
	SortApp    Sort = "app"
	SortKey    Sort = "key"
	SortModel  Sort = "model"
	SortTask   Sort = "task"
	SortStatus Sort = "status"
	SortEnd    Sort = "end" // the name is the status, a space and the reason
	SortSource Sort = "source"
)

// Range is a question about an app, or about all of an account.
type Range struct {
	AppID, AccountID string    // one of them
	From, To         time.Time // From <= bucket < To
	Unit             Unit      // of the rollups that are read
	FirstDay, EndDay time.Time // the UTC days that are proven: all that the range touches
	// The UTC days that are in a range of hours as a whole. Without any both are From.
	WholeFrom, WholeTo time.Time
}

// Unit is the length of stored rollups.
type Unit string

// The units, which are also what a caller can choose for the points of a series.
const (
	Minute Unit = "minute"
	Hour   Unit = "hour"
	Day    Unit = "day"
)

// Answer is what is stored, all of it read at one moment.
type Answer struct {
	Parts []Part // the most used first within a sort; times in their order
	Drift int64
}

// Store reads the rollups.
type Store interface {
	Usage(ctx context.Context, r Range) (Answer, error)
	// AccountDay returns how many calls of the account count against its quota of the UTC day that begins at day.
	AccountDay(ctx context.Context, accountID string, day time.Time) (int64, error)
	// AccountMinute returns what keys and apps of the account were used since the minute before the one that begins at minute.
	AccountMinute(ctx context.Context, accountID string, minute time.Time) (MinuteAnswer, error)
	// Calls returns at most q.Limit calls before q.Before, the newest first.
	Calls(ctx context.Context, q CallQuery) ([]Call, error)
	// CallsLeftOut returns how many calls of the app since the UTC day are not in the log.
	CallsLeftOut(ctx context.Context, appID string, since time.Time) (int64, error)
}

// Ledger answers questions about usage.
type Ledger struct{ Store Store }

// AppUsage returns what the app was used for. The caller has checked whose app it is; one without usage has zeros. A sum over
// the series or over any list is the total. Errors: 422 when the question cannot be answered; 503.
//
// Drift is how far the rollups are from what the nodes say they sent, over the UTC days that the range touches: the
// differences of calls and tokens by key and day, without their signs. Both are written in one transaction but summed by
// different programs on different machines, so anything but 0 means that records were rejected, that rollups were lost or
// changed afterwards, or that one side is wrong. It does not see records that a node has not delivered yet.
func (l *Ledger) AppUsage(ctx context.Context, appID string, q Question, now time.Time) (wire.AppUsage, error) {
	s, err := l.read(ctx, Range{AppID: appID}, q, now)
	if err != nil {
		return wire.AppUsage{}, err
	}
	return wire.AppUsage{AppID: appID, Usage: s.usage}, nil
}

// AccountUsage returns what the apps and Darwin tokens of an account were used for, like AppUsage.
func (l *Ledger) AccountUsage(ctx context.Context, accountID string, q Question, now time.Time) (wire.AccountUsage, error) {
	s, err := l.read(ctx, Range{AccountID: accountID}, q, now)
	if err != nil {
		return wire.AccountUsage{}, err
	}
	return wire.AccountUsage{ByApp: s.apps, Usage: s.usage}, nil
}

func (l *Ledger) read(ctx context.Context, r Range, q Question, now time.Time) (*summary, error) {
	w, err := q.window(now)
	if err != nil {
		return nil, err
	}
	r.From, r.To, r.Unit = w.from, w.to, w.unit
	r.FirstDay, r.EndDay = startOfDay(w.from), startOfDay(w.to.Add(day-1))
	if r.Unit == Hour {
		r.wholeDays()
	}
	a, err := l.Store.Usage(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("read usage: %w", err)
	}
	return summarize(a, w)
}

// wholeDays has the lists of a range of hours read by the day, its last day included: nothing but calls of a clock that is ahead of
// ours comes after the last hour, and the last point takes them.
func (r *Range) wholeDays() {
	r.To = r.EndDay
	r.WholeFrom, r.WholeTo = startOfDay(r.From.Add(day-1)), r.EndDay
	if !r.WholeFrom.Before(r.WholeTo) {
		r.WholeFrom, r.WholeTo = r.From, r.From
	}
}

// DayUsed returns how many calls of the account count against its day quota on the UTC day of now. Errors: 503.
func (l *Ledger) DayUsed(ctx context.Context, accountID string, now time.Time) (int64, error) {
	used, err := l.Store.AccountDay(ctx, accountID, startOfDay(now))
	if err != nil {
		return 0, fmt.Errorf("read usage of a day: %w", err)
	}
	return used, nil
}

func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(day) }
