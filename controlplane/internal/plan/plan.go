package plan

import (
	"fmt"
	"time"

	"modelgate.internal/shared/apierr"
	"modelgate.internal/shared/key"
	"modelgate.internal/shared/plane"
)

// Plan is one row of the plan table.
type Plan struct {
	ID, Name        string
	CallsPerDay     int64 // of an account, live keys and Darwin tokens together
	PerMinute       int64 // calls per minute of one key
	InFlight        int64 // calls of one key at a time
	TokensPerMinute int64 // model tokens per minute of one key; 0 is unlimited
	Apps            int64 // 0 is unlimited
	Prices          []Price
}

// Price is what a plan costs when it is bought online.
type Price struct {
	Interval string // IntervalMonth or IntervalYear
	Amount   int64  // in the currency's smallest unit, for each interval
	Currency string // ISO 4217, lower case
}

// How often a price is charged.
const (
	IntervalMonth = "month"
	IntervalYear  = "year"
)

// Price returns the price for the interval, and false if the plan has none.
func (p Plan) Price(interval string) (Price, bool) {
	for _, price := range p.Prices {
		if price.Interval == interval {
			return price, true
		}
	}
	return Price{}, false
}

// Above reports whether the plan a is larger than b. An id that is none counts as Free.
func Above(a, b string) bool { return rank(a) > rank(b) }

func rank(id string) int {
	for i, p := range All() {
		if p.ID == id {
			return i
		}
	}
	return 0
}

// IDs of the plans.
const (
	Free       = "free"
	Starter    = "starter"
	Pro        = "pro"
	Enterprise = "enterprise"
)

// All returns the plans, smallest first. It is the only place with limits and prices; a plan without prices cannot be bought.
func All() []Plan {
	return []Plan{
		{ID: Free, Name: "Free", CallsPerDay: 100, PerMinute: 30, InFlight: 10, Apps: 2},
		{ID: Starter, Name: "Starter", CallsPerDay: 2_000, PerMinute: 120, InFlight: 20, Apps: 5, Prices: usd(1_900, 19_000)},
		{ID: Pro, Name: "Pro", CallsPerDay: 10_000, PerMinute: 500, InFlight: 100, Apps: 20, Prices: usd(4_900, 49_000)},
		{ID: Enterprise, Name: "Enterprise", CallsPerDay: 100_000, PerMinute: 5_000, InFlight: 1_000, Apps: 0, Prices: usd(49_900, 499_000)},
	}
}

// usd are prices in cents.
func usd(month, year int64) []Price {
	return []Price{{IntervalMonth, month, "usd"}, {IntervalYear, year, "usd"}}
}

// ByID returns the plan with the id, and false if there is none.
func ByID(id string) (Plan, bool) {
	for _, p := range All() {
		if p.ID == id {
			return p, true
		}
	}
	return Plan{}, false
}

// Terms are what an account may do: its plan and what an operator set differently.
type Terms struct {
	AccountID string // the developer
	Plan      string // id of a plan; any other counts as Free
	PerMinute *int64 // calls per minute of one key instead of the plan's; nil keeps the plan's
	PerDay    *int64 // calls per day of the account instead of the plan's; nil keeps the plan's
	InFlight  *int64 // calls of one key at a time instead of the plan's; nil keeps the plan's
	Tokens    *int64 // model tokens per minute of one key instead of the plan's; nil keeps the plan's
}

func (t Terms) plan() Plan {
	if p, ok := ByID(t.Plan); ok {
		return p
	}
	p, _ := ByID(Free)
	return p
}

// MinuteLimit is how many calls per minute one key may make.
func (t Terms) MinuteLimit() int64 {
	if t.PerMinute != nil {
		return *t.PerMinute
	}
	return t.plan().PerMinute
}

// DayLimit is how many calls per UTC day the account may make.
func (t Terms) DayLimit() int64 {
	if t.PerDay != nil {
		return *t.PerDay
	}
	return t.plan().CallsPerDay
}

// InFlightLimit is how many calls one key may have at a time.
func (t Terms) InFlightLimit() int64 {
	if t.InFlight != nil {
		return *t.InFlight
	}
	return t.plan().InFlight
}

// TokenLimit is how many model tokens per minute one key may use; 0 is unlimited.
func (t Terms) TokenLimit() int64 {
	if t.Tokens != nil {
		return *t.Tokens
	}
	return t.plan().TokensPerMinute
}

// AppLimit is how many apps the account may have; 0 is unlimited.
func (t Terms) AppLimit() int64 { return t.plan().Apps }

// AllowApp returns nil if an account that has the given number of apps may have one more, else a 403 that says why not.
func (t Terms) AllowApp(have int64) error {
	p := t.plan()
	if p.Apps == 0 || have < p.Apps {
		return nil
	}
	return apierr.New(apierr.Forbidden, fmt.Sprintf(
		"The %s plan allows %d apps and you have %d. Delete one or change to a larger plan.", p.Name, p.Apps, have))
}

// Limits are the limits that a key carries, or the session that calls without one. Darwin tokens and sessions belong to no app; test
// keys do not count against the day quota.
func (t Terms) Limits(kind key.Kind, keyID, appID string, appPerMinute int64) []plane.Limit {
	limits := []plane.Limit{{
		Name: plane.LimitKeyMinute, Bucket: "key/" + keyID + "/minute", Max: t.MinuteLimit(), Window: time.Minute,
	}}
	if kind == key.Live || kind == key.Test {
		limits = append(limits, plane.Limit{
			Name: plane.LimitAppMinute, Bucket: "app/" + appID + "/minute", Max: appPerMinute, Window: time.Minute,
		})
	}
	if kind != key.Test {
		limits = append(limits, plane.Limit{
			Name: plane.LimitAccountDay, Bucket: "account/" + t.AccountID + "/day", Max: t.DayLimit(),
			Window: 24 * time.Hour, Daily: true,
		})
	}
	limits = append(limits, plane.Limit{Name: plane.LimitKeyInFlight, Bucket: "key/" + keyID + "/in_flight", Max: t.InFlightLimit()})
	if tokens := t.TokenLimit(); tokens > 0 {
		limits = append(limits, plane.Limit{
			Name: plane.LimitKeyTokens, Bucket: "key/" + keyID + "/tokens", Max: tokens, Window: time.Minute,
		})
	}
	return limits
}
