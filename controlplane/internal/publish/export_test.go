package publish

import "time"

// Shrink makes pages and the ring small, so that few changes are enough to leave them behind.
func (p *Publisher) Shrink(pageRows, ringChanges int) {
	p.tail.bounds.pageRows, p.tail.bounds.ringChanges = pageRows, ringChanges
}

// WokenOnly makes the publisher look at the log only when it is woken.
func (p *Publisher) WokenOnly() { p.poll = time.Hour }

// Trim exposes one round of Keep.
var Trim = (*Publisher).trim

// ErrBehind ends a stream that needs more than the log has.
var ErrBehind = errBehind

// ErrHistory ends a stream whose history started over.
var ErrHistory = errHistory
