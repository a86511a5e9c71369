package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"modelgate.internal/bench/internal/proc"
)

func TestEveryKindOfStreamIsTold(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		text string
		want StreamsResult
	}{
		"good":              {streamOf(3*ms, 2*ms, ms), StreamsResult{Complete: 1}},
		"one event missing": {streamOf(3*ms, ms), StreamsResult{Complete: 1, Miscounted: 1}},
		"one event twice":   {streamOf(3*ms, 2*ms, 2*ms, ms), StreamsResult{Complete: 1, Miscounted: 1}},
		"out of order":      {streamOf(30*ms, 10*ms, 20*ms), StreamsResult{Complete: 1, Disordered: 1}},
		"cut between events": {
			strings.TrimSuffix(streamOf(3*ms, 2*ms, ms), chunked(doneEvent)+lastChunk), StreamsResult{Truncated: 1},
		},
		"no last chunk":   {strings.TrimSuffix(streamOf(3*ms, 2*ms, ms), lastChunk), StreamsResult{Truncated: 1}},
		"no [DONE]":       {strings.Replace(streamOf(3*ms, 2*ms, ms), chunked(doneEvent), "", 1), StreamsResult{Truncated: 1}},
		"half a [DONE]":   {streamHead + chunked("data: [DO") + lastChunk, StreamsResult{Truncated: 1}},
		"broken chunk":    {streamHead + "zz\r\n", StreamsResult{Truncated: 1}},
		"chunk too short": {streamHead + "3\r\ndata: [DONE]\r\n", StreamsResult{Truncated: 1}},
		"until it closes": {"HTTP/1.1 200 OK\r\n\r\n" + delta(time.Now()) + delta(time.Now()) + delta(time.Now()) + doneEvent, StreamsResult{Complete: 1}},
		"an error event": {
			streamHead + chunked(delta(time.Now())+delta(time.Now())+delta(time.Now())) + chunked(`data: {"type":"error","detail":"x"}`+"\n\n"+doneEvent) + lastChunk,
			StreamsResult{Complete: 1, Erroneous: 1},
		},
		"more behind [DONE]": {
			streamHead + chunked(delta(time.Now())+delta(time.Now())+delta(time.Now())+doneEvent) + chunked(delta(time.Now())) + lastChunk,
			StreamsResult{Complete: 1, Erroneous: 1},
		},
		"wrong status": {whole(503, "{}"), StreamsResult{WrongStatus: 1}},
		"no answer":    {"", StreamsResult{Failed: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := serve(t, func(_ int64, w io.Writer) bool {
				for _, b := range []byte(tc.text) { // piecemeal: every boundary falls between two writes
					if !say(w, string(b)) {
						break
					}
				}
				return false
			})
			got, err := Streams{Target: to, Count: 1, Events: 3, Limit: 20 * time.Second}.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			counts := func(r StreamsResult) string {
				return fmt.Sprint(r.Complete, r.WrongStatus, r.Truncated, r.Failed, r.Unfinished, r.Miscounted, r.Disordered, r.Erroneous)
			}
			if counts(got) != counts(tc.want) || got.Wrong() != tc.want.Wrong() {
				t.Errorf("got %s, want %s", counts(got), counts(tc.want))
			}
		})
	}
}

func TestDelayAndGapOfKnownEvents(t *testing.T) {
	const count, ago, gap = 20, 200 * time.Millisecond, 40 * time.Millisecond
	to := serve(t, func(_ int64, w io.Writer) bool {
		say(w, streamHead)
		for range count {
			say(w, chunked(delta(time.Now().Add(-ago))))
			time.Sleep(gap)
		}
		return say(w, chunked(doneEvent)+lastChunk)
	})
	got, err := Streams{
		Target: to, Count: 5, OpenOver: 50 * time.Millisecond, Events: count, Limit: 30 * time.Second,
		Watch: []proc.Watched{{Name: "self", Pid: os.Getpid()}},
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Wrong() != 0 || got.Complete != 5 || got.Events != 5*count || got.Delay.Count != 5*count || got.Gap.Count != 5*(count-1) || got.Head.Count != 5 {
		t.Errorf("%+v", got)
	}
	between(t, "p50 of the delay", got.Delay.P50Micros, 200_000*0.99, 300_000)
	between(t, "p50 of the gap", got.Gap.P50Micros, 35_000, 120_000)
	if got.Processes[0].CPUMicros <= 0 {
		t.Errorf("%+v", got.Processes)
	}
}

func TestWindowAndLimit(t *testing.T) {
	to := serve(t, func(_ int64, w io.Writer) bool {
		say(w, streamHead)
		for say(w, chunked(delta(time.Now()))) {
			time.Sleep(10 * time.Millisecond)
		}
		return false
	})
	got, err := Streams{Target: to, Count: 8, Settle: 200 * time.Millisecond, Window: 500 * time.Millisecond, Limit: 1500 * time.Millisecond}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Unfinished != 8 || got.Wrong() != 8 || got.OpenAtEnd != 8 {
		t.Errorf("%+v", got)
	}
	between(t, "window", got.WindowMicros, 499_000, 1_200_000)
	between(t, "events in it", float64(got.Events), 40, 8*120)
}

func TestBurstsAreCountedWhole(t *testing.T) {
	const count = 20_000
	burst := streamHead
	var b strings.Builder
	for range count {
		b.WriteString(chunked("data: {\"choices\":[{\"delta\":{\"content\":\"" + fmt.Sprint(time.Now().UnixNano()) + " simulated\"}}]}\n\n"))
	}
	burst += b.String() + chunked(doneEvent) + lastChunk
	to := serve(t, func(_ int64, w io.Writer) bool { return say(w, burst) })
	got, err := Streams{Target: to, Count: 4, Events: count, Limit: time.Minute}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Wrong() != 0 || got.Events != 4*count {
		t.Errorf("%+v", got)
	}
}

func TestLeaversAreSeenToLeave(t *testing.T) {
	for _, after := range []int64{0, 3} {
		t.Run(fmt.Sprint("after ", after), func(t *testing.T) {
			t.Parallel()
			var open, peak atomic.Int64
			to := serve(t, func(_ int64, w io.Writer) bool {
				open.Add(1)
				defer open.Add(-1)
				say(w, streamHead)
				for say(w, chunked(delta(time.Now()))) { // its failing is how this server sees a departure
					time.Sleep(20 * time.Millisecond)
				}
				return false
			})
			run := Leave{Target: to, Count: 20, OpenOver: 50 * time.Millisecond, AfterEvents: after, Wait: 100 * time.Millisecond, Limit: 20 * time.Second}
			got, err := run.Run(t.Context(), func(context.Context) error { peak.Store(open.Load()); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if got.Ready != 20 || got.Early != 0 || peak.Load() != 20 || got.Status[200] != 20 || got.LeavingMicros <= 0 {
				t.Errorf("%+v, %d were open", got, peak.Load())
			}
			for end := time.Now().Add(10 * time.Second); open.Load() > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d are still open", open.Load())
				}
			}
		})
	}
}

func TestAnEndedContextEndsEveryRun(t *testing.T) {
	to := serve(t, func(_ int64, w io.Writer) bool { say(w, streamHead); time.Sleep(2 * time.Second); return false })
	for name, run := range map[string]func(context.Context) error{
		"unary": func(ctx context.Context) error {
			_, err := Unary{Target: to, Connections: 3, Duration: time.Minute}.Run(ctx)
			return err
		},
		"streams": func(ctx context.Context) error {
			_, err := Streams{Target: to, Count: 3, Limit: time.Minute}.Run(ctx)
			return err
		},
		"leave": func(ctx context.Context) error {
			_, err := Leave{Target: to, Count: 3, AfterEvents: 1, Limit: time.Minute}.Run(ctx, nil)
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		begin := time.Now()
		if err := run(ctx); err == nil || time.Since(begin) > 20*time.Second {
			t.Errorf("%s: %v after %s", name, err, time.Since(begin))
		}
		cancel()
	}
}
