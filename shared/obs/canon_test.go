package obs_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"modelgate.internal/shared/obs"
)

// pair writes the same line through a Canon and through the logger it stands in for.
type pair struct {
	canon, logger bytes.Buffer
	lines         *obs.Lines
	c             *obs.Canon
	log           *slog.Logger
}

func newPair(t testing.TB, format string) *pair {
	t.Helper()
	p := &pair{}
	p.lines = obs.NewLines(&p.canon)
	var err error
	if p.c, err = p.lines.Canon("info", format, "request"); err != nil {
		t.Fatal(err)
	}
	if p.log, err = obs.Logger(&p.logger, "info", format); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *pair) same(t *testing.T, now time.Time, level slog.Level, text string, n int64, d time.Duration) {
	t.Helper()
	p.canon.Reset()
	p.logger.Reset()
	l := p.c.Line(now, level)
	l.String("text", text)
	l.Int("n", n)
	l.Duration("took", d)
	l.End()
	if err := p.lines.Flush(); err != nil {
		t.Fatal(err)
	}
	r := slog.NewRecord(now, level, "request", 0)
	r.AddAttrs(slog.String("text", text), slog.Int64("n", n), slog.Duration("took", d))
	if err := p.log.Handler().Handle(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	if got, want := p.canon.String(), p.logger.String(); got != want {
		t.Errorf("%q, %d, %s:\ngot  %swant %s", text, n, d, got, want)
	}
}

func TestCanonWritesWhatTheLoggerWrites(t *testing.T) {
	texts := []string{
		"", "agent", "a b", "a=b", `a"b`, `a\b`, "a\\ b", "<&>", "tab\t", "line\nfeed\r", "bell\a\b\f\x00\x1f", "\x7f", "Ärger", "日本語",
		"no\u00a0break", "sep\u2028\u2029", "bad\xff\xc0utf8", "replacement\ufffd", "\u200bzero", "emoji 🙂", "🙂", strings.Repeat("long ", 400),
	}
	durations := []time.Duration{
		0, 1, 999, 1000, 1001, 1500, 999_999, 1_000_000, 1_000_001, 1_230_000, 20_500_000, 999_999_999, time.Second,
		time.Second + 1, 1500 * time.Millisecond, 59*time.Second + 999_999_999, time.Minute, 90 * time.Minute, -1, -time.Second, 1<<63 - 1, -1 << 63,
	}
	begun := time.Now()
	times := []time.Time{
		begun, begun.UTC(), begun.Truncate(time.Second), begun.In(time.FixedZone("east", 5*3600+1800)), time.Unix(0, 999_999_999),
		time.Unix(1_700_000_000, 100_000_000), time.Unix(1_700_000_000, 123_000_000).UTC(),
	}
	for _, format := range []string{"json", "text"} {
		p := newPair(t, format)
		for _, text := range texts {
			p.same(t, begun, slog.LevelInfo, text, 1, time.Millisecond)
		}
		for _, d := range durations {
			p.same(t, begun, slog.LevelWarn, "x", int64(d), d)
		}
		for _, now := range times {
			p.same(t, now, slog.LevelError, "x", 0, 0)
		}
	}
}

func FuzzCanon(f *testing.F) {
	f.Add("agent", int64(200), int64(1_234_567), int64(1_700_000_000_123_456_789))
	f.Add("a \"b\" =\\\n\xff\u2028", int64(-1), int64(-5), int64(0))
	f.Fuzz(func(t *testing.T, text string, n, d, at int64) {
		for _, format := range []string{"json", "text"} {
			newPair(t, format).same(t, time.Unix(0, at), slog.LevelInfo, text, n, time.Duration(d))
		}
	})
}

func TestCanonKeepsToTheLevel(t *testing.T) {
	var out bytes.Buffer
	lines := obs.NewLines(&out)
	c, err := lines.Canon("warn", "text", "request")
	if err != nil {
		t.Fatal(err)
	}
	quiet := c.Line(time.Now(), slog.LevelInfo)
	quiet.String("a", "b")
	quiet.Int("c", 1)
	quiet.Duration("d", 1)
	quiet.End()
	c.Line(time.Now(), slog.LevelError).End()
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "level=ERROR msg=request\n") {
		t.Errorf("an error has to leave at once, and alone: %q", got)
	}
	var none *obs.Canon
	none.Line(time.Now(), slog.LevelError).End()
	for _, bad := range [][2]string{{"loud", "json"}, {"info", "xml"}} {
		if _, err := lines.Canon(bad[0], bad[1], "request"); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// write is the canonical line of a usual call.
func write(c *obs.Canon, now time.Time) {
	l := c.Line(now, slog.LevelInfo)
	l.String("request_id", "01JD4V9Y3KQ8M2N7P5RT")
	l.String("operation", "agent")
	l.Int("status", 200)
	l.String("end", "done")
	l.Duration("took", 1_234_567)
	l.String("key_id", "0192f0c1-7a2b-7c3d-8e4f-5a6b7c8d9e0f")
	l.String("app_id", "0192f0c1-7a2b-7c3d-8e4f-5a6b7c8d9e1f")
	l.String("model", "Darwin")
	l.String("task", "conversation")
	l.String("upstream", "chat")
	l.Int("attempts", 1)
	l.Duration("waited", 1_034_567)
	l.Int("tokens_in", 12)
	l.Int("tokens_out", 345)
	l.String("limit", "key_per_minute")
	l.Int("limit_remaining", 99_998)
	l.End()
}

func TestCanonDoesNotAllocate(t *testing.T) {
	for _, format := range []string{"json", "text"} {
		c, err := obs.NewLines(discard{}).Canon("info", format, "request")
		if err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		if n := testing.AllocsPerRun(1000, func() { write(c, now) }); n >= 1 { // the race detector makes a pool forget
			if !raceEnabled {
				t.Errorf("%s: %v allocations", format, n)
			}
		}
	}
}

// discard is a destination that is not a bytes.Buffer, which would grow.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func BenchmarkCanon(b *testing.B) {
	for _, format := range []string{"json", "text"} {
		b.Run(format, func(b *testing.B) {
			c, err := obs.NewLines(discard{}).Canon("info", format, "request")
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				write(c, time.Now())
			}
		})
	}
}
