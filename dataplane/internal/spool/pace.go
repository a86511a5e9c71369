package spool

import (
	"time"

	"golang.org/x/sys/unix"
)

// pacer keeps the shipping of a backlog from slowing calls down, which the same processors serve. It belongs to one goroutine.
//
// What shipping costs beyond keeping up with the records that are appended may take shipPerMille of the time of all
// processors, busy or not. So a backlog shrinks at every load, and a node that has none does not rest.
type pacer struct {
	appended, shipped uint64        // until the newest rest
	spent             time.Duration // CPU time since
}

// rest says how long to wait after work that took cpu of one processor. appended and shipped are records since the start.
func (p *pacer) rest(cpu time.Duration, appended, shipped uint64, processors int) time.Duration {
	p.spent += cpu
	more, done := appended-p.appended, shipped-p.shipped
	if done == 0 {
		return 0
	}
	spent := p.spent
	*p = pacer{appended: appended, shipped: shipped}
	if more >= done {
		return 0
	}
	extra := float64(spent) * float64(done-more) / float64(done)
	share := min(float64(shipPerMille*processors)/1000, 1)
	return min(time.Duration(extra*(1-share)/share), shipRestMax)
}

// behind reports whether so much waits to be shipped that it is done at a pace.
func (s *Spool) behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(len(s.queue))*s.o.SegmentBytes > backlogBytes
}

// threadTime is the CPU time of the calling thread; 0 where there is no such clock, and then nothing rests.
func threadTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
