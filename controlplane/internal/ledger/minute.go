package ledger

import (
	"context"
	"fmt"
	"time"

	"modelgate.internal/shared/wire"
)

// KeyMinute is how often a key was used of late.
type KeyMinute struct {
	KeyID, AppID string // AppID is empty for a Darwin token
	Hint         string // the key masked
	MinuteCalls
}

// AppMinute is how often the keys of an app were used of late.
type AppMinute struct {
	AppID string
	Limit int64 // calls per minute over all keys of the app
	MinuteCalls
}

// MinuteCalls are the calls that limits per minute count, of a UTC minute that is not over and of the one before it.
type MinuteCalls struct {
	Used, Before int64
	LastUsed     time.Time // when the newest of them arrived, or a refused one after it; zero if it is not known
}

// MinuteAnswer is what an account used of its limits per minute, the most used first.
type MinuteAnswer struct {
	Keys []KeyMinute
	Apps []AppMinute
}

// MinuteUsed returns which keys and apps of an account were used in the UTC minute of now and in the one before, with those of the
// most calls first and MinuteRowsMax of each at most. Calls that run do not count yet. Errors: 503.
//
// The limits hold in every 60 s and not by the UTC minute, so what the gateway counts is between Used and Used + Before.
func (l *Ledger) MinuteUsed(ctx context.Context, accountID string, now time.Time) (keys []wire.KeyMinute, apps []wire.AppMinute, err error) {
	from := now.UTC().Truncate(time.Minute)
	a, err := l.Store.AccountMinute(ctx, accountID, from)
	if err != nil {
		return nil, nil, fmt.Errorf("read usage of a minute: %w", err)
	}
	keys, apps = make([]wire.KeyMinute, len(a.Keys)), make([]wire.AppMinute, len(a.Apps))
	for i, k := range a.Keys {
		keys[i] = wire.KeyMinute{KeyID: k.KeyID, Hint: k.Hint, MinuteUse: k.use(from, now)}
		if k.AppID != "" {
			keys[i].AppID = &k.AppID
		}
	}
	for i, app := range a.Apps {
		apps[i] = wire.AppMinute{AppID: app.AppID, Limit: app.Limit, MinuteUse: app.use(from, now)}
	}
	return keys, apps, nil
}

// use tells when the newest call leaves the 60 s that the limit looks at. A node's clock may differ from ours.
func (c MinuteCalls) use(from, now time.Time) wire.MinuteUse {
	newest := from
	if c.Used > 0 {
		newest = now
	}
	if !c.LastUsed.IsZero() && c.LastUsed.Before(newest) {
		newest = c.LastUsed
	}
	return wire.MinuteUse{Used: c.Used, Before: c.Before, ResetsAt: newest.UTC().Add(time.Minute)}
}
