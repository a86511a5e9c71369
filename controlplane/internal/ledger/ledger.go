package ledger

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/wire"
)

// Part is what an app used of one thing of a sort within a range of time.
type Part struct {
	Sort  Sort
	Name  string    // of the thing; empty for SortTime
	At    time.Time // start of the bucket, for SortTime
	Usage wire.Counters
}

// Sort is what usage is split by.
type Sort string

// The sorts.
const (
	SortTime   Sort = "time"
	SortKey    Sort = "key"
	SortModel  Sort = "model"
	SortTask   Sort = "task"
	SortStatus Sort = "status"
)

// Range is a question about an app.
type Range struct {
	AppID    string
	From, To time.Time // From <= bucket < To
	Hourly   bool      // by hours, else by UTC days
}

// Answer is what is stored, all of it read at one moment.
type Answer struct {
	Parts   []Part // the most used first within a sort; times in their order
	Applied int64  // calls of the app that were counted from nodes, ever
	Stored  int64  // calls of the app in the rollups, ever
}

// Store reads the rollups.
type Store interface {
	AppUsage(ctx context.Context, r Range) (Answer, error)
	// AccountDay returns how many calls of the account count against its quota of the UTC day that begins at day.
	AccountDay(ctx context.Context, accountID string, day time.Time) (int64, error)
}

// Ledger answers questions about usage.
type Ledger struct{ Store Store }

// Usage returns what the app used in the last days UTC days, today being the last: by hours up to HourlyDays days (and up to
// this hour), else by days. A sum over the series, the keys, the models, the tasks or the statuses is the total. The caller has checked whose app it
// is; one without usage has zeros. Errors: 422 when days is not within 1 and DaysMax; 503.
//
// Drift is the calls that were counted from the nodes less those that the day rollups hold, over all time. Both are written
// in the same transaction, so anything but 0 means that rollups were lost or changed afterwards, or that ingest is wrong.
// It does not see records that a node has not delivered yet or that were rejected, nor the hour rollups.
func (l *Ledger) Usage(ctx context.Context, appID string, days int, now time.Time) (wire.AppUsage, error) {
	if days < 1 || days > DaysMax {
		return wire.AppUsage{}, outOfRange(days)
	}
	r := window(days, now)
	r.AppID = appID
	a, err := l.Store.AppUsage(ctx, r)
	if err != nil {
		return wire.AppUsage{}, fmt.Errorf("read usage of an app: %w", err)
	}
	usage := wire.AppUsage{
		AppID: appID, Days: days, Series: emptySeries(r), Drift: a.Applied - a.Stored,
		ByKey: []wire.KeyUsage{}, ByModel: []wire.ModelUsage{}, ByTask: []wire.TaskUsage{}, ByStatus: []wire.StatusUsage{},
	}
	for _, p := range a.Parts {
		switch p.Sort {
		case SortTime:
			usage.Series[int(p.At.Sub(r.From)/r.step())].Counters = p.Usage
			usage.Totals.Calls += p.Usage.Calls
			usage.Totals.Errors += p.Usage.Errors
			usage.Totals.TokensIn += p.Usage.TokensIn
			usage.Totals.TokensOut += p.Usage.TokensOut
		case SortKey:
			usage.ByKey = append(usage.ByKey, wire.KeyUsage{KeyID: p.Name, Counters: p.Usage})
		case SortModel:
			usage.ByModel = append(usage.ByModel, wire.ModelUsage{Model: p.Name, Counters: p.Usage})
		case SortTask:
			usage.ByTask = append(usage.ByTask, wire.TaskUsage{Task: p.Name, Counters: p.Usage})
		case SortStatus:
			status, err := strconv.Atoi(p.Name)
			if err != nil {
				return wire.AppUsage{}, fmt.Errorf("read usage of an app: status %q: %w", p.Name, err)
			}
			usage.ByStatus = append(usage.ByStatus, wire.StatusUsage{Status: status, Counters: p.Usage})
		}
	}
	return usage, nil
}

// DayUsed returns how many calls of the account count against its day quota on the UTC day of now. Errors: 503.
func (l *Ledger) DayUsed(ctx context.Context, accountID string, now time.Time) (int64, error) {
	used, err := l.Store.AccountDay(ctx, accountID, startOfDay(now))
	if err != nil {
		return 0, fmt.Errorf("read usage of a day: %w", err)
	}
	return used, nil
}

// window is the range of the last days at now, up to the end of this hour or of today.
func window(days int, now time.Time) Range {
	r := Range{From: startOfDay(now).AddDate(0, 0, 1-days), To: startOfDay(now).AddDate(0, 0, 1), Hourly: days <= HourlyDays}
	if r.Hourly {
		r.To = now.UTC().Truncate(time.Hour).Add(time.Hour)
	}
	return r
}

func (r Range) step() time.Duration {
	if r.Hourly {
		return time.Hour
	}
	return hoursPerDay * time.Hour
}

func emptySeries(r Range) []wire.UsagePoint {
	series := make([]wire.UsagePoint, 0, r.To.Sub(r.From)/r.step())
	for at := r.From; at.Before(r.To); at = at.Add(r.step()) { // UTC has no days of another length
		series = append(series, wire.UsagePoint{At: at})
	}
	return series
}

func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(hoursPerDay * time.Hour) }

func outOfRange(days int) error {
	item := apierr.Item{
		Type: "greater_than_equal", Loc: []any{"query", "days"}, Msg: "Input should be greater than or equal to 1",
		Input: strconv.Itoa(days), Ctx: map[string]any{"ge": 1},
	}
	if days > DaysMax {
		item.Type, item.Msg = "less_than_equal", fmt.Sprintf("Input should be less than or equal to %d", DaysMax)
		item.Ctx = map[string]any{"le": DaysMax}
	}
	return apierr.Violations(item)
}
