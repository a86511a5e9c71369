package counter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"modelgate.internal/shared/apierr"
)

// ErrFull says that an event was not counted because EventsMax others are.
var ErrFull = errors.New("no place for one more public counter")

// State is all counters at one moment.
type State struct {
	Since   time.Time // when they were zero
	Events  map[string]int64
	Dropped int64 // events that were not counted because of EventsMax
}

// Total is the sum over all events.
func (s State) Total() int64 {
	var total int64
	for _, count := range s.Events {
		total += count
	}
	return total
}

// Store keeps the counters.
type Store interface {
	// Count raises an event's counter by one and returns it. A new event that is none of reserved needs one of the given
	// places for all that are not reserved; without one it is noted as dropped and the error is [ErrFull].
	Count(ctx context.Context, event string, reserved []string, places int) (int64, error)
	// Counters returns all that were ever counted since the last reset.
	Counters(ctx context.Context) (State, error)
	// ResetCounters removes all counters.
	ResetCounters(ctx context.Context, at time.Time) error
}

// Counters are the public counters.
type Counters struct {
	Store Store
	Admin bool // whether the debug view and the reset answer
	Now   func() time.Time
}

// Known returns the events that always have a counter, with their labels: those a page of ours would count. page_view is
// what the embeddable script and the badge take when nothing else is named.
func Known() []Event {
	return []Event{
		{"page_view", "Page views"},
		{"snippet_copied", "Snippets copied"},
		{"demo_opened", "Demos opened"},
		{"docs_opened", "Documentation opened"},
	}
}

// Event is an event that has a label of its own.
type Event struct{ Name, Label string }

// Track counts an event and returns its counter. The error is a 422 for a name that does not have the shape, and when
// there is no place for one more.
func (c *Counters) Track(ctx context.Context, event string) (int64, error) {
	if item, ok := checkName(event, "body", "event"); !ok {
		return 0, apierr.Violations(item)
	}
	known := Known()
	reserved := make([]string, len(known))
	for i, e := range known {
		reserved[i] = e.Name
	}
	count, err := c.Store.Count(ctx, event, reserved, EventsMax-len(reserved))
	if errors.Is(err, ErrFull) {
		return 0, apierr.Violations(apierr.Item{
			Type: "value_error", Loc: []any{"body", "event"}, Input: event,
			Msg: fmt.Sprintf("Value error, %d different events are counted already and this is none of them", EventsMax),
		}).Because(err)
	}
	return count, err
}

// All returns every counter; those of Known are there even when they are zero.
func (c *Counters) All(ctx context.Context) (State, error) {
	s, err := c.Store.Counters(ctx)
	if err != nil {
		return State{}, err
	}
	for _, e := range Known() {
		s.Events[e.Name] += 0
	}
	return s, nil
}

// Chosen returns the counters of the named events, all of them when none is named. An event that was never counted is
// zero. The error is a 422 that lists the names that do not have the shape.
func (c *Counters) Chosen(ctx context.Context, events []string) (State, error) {
	if len(events) == 0 {
		return c.All(ctx)
	}
	var items []apierr.Item
	for i, event := range events {
		if item, ok := checkName(event, "body", "events", i); !ok {
			items = append(items, item)
		}
	}
	if len(items) > 0 {
		return State{}, apierr.Violations(items...)
	}
	all, err := c.Store.Counters(ctx)
	if err != nil {
		return State{}, err
	}
	chosen := State{Since: all.Since, Dropped: all.Dropped, Events: make(map[string]int64, len(events))}
	for _, event := range events {
		chosen.Events[event] = all.Events[event]
	}
	return chosen, nil
}

// One returns the counter of an event that was named in a query.
func (c *Counters) One(ctx context.Context, event string) (int64, error) {
	if item, ok := checkName(event, "query", "event"); !ok {
		return 0, apierr.Violations(item)
	}
	s, err := c.Store.Counters(ctx)
	return s.Events[event], err
}

// Debug is All, where the operator allows it; else the error is a 403.
func (c *Counters) Debug(ctx context.Context) (State, error) {
	if err := c.allowed("The debug view is"); err != nil {
		return State{}, err
	}
	return c.All(ctx)
}

// Reset removes all counters, where the operator allows it; else the error is a 403. It returns since when they count.
func (c *Counters) Reset(ctx context.Context) (time.Time, error) {
	if err := c.allowed("Resetting the counters is"); err != nil {
		return time.Time{}, err
	}
	at := c.Now().UTC().Truncate(time.Microsecond) // as the database keeps it
	return at, c.Store.ResetCounters(ctx, at)
}

func (c *Counters) allowed(what string) error {
	if c.Admin {
		return nil
	}
	return apierr.New(apierr.Forbidden, what+" possible only where the operator's setting metrics_admin is on, and here it is off.")
}

// namePattern is what checkName demands, for the message.
const namePattern = "^[a-z][a-z0-9_]*$"

// checkName returns what is wrong with the name of an event.
func checkName(name string, loc ...any) (apierr.Item, bool) {
	switch {
	case len(name) > NameBytesMax:
		return apierr.Item{
			Type: "string_too_long", Loc: loc, Msg: fmt.Sprintf("String should have at most %d characters", NameBytesMax),
			Input: strings.ToValidUTF8(name[:NameBytesMax], "") + "…", Ctx: map[string]any{"max_length": NameBytesMax},
		}, false
	case name == "" || name[0] < 'a' || name[0] > 'z' || strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_'
	}):
		return apierr.Item{
			Type: "string_pattern_mismatch", Loc: loc, Msg: "String should match pattern '" + namePattern + "'",
			Input: name, Ctx: map[string]any{"pattern": namePattern},
		}, false
	}
	return apierr.Item{}, true
}

// Label is what people call an event: the label of a known one, else its name with spaces and a capital.
func Label(event string) string {
	known := Known()
	if i := slices.IndexFunc(known, func(e Event) bool { return e.Name == event }); i >= 0 {
		return known[i].Label
	}
	words := strings.Join(strings.FieldsFunc(event, func(c rune) bool { return c == '_' }), " ")
	if words == "" {
		return event
	}
	return strings.ToUpper(words[:1]) + words[1:]
}
