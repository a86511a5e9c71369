package counter_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"modelgate.internal/controlplane/internal/counter"
	"modelgate.internal/shared/apierr"
)

// kept stands for the database.
type kept struct {
	events map[string]int64
	places int
}

func (k *kept) Count(_ context.Context, event string, _ []string, places int) (int64, error) {
	k.places = places
	if event == "full" {
		return 0, counter.ErrFull
	}
	k.events[event]++
	return k.events[event], nil
}

func (k *kept) Counters(context.Context) (counter.State, error) {
	return counter.State{Since: time.Unix(1, 0), Events: k.events, Dropped: 3}, nil
}

func (k *kept) ResetCounters(context.Context, time.Time) error {
	clear(k.events)
	return nil
}

func TestNamesOfEvents(t *testing.T) {
	for name, want := range map[string]string{
		"page_view": "", "a": "", "a_1": "", strings.Repeat("x", 64): "",
		"": "string_pattern_mismatch", "_a": "string_pattern_mismatch", "1a": "string_pattern_mismatch", "A": "string_pattern_mismatch",
		"a b": "string_pattern_mismatch", "a\n": "string_pattern_mismatch", "é": "string_pattern_mismatch", "a\x00": "string_pattern_mismatch",
		strings.Repeat("x", 65): "string_too_long", strings.Repeat("é", 33): "string_too_long",
	} {
		k := &kept{events: map[string]int64{}}
		_, err := (&counter.Counters{Store: k, Now: time.Now}).Track(t.Context(), name)
		got := ""
		if e := apierr.From(err); err != nil {
			got = e.Items[0].Type
		}
		if got != want || (err == nil) != (k.events[name] == 1) {
			t.Errorf("%q: %q, counted %v; want %q", name, got, k.events, want)
		}
	}
}

func TestAFullTableIsExplained(t *testing.T) {
	k := &kept{events: map[string]int64{}}
	_, err := (&counter.Counters{Store: k, Now: time.Now}).Track(t.Context(), "full")
	if e := apierr.From(err); err == nil || e.Kind != apierr.Invalid || !strings.Contains(e.Items[0].Msg, "64 different events") || !errors.Is(err, counter.ErrFull) {
		t.Errorf("%v", err)
	}
	if k.places != counter.EventsMax-len(counter.Known()) {
		t.Errorf("%d places for others", k.places)
	}
}

func TestOnlyAnOperatorMayLetDebugAndReset(t *testing.T) {
	k := &kept{events: map[string]int64{"a": 2}}
	c := &counter.Counters{Store: k, Now: time.Now}
	_, debugErr := c.Debug(t.Context())
	_, resetErr := c.Reset(t.Context())
	for _, err := range []error{debugErr, resetErr} {
		if e := apierr.From(err); err == nil || e.Kind != apierr.Forbidden || !strings.Contains(e.Detail, "metrics_admin") {
			t.Errorf("%v", err)
		}
	}
	if k.events["a"] != 2 {
		t.Error("reset all the same")
	}
	c.Admin = true
	if s, err := c.Debug(t.Context()); err != nil || s.Dropped != 3 || s.Total() != 2 {
		t.Errorf("%+v %v", s, err)
	}
	if _, err := c.Reset(t.Context()); err != nil || len(k.events) > len(counter.Known()) {
		t.Errorf("%v %v", k.events, err)
	}
}

func TestNumbersAndLabels(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", 9223372036854775807: "9,223,372,036,854,775,807"} {
		if got := counter.Number(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	for event, want := range map[string]string{"page_view": "Page views", "my_own__event_": "My own event", "x": "X"} {
		if got := counter.Label(event); got != want {
			t.Errorf("%s: %s", event, got)
		}
	}
}

// TestBadgeEscapes: whatever the text, the badge is XML that says it.
func TestBadgeEscapes(t *testing.T) {
	for _, text := range []string{`<script>alert(1)</script>`, `"' onload='x`, `]]>&amp;`, "é漢\U0001F600", ""} {
		d := xml.NewDecoder(strings.NewReader(string(counter.Badge(text, text))))
		said, elements := "", 0
		for {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			switch e := token.(type) {
			case xml.StartElement:
				elements++
			case xml.CharData:
				said += string(e)
			}
		}
		if said != text+": "+text+text+text || elements != 7 {
			t.Errorf("%q: says %q in %d elements", text, said, elements)
		}
	}
	if b := string(counter.Badge("a\x00b", "1")); strings.Contains(b, "\x00") {
		t.Errorf("%q", b)
	}
}

func TestPace(t *testing.T) {
	now := time.Unix(0, 0)
	p := counter.NewPace(func() time.Time { return now }, "requests", counter.Network, 60, 3)
	take := func(subject string, want bool) {
		t.Helper()
		err := p.Take(subject)
		if (err == nil) != want {
			t.Fatalf("at %s: %v", now, err)
		}
		if e := apierr.From(err); err != nil && (e.Kind != apierr.Limited || e.RetryAfter != time.Second-time.Duration(now.Nanosecond())) {
			t.Errorf("at %s: %v, after %s", now, err, e.RetryAfter)
		}
	}
	for range 3 {
		take("a", true)
	}
	take("a", false)
	take("b", true) // another network
	now = now.Add(600 * time.Millisecond)
	take("a", false) // a refusal costs nothing
	now = now.Add(400 * time.Millisecond)
	take("a", true)
	take("a", false)
	now = now.Add(time.Hour) // rest gives no more than the burst
	for range 3 {
		take("a", true)
	}
	take("a", false)
}

func TestPaceIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	p := counter.NewPace(func() time.Time { return now }, "requests", counter.Network, 60, 1)
	for i := range 2 * counter.SubjectsMax {
		if err := p.Take(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
	}
	if p.Len() > counter.SubjectsMax {
		t.Errorf("remembers %d subjects", p.Len())
	}
}
