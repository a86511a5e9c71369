package faults

import (
	"strings"
	"time"

	"modelgate.internal/shared/plane"
)

// leavesMax bounds from above what is counted for a caller that left: what the simulator can have sent until it noticed.
const leavesMax = 1000

// leaves are callers that walk away, and keys that are revoked meanwhile. The model server must be let go, whether it talks or
// not.
func leaves() []fault {
	const going = "many-tokens n=2000 delay=20ms"
	text := strings.Repeat(" simulated", 2000)
	soon := &leave{after: 300 * time.Millisecond}
	none := counts(plane.SourceNone, 0)
	after := func(deltas int) *want {
		return &want{leave: &leave{deltas: deltas}, use: &use{plane.SourceCounted, int64(deltas), leavesMax}}
	}
	return []fault{
		{name: "before the head", does: "silent-head", unary: &want{leave: soon, use: none}, stream: &want{leave: soon, use: none}},
		{name: "between head and first event", does: "silent", unary: &want{leave: soon, use: none}, stream: &want{leave: soon, use: none}},
		{name: "in the middle of a whole answer", does: "stall-after", unary: &want{leave: soon, use: none}},
		{
			name: "after a keep-alive, before the first event", does: "silent",
			stream: &want{leave: &leave{after: keepAlive + time.Second}, use: counts(plane.SourceCounted, 0)},
		},
		{name: "after the first event", does: going, text: text, stream: after(1)},
		{name: "after 3 events", does: going, text: text, stream: after(3)},
		{name: "after 20 events", does: going, text: text, stream: after(20)},
		{name: "after 60 events", does: going, text: text, stream: after(60)},
		{name: "the key is revoked, events flow", does: going, text: text, stream: letGo(&want{event: 401, detail: "revoked", revoke: true})},
		{
			name: "the key is revoked in a silence", does: "silent",
			unary: letGo(&want{status: 401, detail: "revoked", revoke: true}), stream: letGo(&want{status: 401, detail: "revoked", revoke: true}),
		},
		{name: "in a silence after 3 events", does: "stall-after n=4", stream: &want{
			leave: &leave{deltas: 3}, use: counts(plane.SourceCounted, 3),
		}},
	}
}
